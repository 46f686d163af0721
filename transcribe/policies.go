package transcribe

import (
	"sync"

	"verity/assistant"
)

// policies holds policies that no window uses at the moment, so that the next window
// starts with their measurements.
type policies struct {
	make func() assistant.Policy // nil without an assistant
	mu   sync.Mutex
	idle []assistant.Policy
}

// get returns an idle policy or a new one; nil without an assistant.
func (p *policies) get() assistant.Policy {
	if p.make == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		policy := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return policy
	}
	return p.make()
}

func (p *policies) put(policy assistant.Policy) {
	p.mu.Lock()
	p.idle = append(p.idle, policy)
	p.mu.Unlock()
}

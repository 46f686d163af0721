package schedule

import (
	"context"
	"sync"
	"time"
)

// A processor shares the threads between the passes of a batch and the encoding of
// windows. An encoder has the threads until it has used more than its share, while
// members decode. At its next call of between it waits until the passes have had their
// share. So no pass waits for a whole window, and no encoding for a whole text.
type processor struct {
	queue chan struct{} // holds a token while an encoder has the threads or waits for them

	mu       sync.Mutex
	changed  sync.Cond
	members  int
	passing  bool
	encoding bool    // an encoder has the threads
	credit   float64 // seconds that passes may take before the encoder goes on
	since    time.Time
	busy     time.Duration // see Batch.Busy
	mark     time.Time     // time of the last change that matters to busy
}

func (p *processor) init() {
	p.queue = make(chan struct{}, 1)
	p.changed.L = &p.mu
}

// tick brings busy up to date. p.mu is held.
func (p *processor) tick() {
	now := time.Now()
	if p.members > 0 && !p.encoding {
		p.busy += now.Sub(p.mark)
	}
	p.mark = now
}

func (p *processor) busyTime() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tick()
	return p.busy
}

// join adds n members.
func (p *processor) join(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tick()
	p.members += n
	p.changed.Broadcast()
}

func (p *processor) beginPass() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.passing || p.encoding {
		p.changed.Wait()
	}
	p.passing, p.since = true, time.Now()
}

func (p *processor) endPass() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passing = false
	if len(p.queue) > 0 {
		p.credit -= time.Since(p.since).Seconds()
	}
	p.changed.Broadcast()
}

// beginWork waits until no other window is encoded.
func (p *processor) beginWork(ctx context.Context) error {
	select {
	case p.queue <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.take()
	return nil
}

// take waits until the passes have had their share, and takes the threads. p.mu is held.
func (p *processor) take() {
	for p.passing || p.members > 0 && p.credit > 0 {
		p.changed.Wait()
	}
	p.tick()
	p.encoding, p.since = true, time.Now()
}

// release returns the threads, and credits the passes with their share of the time. p.mu
// is held.
func (p *processor) release(share float64) {
	p.tick()
	p.encoding = false
	p.credit += time.Since(p.since).Seconds() * share / (1 - share)
	if p.members == 0 {
		p.credit = 0
	}
	p.changed.Broadcast()
}

// between lets passes run, for a share of the time.
func (p *processor) between(share float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release(share)
	p.take()
}

func (p *processor) endWork() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release(0)
	<-p.queue
}

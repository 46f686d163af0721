package decoder

import "sync"

// spares keeps values that are expensive to allocate for the next user. Unlike a
// sync.Pool it is not emptied by the garbage collector: the caches of a large model are
// hundreds of megabytes and should be made once.
type spares[T any] struct {
	mu   sync.Mutex
	list []T
}

func (s *spares[T]) get() (v T, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.list)
	if n == 0 {
		return v, false
	}
	v, s.list = s.list[n-1], s.list[:n-1]
	return v, true
}

func (s *spares[T]) put(v T) {
	s.mu.Lock()
	s.list = append(s.list, v)
	s.mu.Unlock()
}

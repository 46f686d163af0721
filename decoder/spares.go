package decoder

import "sync"

// spares keeps values that are expensive to allocate for the next user. Unlike a
// sync.Pool it is not emptied by the garbage collector: the caches of a large model are
// hundreds of megabytes. While some are in use, all that come back are kept, since as many
// will be needed again; when none is, a few.
type spares[T any] struct {
	mu   sync.Mutex
	list []T
	used int
}

// get returns a spare value, or a new one.
func (s *spares[T]) get(make func() T) T {
	s.mu.Lock()
	s.used++
	if n := len(s.list); n > 0 {
		defer s.mu.Unlock()
		v := s.list[n-1]
		s.list = s.list[:n-1]
		return v
	}
	s.mu.Unlock()
	return make()
}

// put takes a value back, and leaves at most few if that was the last in use.
func (s *spares[T]) put(v T, few int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, v)
	if s.used--; s.used <= 0 {
		few = min(few, len(s.list))
		clear(s.list[few:])
		s.used, s.list = 0, s.list[:few]
	}
}

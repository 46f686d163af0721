// Package freelist is a bounded free list.
package freelist

import "sync"

// A List keeps values that are expensive to allocate for the next user. The garbage
// collector does not empty it, as it does a sync.Pool: the caches of a large model are
// hundreds of megabytes. While some values are in use, it keeps all that are returned,
// since as many will be needed again. Once none is in use, it keeps a few.
type List[T any] struct {
	mu    sync.Mutex
	free  []T
	inUse int
}

// Get returns a spare value, or a new one.
func (s *List[T]) Get(make func() T) T {
	s.mu.Lock()
	s.inUse++
	if n := len(s.free); n > 0 {
		defer s.mu.Unlock()
		v := s.free[n-1]
		s.free = s.free[:n-1]
		return v
	}
	s.mu.Unlock()
	return make()
}

// Put returns a value. If it was the last in use, at most limit values stay.
func (s *List[T]) Put(v T, limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, v)
	if s.inUse--; s.inUse <= 0 {
		limit = min(limit, len(s.free))
		clear(s.free[limit:])
		s.inUse, s.free = 0, s.free[:limit]
	}
}

package freelist

import "testing"

// TestList checks that returned values are used again, and that few of them stay once none is
// in use.
func TestList(t *testing.T) {
	var s List[int]
	made := 0
	take := func() int { return s.Get(func() int { made++; return made }) }
	for range 8 {
		take()
	}
	for i := range 7 {
		s.Put(i, 2)
	}
	if len(s.free) != 7 {
		t.Errorf("%d spares while one is in use, want 7", len(s.free))
	}
	take()
	s.Put(7, 2)
	if len(s.free) != 7 || made != 8 {
		t.Errorf("%d spares, %d made; want 7 and 8", len(s.free), made)
	}
	if s.Put(8, 2); len(s.free) != 2 || s.inUse != 0 {
		t.Errorf("%d spares once nothing is in use, %d in use; want 2 and 0", len(s.free), s.inUse)
	}
}

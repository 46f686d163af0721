package testmodel

import "testing"

// Serial marks a long test in which no goroutines meet: the race detector does not run it.
func Serial(t testing.TB) {
	t.Helper()
	if Race {
		t.Skip("no goroutines meet in this test")
	}
}

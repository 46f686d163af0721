package testmodel

import (
	"context"
	"testing"
)

// A Countdown is a context that ends after Left calls of Err.
type Countdown struct {
	context.Context
	Left int
}

// Err takes one from Left, and returns context.Canceled below zero.
func (c *Countdown) Err() error {
	if c.Left--; c.Left < 0 {
		return context.Canceled
	}
	return nil
}

// Serial marks a long test in which no goroutines meet: the race detector does not run it.
func Serial(t testing.TB) {
	t.Helper()
	if Race {
		t.Skip("needs a run without the race detector: no goroutines meet in this test")
	}
}

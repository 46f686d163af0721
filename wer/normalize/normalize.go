package normalize

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Version names the upstream release whose results [English] and [Basic] return.
// It belongs in every report of a rate.
const Version = "openai-whisper 20250625"

// A Func normalises a text, which may be long: the error is the cause that ended ctx.
type Func func(ctx context.Context, s string) (string, error)

// A normalizer is a function with its name on the command line.
type normalizer struct {
	name string
	fn   Func
}

var named = []normalizer{
	{"english", english},
	{"basic", basic},
	{"none", func(_ context.Context, s string) (string, error) { return s, nil }},
}

// Names returns what [ByName] knows.
func Names() []string {
	names := make([]string, len(named))
	for i, n := range named {
		names[i] = n.name
	}
	return names
}

// ByName returns the normaliser called "english", "basic" or "none". The error
// for any other name lists these.
func ByName(name string) (Func, error) {
	i := slices.IndexFunc(named, func(n normalizer) bool { return n.name == name })
	if i < 0 {
		return nil, fmt.Errorf("normalizer %q: unknown: want %s", name, strings.Join(Names(), ", "))
	}
	return named[i].fn, nil
}

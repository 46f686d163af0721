package cli

import (
	"cmp"
	"slices"

	"verity/internal/options"
)

// oneOf refuses a value of a flag that is not one of those it takes.
func oneOf(flag, value string, values ...string) error {
	if slices.Contains(values, value) {
		return nil
	}
	return usagef("--%s %s: want %s", flag, cmp.Or(value, `""`), either(values))
}

// either spells a choice: a, b or c.
func either(values []string) string { return options.Either(values) }

package command

import (
	"cmp"
	"slices"

	"verity/internal/options"
)

// OneOf refuses a value of a flag that is not one of those it takes.
func OneOf(flag, value string, values ...string) error {
	if slices.Contains(values, value) {
		return nil
	}
	return Usagef("--%s %s: want %s", flag, cmp.Or(value, `""`), Either(values))
}

// Either spells a choice: a, b or c.
func Either(values []string) string { return options.Either(values) }

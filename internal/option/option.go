// Package option holds the error of an option that cannot be used. What takes options returns it in Go's names;
// commands and the server put the names of their flags and fields before it.
package option

import (
	"errors"
	"fmt"
	"slices"
)

// An Error reports an option with an unusable value.
type Error struct {
	Option string // field of the options: "BeamSize", "Repetition.Penalty"
	Value  any    // nil if Reason has it
	Reason string // what is wanted
}

// New returns the error of an option.
func New(option string, value any, reason string) *Error { return &Error{option, value, reason} }

func (e *Error) Error() string {
	if e.Value == nil {
		return e.Option + ": " + e.Reason
	}
	value := fmt.Sprint(e.Value)
	if len(value) > 60 {
		value = fmt.Sprintf("%.60q…", value)
	}
	return fmt.Sprintf("%s: got %s: %s", e.Option, value, e.Reason)
}

// Join joins errors as [errors.Join] does, but one alone stays as it is, so that its type shows.
func Join(errs ...error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

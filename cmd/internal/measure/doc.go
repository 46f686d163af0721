// Package measure has the commands that measure: eval, compare, report and
// bench. A Job is eval for a program that distributes the rows itself.
package measure

// Package measure has the commands that measure: eval, compare, report, bench, plan and
// selftest. A Job is eval for a program that deals out the rows itself.
package measure

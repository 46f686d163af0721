// Package printed prints values that may hold others.
package printed

import "fmt"

// Say prints v whole, its type, a panic, and a list.
func Say(v any, list map[string][]any) error {
	defer func() {
		if p := recover(); p != nil {
			fmt.Printf("%v\n", p)
		}
	}()
	fmt.Printf("%d%% %T\n", 7, v)
	fmt.Printf("%s %.3v\n", "x", list)
	return fmt.Errorf("got %v", v)
}

package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// A console shows the escape sequences of progress bars as text unless a program asks it to obey them.
func init() {
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		var mode uint32
		if console := windows.Handle(f.Fd()); windows.GetConsoleMode(console, &mode) == nil {
			_ = windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING)
		}
	}
}

// Package assigned has a mistake for Windows, one for macOS and none for Linux.
package assigned

//go:build unix

package store

import (
	"io/fs"
	"os"
	"syscall"
)

// mine reports whether a folder is this user's, and nobody else can write to it.
func mine(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}

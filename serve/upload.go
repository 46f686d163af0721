package serve

import (
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"verity/internal/output"
)

const (
	readTime   = 30 * time.Second // for the rest of a refused request, or for a piece of a stream
	maxUploads = 8 << 30          // bytes of all uploads together, or MaxBytes, if that is larger
)

// smallerFile is what a client can do whose upload is too large.
const smallerFile = "convert it to Opus or MP3, which are ten times smaller than WAV, or ask the operator for more (max-upload)."

// An uploadStore stores uploads in files, with a limit for all of them together.
type uploadStore struct {
	dir   string // "" for that of the system
	limit int64  // bytes
	used  atomic.Int64
}

// An upload is the sound that a client uploads.
type upload struct {
	file  *output.Temp
	store *uploadStore
	size  int64
	limit int64
}

// create returns an empty file for at most limit bytes.
func (s *uploadStore) create(limit int64) (*upload, error) {
	f, err := output.NewTemp(s.dir, "verity-upload-*")
	if err != nil {
		return nil, serverError(http.StatusInsufficientStorage, "The upload cannot be kept: %v", errors.Unwrap(err))
	}
	return &upload{file: f, store: s, limit: limit}, nil
}

// Write appends sound. Its errors are problems.
func (f *upload) Write(b []byte) (int, error) {
	n := int64(len(b))
	if f.size+n > f.limit {
		return 0, clientError(http.StatusRequestEntityTooLarge, "file", "file_too_large",
			"The file has more than %s: %s", mebibytes(f.limit), smallerFile)
	}
	f.size += n
	if f.store.used.Add(n) > f.store.limit {
		return 0, rateLimited("uploads_full",
			"The server holds too many uploads at present: try again later.").withParam("file")
	}
	if _, err := f.file.Write(b); err != nil {
		return 0, serverError(http.StatusInsufficientStorage, "The upload cannot be kept: the disk is full or broken.")
	}
	return len(b), nil
}

// remove closes and removes the file.
func (f *upload) remove() {
	f.file.Close()
	f.store.used.Add(-f.size)
}

// clientAddress returns the address of host:port for the log; that of a unix socket is empty.
func clientAddress(remote string) string {
	host, _, _ := net.SplitHostPort(remote)
	return host
}

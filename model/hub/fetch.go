package hub

import (
	"cmp"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"verity/internal/output"
)

// file makes sure that a file of the repository is complete in the cache.
func (c *Client) file(ctx context.Context, repo, commit, name string) error {
	link := filepath.Join(c.folder(repo), "snapshots", commit, name)
	if isFile(link) {
		return nil
	}
	address := c.address(repo, "resolve", commit, name)
	resp, err := c.get(ctx, http.MethodHead, address, 0, false)
	if err != nil {
		return err
	}
	resp.Body.Close()
	etag, size, err := c.metadata(resp)
	if err != nil {
		return err
	}
	blob := filepath.Join(c.folder(repo), "blobs", etag)
	unlock, err := lock(ctx, filepath.Join(c.Cache, ".locks", filepath.Base(c.folder(repo)), etag+".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if isFile(link) { // another run made it meanwhile, and may be about to open it
		return nil
	}
	if st, err := os.Stat(blob); err != nil || size >= 0 && st.Size() != size {
		if err := c.blob(ctx, address, name, blob, etag, size); err != nil {
			return err
		}
	}
	return place(blob, link)
}

// isFile reports whether name is, or links to, a file.
func isFile(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.Mode().IsRegular()
}

// metadata returns the hash that names the blob and its size, -1 if not known.
func (c *Client) metadata(resp *http.Response) (etag string, size int64, err error) {
	etag = cmp.Or(resp.Header.Get("X-Linked-Etag"), resp.Header.Get("Etag"))
	etag = strings.Trim(strings.TrimPrefix(etag, "W/"), `"`)
	if etag == "" || len(etag) > 128 || strings.ContainsFunc(etag, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '_')
	}) {
		return "", 0, c.odd("ETag: got %.80q, want the hash of the file", etag)
	}
	size = resp.ContentLength
	if linked := resp.Header.Get("X-Linked-Size"); linked != "" {
		if size, err = strconv.ParseInt(linked, 10, 64); err != nil || size < 0 {
			return "", 0, c.odd("X-Linked-Size: got %.80q, want a number of bytes", linked)
		}
	} else if resp.StatusCode >= 300 {
		size = -1
	}
	return etag, size, nil
}

// blob downloads a blob. It continues an interrupted download.
func (c *Client) blob(ctx context.Context, address, name, blob, etag string, size int64) error {
	if err := os.MkdirAll(filepath.Dir(blob), 0o777); err != nil {
		return err
	}
	part := blob + ".incomplete"
	f, err := output.Own(part, os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	for attempt := 1; ; attempt++ {
		err := c.transfer(ctx, f, address, name, size)
		if err == nil {
			break
		}
		if ctx.Err() != nil || !errors.Is(err, errCut) || attempt >= c.attempts() {
			return err
		}
		if err := c.sleep(ctx, time.Second<<min(attempt-1, 5)); err != nil {
			return err
		}
	}
	if err := verify(f, etag, size); err != nil {
		f.Close()
		os.Remove(part) // continuing would not repair it
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(part, blob)
}

var errCut = errors.New("the connection was cut")

// transfer appends the missing part of the file to f.
func (c *Client) transfer(ctx context.Context, f *os.File, address, name string, size int64) error {
	have, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if size >= 0 && have >= size {
		return f.Truncate(size)
	}
	resp, err := c.get(ctx, http.MethodGet, address, have, true)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, ErrToken) && !errors.Is(err, ErrNotFound) {
			err = fmt.Errorf("%w: %w", errCut, err)
		}
		return err
	}
	defer resp.Body.Close()
	if have > 0 && resp.StatusCode != http.StatusPartialContent { // the hub sends the whole file again
		if have, err = 0, f.Truncate(0); err != nil {
			return err
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
	body := io.Reader(resp.Body)
	if size >= 0 {
		body = io.LimitReader(body, size-have+1) // one more byte shows that it is too long
	}
	w := &meter{w: f, done: have, tell: func(done int64) {
		if c.Progress != nil {
			c.Progress(name, done, size)
		}
	}}
	n, err := io.Copy(w, body)
	switch {
	case w.failed != nil:
		return w.failed // the disk
	case err != nil:
		return fmt.Errorf("%w after %d bytes: %w", errCut, have+n, err)
	case size >= 0 && have+n < size:
		return fmt.Errorf("%w after %d of %d bytes", errCut, have+n, size)
	}
	return nil
}

// A meter counts what has been written and reports it.
type meter struct {
	w      io.Writer
	done   int64
	failed error
	tell   func(done int64)
}

func (m *meter) Write(p []byte) (int, error) {
	n, err := m.w.Write(p)
	m.done += int64(n)
	m.failed = err
	m.tell(m.done)
	return n, err
}

// verify compares the length and the hash of a file with what the hub gave: SHA-256 of
// large files, git's SHA-1 of small ones.
func verify(f *os.File, etag string, size int64) error {
	have, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if size >= 0 && have != size {
		return fmt.Errorf("%w: got %d bytes, want %d; it was removed: try again", ErrDamaged, have, size)
	}
	var h hash.Hash
	switch {
	case isHex(etag, 64):
		h = sha256.New()
	case isHex(etag, 40):
		h = sha1.New()
		fmt.Fprintf(h, "blob %d\x00", have)
	default:
		return nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != etag {
		return fmt.Errorf("%w: got the hash %s, want %s; it was removed: try again", ErrDamaged, got, etag)
	}
	return nil
}

// place links the snapshot's file to its blob, or copies it if the system has no links.
func place(blob, link string) error {
	if err := os.MkdirAll(filepath.Dir(link), 0o777); err != nil {
		return err
	}
	to, err := filepath.Rel(filepath.Dir(link), blob)
	if err != nil {
		return err
	}
	os.Remove(link) // a broken link
	if symlink(to, link) == nil {
		return nil
	}
	if os.Link(blob, link) == nil {
		return nil
	}
	from, err := os.Open(blob)
	if err != nil {
		return err
	}
	defer from.Close()
	return output.WriteIn(filepath.Dir(link), filepath.Base(link), func(w io.Writer) error { _, err := io.Copy(w, from); return err })
}

var symlink = os.Symlink // a variable for tests of systems without links

// lock takes the lock file of a blob and returns a function that releases it.
func lock(ctx context.Context, name string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return nil, err
	}
	f, err := output.Own(name, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	for {
		ok, err := tryLock(f)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("locking %s: %w", name, err)
		}
		if ok {
			return func() { f.Close() }, nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		}
	}
}

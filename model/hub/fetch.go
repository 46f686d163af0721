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

// A remote is a file of the hub as the answer to HEAD describes it.
type remote struct {
	name, address string
	blobName      string // of its blob
	hash          string // of its content; empty if the hub states none
	size          int64  // -1 if the hub states none
}

// file makes sure that a file of the repository is complete in the cache.
func (c *Client) file(ctx context.Context, repo, commit, name string) error {
	link := filepath.Join(c.folder(repo), "snapshots", commit, name)
	if isFile(link) {
		return nil
	}
	r := remote{name: name, address: c.address(repo, "resolve", commit, name)}
	resp, err := c.get(ctx, http.MethodHead, r.address, false)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if err := c.describe(&r, resp); err != nil {
		return err
	}
	blob := filepath.Join(c.folder(repo), "blobs", r.blobName)
	unlock, err := c.lock(ctx, name, filepath.Join(c.Cache, ".locks", filepath.Base(c.folder(repo)), r.blobName+".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if isFile(link) { // another run made it meanwhile, and may be about to open it
		return nil
	}
	if st, err := os.Stat(blob); err != nil || r.size >= 0 && st.Size() != r.size {
		if err := c.fetchBlob(ctx, r, blob); err != nil {
			return err
		}
	}
	return place(blob, link)
}

func isFile(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.Mode().IsRegular()
}

// describe reads the headers of an answer: the hash, which names the blob, and the size. An
// ETag that is no hash might be that of another file too, so the name of the file is part
// of the blob's.
func (c *Client) describe(r *remote, resp *http.Response) (err error) {
	etag := cmp.Or(resp.Header.Get("X-Linked-Etag"), resp.Header.Get("Etag"))
	etag = strings.Trim(strings.TrimPrefix(etag, "W/"), `"`)
	switch {
	case etag == "" || len(etag) > 1024:
		return c.odd("ETag: got %.80q, want the hash of the file", etag)
	case isHex(etag, 40), isHex(etag, 64):
		r.blobName, r.hash = etag, etag
	default:
		r.blobName = fmt.Sprintf("%x", sha256.Sum256([]byte(r.name+"\x00"+etag)))
		c.notify("%s: the hub states no hash: what comes is not checked", r.name)
	}
	r.size = resp.ContentLength
	if linked := resp.Header.Get("X-Linked-Size"); linked != "" {
		if r.size, err = strconv.ParseInt(linked, 10, 64); err != nil || r.size < 0 {
			return c.odd("X-Linked-Size: got %.80q, want a number of bytes", linked)
		}
	} else if resp.StatusCode >= 300 {
		r.size = -1
	}
	if most := mostBytes(r.name); r.size > most {
		return c.odd("%s: got a size of %d bytes, want at most %d", r.name, r.size, most)
	}
	return nil
}

// mostBytes bounds a file, which is needed where the hub does not state its size. The
// weights of large-v3 in float32 are 6.2 GB, its largest JSON file is 2.5 MB.
func mostBytes(name string) int64 {
	switch filepath.Ext(name) {
	case ".safetensors", ".bin":
		return 16 << 30
	}
	return 64 << 20
}

// fetchBlob downloads a blob to a path. It continues an interrupted download.
func (c *Client) fetchBlob(ctx context.Context, r remote, path string) error {
	//verity:writes a blob is named by the hash of its content
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	part := path + ".incomplete"
	f, err := output.Open(part, os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	most := int64(0)
	err = c.retry(ctx, r.name, func() (int64, error) {
		err := c.transfer(ctx, f, r)
		now, _ := f.Seek(0, io.SeekEnd)
		more := now - most // what came again is no progress
		most = max(most, now)
		return more, err
	})
	if err != nil {
		return err
	}
	if err := verify(f, r); err != nil {
		f.Close()
		os.Remove(part) // continuing would not repair it
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(part, path)
}

var errCut = errors.New("the connection was cut")

// transfer appends the missing part of the file to f.
func (c *Client) transfer(ctx context.Context, f *os.File, r remote) error {
	have, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if r.size >= 0 && have >= r.size {
		return f.Truncate(r.size)
	}
	resp, err := c.ask(ctx, http.MethodGet, r.address, have, true)
	switch {
	case errors.Is(err, errRange): // the whole file, next time
		return errors.Join(fmt.Errorf("%w: %w", errCut, err), f.Truncate(0))
	case err != nil && (ctx.Err() != nil || errors.As(err, new(*refusal)) || errors.Is(err, ErrAnswer) || errors.Is(err, ErrToken) || errors.Is(err, ErrNotFound)):
		return err // the hub has answered
	case err != nil:
		return fmt.Errorf("%w: %w", errCut, err)
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
	most := r.size
	if most < 0 {
		most = mostBytes(r.name)
	}
	w := &meter{w: f, done: have, report: func(done int64) {
		if c.Progress != nil {
			c.Progress(r.name, done, r.size)
		}
	}}
	n, err := io.Copy(w, io.LimitReader(resp.Body, most-have+1)) // one more byte shows that it is too long
	switch {
	case w.failed != nil:
		return w.failed // the disk
	case err != nil:
		return fmt.Errorf("%w after %d bytes: %w", errCut, have+n, err)
	case have+n < r.size:
		return fmt.Errorf("%w after %d of %d bytes", errCut, have+n, r.size)
	}
	return nil
}

// A meter counts what has been written and reports it.
type meter struct {
	w      io.Writer
	done   int64
	failed error
	report func(done int64)
}

func (m *meter) Write(p []byte) (int, error) {
	n, err := m.w.Write(p)
	m.done += int64(n)
	m.failed = err
	m.report(m.done)
	return n, err
}

// verify compares the length and the hash of a file with what the hub stated: SHA-256 of
// large files, git's SHA-1 of small ones.
func verify(f *os.File, r remote) error {
	have, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if r.size >= 0 && have != r.size {
		return fmt.Errorf("%w: got %d bytes, want %d; it was removed: try again", ErrDamaged, have, r.size)
	}
	if most := mostBytes(r.name); have > most {
		return fmt.Errorf("%w: got more than %d bytes; it was removed", ErrDamaged, most)
	}
	var h hash.Hash
	switch len(r.hash) {
	case 64:
		h = sha256.New()
	case 40:
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
	if got := hex.EncodeToString(h.Sum(nil)); got != r.hash {
		return fmt.Errorf("%w: got the hash %s, want %s; it was removed: try again", ErrDamaged, got, r.hash)
	}
	return nil
}

// place links the snapshot's file to its blob, or copies it if the system has no links.
func place(blob, link string) error {
	//verity:writes replaces only a link whose target is missing
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
	//verity:reads the blob that was just downloaded
	from, err := os.Open(blob)
	if err != nil {
		return err
	}
	defer from.Close()
	return output.Replace(link, func(w io.Writer) error { _, err := io.Copy(w, from); return err })
}

//verity:writes see place
var symlink = os.Symlink // a variable for tests of systems without links

// lock takes the lock file of a blob and returns a function that releases it.
func (c *Client) lock(ctx context.Context, file, name string) (unlock func(), err error) {
	//verity:writes an empty directory does no harm
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return nil, err
	}
	f, err := output.Open(name, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		ok, err := output.TryLock(f)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("locking %s: %w", name, err)
		}
		if ok {
			return func() { f.Close() }, nil
		}
		if try == 0 {
			c.notify("%s: another process downloads it: waiting", file)
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		}
	}
}

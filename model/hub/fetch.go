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
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
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
	size          int64
}

// file makes sure that a file of the repository is complete in the cache.
func (c *Client) file(ctx context.Context, repo, commit, name string) error {
	link := filepath.Join(c.folder(repo), "snapshots", commit, name)
	if isFile(link) {
		return nil
	}
	address := c.address(repo, "resolve", commit, name)
	resp, err := c.get(ctx, http.MethodHead, address)
	if err != nil {
		return err
	}
	resp.Body.Close()
	r, err := c.describe(name, address, resp)
	if err != nil {
		return err
	}
	unlock, err := c.lock(ctx, name, filepath.Join(c.Cache, ".locks", filepath.Base(c.folder(repo)), r.blobName+".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if isFile(link) { // another run made it meanwhile, and may be about to open it
		return nil
	}
	blob := filepath.Join(c.folder(repo), "blobs", r.blobName)
	if st, err := os.Stat(blob); err != nil || st.Size() != r.size {
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

// hashName matches the hashes by which the hub names files: SHA-256 of large files, git's SHA-1 of
// small ones.
var hashName = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// describe reads the headers of an answer: the hash, which names the blob, and the size. An
// ETag that is no hash might be that of another file too, so the name of the file is part
// of the blob's.
func (c *Client) describe(name, address string, resp *http.Response) (remote, error) {
	etag := cmp.Or(resp.Header.Get("X-Linked-Etag"), resp.Header.Get("Etag"))
	etag = strings.Trim(strings.TrimPrefix(etag, "W/"), `"`)
	size := resp.Header.Get("X-Linked-Size")
	if size == "" && resp.StatusCode < 300 { // a redirect has a length of its own
		size = strconv.FormatInt(resp.ContentLength, 10)
	}
	r := remote{name: name, address: address, blobName: etag, hash: etag}
	var err error
	if r.size, err = strconv.ParseInt(size, 10, 64); err != nil || r.size < 0 {
		return r, c.unexpectedResponse("size: got %.80q, want a number of bytes", size)
	}
	if etag == "" {
		return r, c.unexpectedResponse("ETag: got none, want the hash of the file")
	}
	if !hashName.MatchString(etag) {
		r.blobName, r.hash = fmt.Sprintf("%x", sha256.Sum256([]byte(name+"\x00"+etag))), ""
		c.notify("%s: the hub states no hash: what comes is not checked", name)
	}
	return r, nil
}

// fetchBlob downloads a blob to a path. It continues an interrupted download.
func (c *Client) fetchBlob(ctx context.Context, r remote, path string) error {
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
	err = c.retry(ctx, r.name, func() (bool, error) {
		err := c.transfer(ctx, f, r)
		now, _ := f.Seek(0, io.SeekEnd)
		progress := now >= most+1<<20 // what came again is none
		most = max(most, now)
		return progress, err
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
	if err != nil || have >= r.size {
		return err
	}
	resp, err := c.ask(ctx, http.MethodGet, r.address, have)
	switch {
	case errors.Is(err, errUnreached):
		return &temporaryError{fmt.Errorf("%w: %w", errCut, err)}
	case err != nil:
		return err
	}
	defer resp.Body.Close()
	if have > 0 && resp.StatusCode != http.StatusPartialContent { // the hub sends the whole file again
		have = 0
		_, err := f.Seek(0, io.SeekStart)
		if err := errors.Join(err, f.Truncate(0)); err != nil {
			return err
		}
	}
	to := &output.Counter{Writer: f, Written: have, Report: func(done int64) {
		if c.Progress != nil {
			c.Progress(r.name, done, r.size)
		}
	}}
	_, err = io.Copy(to, io.LimitReader(resp.Body, r.size-have))
	switch done := to.Written; {
	case errors.As(err, new(*fs.PathError)):
		return err // the disk
	case err != nil:
		return &temporaryError{fmt.Errorf("%w after %d bytes: %w", errCut, done, err)}
	case done < r.size:
		return &temporaryError{fmt.Errorf("%w after %d of %d bytes", errCut, done, r.size)}
	}
	return nil
}

// verify compares the length and the hash of a file with what the hub stated.
func verify(f *os.File, r remote) error {
	have, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if have != r.size {
		return fmt.Errorf("%w: got %d bytes, want %d; it was removed: try again", ErrDamaged, have, r.size)
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

// place links the snapshot's file to its blob, or moves the blob there if the system has no
// links.
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
	return os.Rename(blob, link)
}

var symlink = os.Symlink // a variable for tests of systems without links

// lock takes the lock file of a blob and returns a function that releases it.
func (c *Client) lock(ctx context.Context, file, name string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return nil, err
	}
	f, err := output.Open(name, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	for attempt := 0; ; attempt++ {
		locked, err := output.TryLock(f)
		if locked {
			return func() { f.Close() }, nil
		}
		if attempt == 0 && err == nil {
			c.notify("%s: another process downloads it: waiting", file)
		}
		if err == nil {
			err = sleep(ctx, 100*time.Millisecond)
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("locking %s: %w", name, err)
		}
	}
}

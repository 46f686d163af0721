package store_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"verity/cmd/verity-beam/store"
)

// places are a folder here and one in each object store, empty. Where they are stores,
// the server is theirs.
func places(t *testing.T) (dirs []string, objects *server) {
	return []string{t.TempDir(), "s3://bucket/some/dir", "gs://bucket/another"}, startServer(t)
}

// TestWritten writes and reads, here and in object stores, with the clients of these:
// whole, replaced, and nothing where nothing is. 6 MB are more than one part.
func TestWritten(t *testing.T) {
	dirs, server := places(t)
	big := bytes.Repeat([]byte("0123456789abcde\n"), 6<<20/16)
	for _, dir := range dirs {
		name := store.Join(dir, "chunks", "a[1].jsonl")
		if got, err := store.Read(t.Context(), name); got != nil || err != nil {
			t.Errorf("%s is not there: %q, %v", name, got, err)
		}
		for _, content := range [][]byte{[]byte("one"), big, {}, []byte("two")} {
			if err := store.Write(t.Context(), name, content); err != nil {
				t.Fatal(err)
			}
			if got, err := store.Read(t.Context(), name); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s: %d bytes, %v; want %d", name, len(got), err, len(content))
			}
		}
		// Part of a name is not a name.
		if got, err := store.Read(t.Context(), strings.TrimSuffix(name, "l")); got != nil || err != nil {
			t.Errorf("part of %s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"bucket/some/dir/chunks/a[1].jsonl", "bucket/another/chunks/a[1].jsonl"} {
		if got, ok := server.Get(name); !ok || string(got) != "two" {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
}

// TestRefused checks that a store that takes nothing is an error, which names the file,
// and that what was there stays.
func TestRefused(t *testing.T) {
	dirs, server := places(t)
	for _, dir := range dirs[1:] {
		name := store.Join(dir, "x")
		if err := store.Write(t.Context(), name, []byte("old")); err != nil {
			t.Fatal(err)
		}
		server.Refuse(true)
		if err := store.Write(t.Context(), name, []byte("new")); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want an error that names it", name, err)
		}
		server.Refuse(false)
		if got, err := store.Read(t.Context(), name); err != nil || string(got) != "old" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	err := store.Write(t.Context(), "nfs://x/y", nil)
	if err == nil || !strings.Contains(err.Error(), "nfs") {
		t.Errorf("a store that is not known: %v", err)
	}
	t.Setenv("AWS_PROFILE", "not-there")
	if _, err := store.Read(t.Context(), "s3://bucket/x"); err == nil || !strings.Contains(err.Error(), "not-there") {
		t.Errorf("a profile that is not there: %v", err)
	}
}

// TestList checks every wildcard, in each place the same.
func TestList(t *testing.T) {
	dirs, server := places(t)
	files := []string{
		"part-1.parquet", "part-2.parquet", "part-10.parquet", "part-x.parquet", "notes.txt",
		"deep/part-1.parquet", "deep/er/part-1.parquet",
	}
	for _, dir := range dirs {
		for _, f := range files {
			if err := store.Write(t.Context(), store.Join(dir, f), []byte(f)); err != nil {
				t.Fatal(err)
			}
		}
		for pattern, want := range map[string][]string{
			"*.parquet":                {"part-1.parquet", "part-10.parquet", "part-2.parquet", "part-x.parquet"},
			"part-?.parquet":           {"part-1.parquet", "part-2.parquet", "part-x.parquet"},
			"part-[0-9]*.parquet":      {"part-1.parquet", "part-10.parquet", "part-2.parquet"},
			"d??p/*.parquet":           {"deep/part-1.parquet"},
			"*/*/part-1.parquet":       {"deep/er/part-1.parquet"},
			"deep/er/part-1.parquet":   {"deep/er/part-1.parquet"},
			"[dn]*":                    nil, // of a folder and a file: below
			"*.flac":                   nil,
			"part-[.parquet":           nil,
			"deep/er/part-1.parquet/*": nil,
		} {
			got, err := store.List(t.Context(), store.Join(dir, pattern))
			for i, name := range got {
				got[i] = strings.TrimPrefix(filepath.ToSlash(name), filepath.ToSlash(dir)+"/")
			}
			if pattern == "[dn]*" {
				// A store has no folders.
				got = slices.DeleteFunc(got, func(n string) bool { return n == "deep" })
				if !slices.Equal(got, []string{"notes.txt"}) {
					t.Errorf("%s in %s: %v, %v", pattern, dir, got, err)
				}
				continue
			}
			if !slices.Equal(got, want) || (err == nil) != (want != nil) {
				t.Errorf("%s in %s: %v, %v; want %v", pattern, dir, got, err, want)
			}
		}
	}
	if server.Pages() == 0 {
		t.Error("no listing had more than one page")
	}
}

// TestFetch checks that files of a store come into a folder that is not there yet, once
// as long as they do not change, and that two of one name are refused.
func TestFetch(t *testing.T) {
	dirs, server := places(t)
	here := filepath.Join(dirs[0], "here.parquet")
	for _, dir := range dirs[1:] {
		to := filepath.Join(t.TempDir(), "new", "folder")
		a := store.Join(dir, "a.parquet")
		for _, content := range []string{"first", "other"} {
			if err := store.Write(t.Context(), a, []byte(content)); err != nil {
				t.Fatal(err)
			}
			reads := server.Reads()
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					got, err := store.Fetch(t.Context(), to, []string{a, here})
					if err != nil || !slices.Equal(got, []string{filepath.Join(to, "a.parquet"), here}) {
						t.Errorf("%s: %v, %v", a, got, err)
					}
				})
			}
			all.Wait()
			if b, err := os.ReadFile(filepath.Join(to, "a.parquet")); err != nil || string(b) != content {
				t.Errorf("%s: %q, %v; want %q", a, b, err, content)
			}
			if n := server.Reads() - reads; n != 1 {
				t.Errorf("%s was read %d times, want 1", a, n)
			}
		}
		_, err := store.Fetch(t.Context(), to, []string{a, store.Join(dir, "b", "a.parquet")})
		if err == nil || !strings.Contains(err.Error(), "same base name") {
			t.Errorf("two files with the same base name: %v", err)
		}
		gone := store.Join(dir, "gone.parquet")
		if _, err := store.Fetch(t.Context(), to, []string{gone}); err == nil || !strings.Contains(err.Error(), gone) {
			t.Errorf("%s is not there: %v", gone, err)
		}
		if _, err := os.Stat(filepath.Join(to, "gone.parquet")); !os.IsNotExist(err) {
			t.Errorf("a file that is not there was made: %v", err)
		}
	}
	if _, err := os.Stat(here); !os.IsNotExist(err) {
		t.Errorf("a file here was made: %v", err)
	}
}

package store_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A server is an object store on this machine. It speaks as much of the protocols behind
// s3:// and gs:// as package store needs; the clients are the real ones. It holds objects
// by "bucket/key".
type server struct {
	mu      sync.Mutex
	objects map[string]object
	parts   map[string]map[int][]byte // of uploads under way
	refuse  bool
	pages   int
	reads   int
	changes int
}

type object struct {
	content []byte
	at      int // by a clock that every change moves on
}

// date is when an object was made: long ago, and each at a time of its own.
func (o object) date() time.Time { return time.Date(2001, 2, 3, 4, 5, o.at, 0, time.UTC) }

// put makes an object of a server that is locked.
func (s *server) put(name string, content []byte) {
	s.changes++
	s.objects[name] = object{content, s.changes}
}

// startServer serves both protocols until the test ends, and points their clients here.
func startServer(t *testing.T) *server {
	t.Helper()
	s := &server{objects: map[string]object{}, parts: map[string]map[int][]byte{}}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": h.URL, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_PROFILE":           "",
		"STORAGE_EMULATOR_HOST": strings.TrimPrefix(h.URL, "http://"),
	} {
		t.Setenv(name, value)
	}
	return s
}

// Put makes an object.
func (s *server) Put(name string, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(name, content)
}

// Get returns an object, and whether it is there.
func (s *server) Get(name string) (content []byte, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.objects[name]
	return o.content, ok
}

// Refuse makes the server refuse what would change it, or no longer.
func (s *server) Refuse(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = yes
}

// Reads is the number of times that the content of an object was asked for.
func (s *server) Reads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

// Pages is the number of listings that had more to come.
func (s *server) Pages() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pages
}

// ServeHTTP answers one request of either protocol.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse && r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "refused", http.StatusForbidden)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	q := r.URL.Query()
	switch {
	case strings.HasPrefix(name, "storage/v1/b/"):
		bucket, rest, _ := strings.Cut(strings.TrimPrefix(name, "storage/v1/b/"), "/")
		if key, ok := strings.CutPrefix(rest, "o/"); ok {
			s.describe(w, bucket, key)
			return
		}
		s.listGoogle(w, bucket, q.Get("prefix"), q.Get("pageToken"))
	case strings.HasPrefix(name, "upload/storage/v1/b/"):
		bucket, _, _ := strings.Cut(strings.TrimPrefix(name, "upload/storage/v1/b/"), "/")
		s.uploadGoogle(w, r, bucket)
	case q.Get("list-type") == "2":
		s.listAmazon(w, strings.TrimSuffix(name, "/"), q.Get("prefix"), q.Get("continuation-token"))
	case r.Method == http.MethodGet, r.Method == http.MethodHead:
		s.read(w, r, name)
	default:
		s.uploadAmazon(w, r, name)
	}
}

// read answers with an object, or with what is known of it.
func (s *server) read(w http.ResponseWriter, r *http.Request, name string) {
	o, ok := s.objects[name]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, "<Error><Code>NoSuchKey</Code></Error>")
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(o.content)))
	w.Header().Set("Last-Modified", o.date().Format(http.TimeFormat))
	if r.Method == http.MethodGet {
		s.reads++
		w.Write(o.content)
	}
}

// describe answers with what is known of an object in Google's store.
func (s *server) describe(w http.ResponseWriter, bucket, key string) {
	o, ok := s.objects[bucket+"/"+key]
	if !ok {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	json.NewEncoder(w).Encode(map[string]string{
		"name": key, "bucket": bucket, "size": strconv.Itoa(len(o.content)), "updated": o.date().Format(time.RFC3339),
	})
}

// list returns at most two objects of a bucket, and where the next begin.
func (s *server) list(bucket, prefix, after string) (keys []string, next string) {
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		key, ok := strings.CutPrefix(name, bucket+"/")
		if !ok || !strings.HasPrefix(key, prefix) || key <= after {
			continue
		}
		if len(keys) == 2 {
			s.pages++
			return keys, keys[1]
		}
		keys = append(keys, key)
	}
	return keys, ""
}

func (s *server) listGoogle(w http.ResponseWriter, bucket, prefix, after string) {
	type item struct {
		Name   string `json:"name"`
		Bucket string `json:"bucket"`
	}
	var out struct {
		Kind  string `json:"kind"`
		Items []item `json:"items"`
		Next  string `json:"nextPageToken,omitempty"`
	}
	out.Kind = "storage#objects"
	keys, next := s.list(bucket, prefix, after)
	for _, k := range keys {
		out.Items = append(out.Items, item{k, bucket})
	}
	out.Next = next
	json.NewEncoder(w).Encode(out)
}

func (s *server) listAmazon(w http.ResponseWriter, bucket, prefix, after string) {
	type item struct{ Key string }
	var out struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		Contents              []item
	}
	keys, next := s.list(bucket, prefix, after)
	for _, k := range keys {
		out.Contents = append(out.Contents, item{k})
	}
	out.IsTruncated, out.NextContinuationToken = next != "", next
	xml.NewEncoder(w).Encode(out)
}

// uploadGoogle takes an object in one request: its description, then its content.
func (s *server) uploadGoogle(w http.ResponseWriter, r *http.Request, bucket string) {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || r.URL.Query().Get("uploadType") != "multipart" {
		http.Error(w, "only uploads in one request", http.StatusNotImplemented)
		return
	}
	m := multipart.NewReader(r.Body, params["boundary"])
	var about struct {
		Name string `json:"name"`
	}
	part, err := m.NextPart()
	if err == nil {
		err = json.NewDecoder(part).Decode(&about)
	}
	var content []byte
	if err == nil {
		if part, err = m.NextPart(); err == nil {
			content, err = io.ReadAll(part)
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.put(bucket+"/"+about.Name, content)
	json.NewEncoder(w).Encode(map[string]string{"name": about.Name, "bucket": bucket})
}

// uploadAmazon takes an object in one request, or the requests of one in parts.
func (s *server) uploadAmazon(w http.ResponseWriter, r *http.Request, name string) {
	q := r.URL.Query()
	content, err := body(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	part, _ := strconv.Atoi(q.Get("partNumber"))
	switch {
	case r.Method == http.MethodPost && q.Has("uploads"):
		s.parts[name] = map[int][]byte{}
		fmt.Fprintf(w, "<InitiateMultipartUploadResult><UploadId>%s</UploadId></InitiateMultipartUploadResult>", "1")
	case r.Method == http.MethodPost && q.Has("uploadId"):
		var whole []byte
		for _, n := range slices.Sorted(maps.Keys(s.parts[name])) {
			whole = append(whole, s.parts[name][n]...)
		}
		s.put(name, whole)
		io.WriteString(w, "<CompleteMultipartUploadResult><ETag>1</ETag></CompleteMultipartUploadResult>")
	case r.Method == http.MethodPut && part > 0:
		s.parts[name][part] = content
		w.Header().Set("ETag", q.Get("partNumber"))
	case r.Method == http.MethodPut:
		s.put(name, content)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// body returns what a request brings, in chunks of its own kind or as it is.
func body(r *http.Request) ([]byte, error) {
	if !strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return io.ReadAll(r.Body)
	}
	var all bytes.Buffer
	b := bufio.NewReader(r.Body)
	for {
		line, err := b.ReadString('\n')
		if err != nil {
			return nil, err
		}
		size, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		n, err := strconv.ParseInt(size, 16, 64)
		if err != nil || n == 0 {
			return all.Bytes(), err
		}
		if _, err := io.CopyN(&all, b, n); err != nil {
			return nil, err
		}
		if _, err := b.Discard(len("\r\n")); err != nil {
			return nil, err
		}
	}
}

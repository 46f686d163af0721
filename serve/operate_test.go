package serve

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// TestModelNames: the model answers to any name, in files, in sessions and in /v1/models.
func TestModelNames(t *testing.T) {
	h, s := newServer(t, Options{Name: "base"})
	for _, name := range []string{"", "base", "whisper-1", "openai/whisper-small", "gpt-4o-mini-transcribe-2025-12-15"} {
		if r, body := post(t, h.URL+transcriptions, wav(t), field{"model", name}); r.StatusCode != 200 {
			t.Errorf("%q: %s %s", name, r.Status, body)
		}
		c := call(t, h, "?model="+name, nil)
		c.until("session.created")
		c.conn.CloseNow()
		if _, got := ask(t, "GET", h.URL+"/v1/models/"+cmp.Or(name, "base"), nil); !strings.HasPrefix(got, `{"id":"`+cmp.Or(name, "base")+`","object":"model"`) {
			t.Errorf("/v1/models/%s: %s", name, got)
		}
	}
	_, listing := ask(t, "GET", h.URL+"/v1/models", nil)
	if want := `"root":"base","translates":false,"languages":[{"code":"en","name":"English"}]}]}`; strings.TrimSpace(listing[strings.Index(listing, `"root"`):]) != want {
		t.Errorf("/v1/models: %s", listing)
	}
	settle(t, s)
}

// TestReadiness: while the model is loading, health is answered and requests are refused. The server is not ready
// then, nor with a full queue, nor while it shuts down.
func TestReadiness(t *testing.T) {
	_, s := newServer(t, Options{Turns: 1, Waiting: -1})
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	get := func(path string) (int, string) {
		r, err := http.Get("http://" + l.Addr().String() + path)
		if err != nil {
			return 0, err.Error()
		}
		defer r.Body.Close()
		body, _ := io.ReadAll(r.Body)
		return r.StatusCode, string(body)
	}
	want := func(path string, status int, text string) {
		t.Helper()
		if code, body := get(path); code != status || !strings.Contains(body, text) {
			t.Errorf("%s: %d %s, want %d …%s…", path, code, body, status, text)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	loaded, ended := make(chan struct{}), make(chan error, 1)
	listen, log := func(h *http.Server) error { return h.Serve(l) }, slog.New(slog.DiscardHandler)
	options := Options{Origins: []string{"https://app.example.org"}}
	go func() {
		ended <- Run(ctx, options, func(context.Context) (*Server, error) { <-loaded; return s, nil }, listen, log, time.Minute)
	}()
	want("/healthz", 200, "ok")
	want("/readyz", 503, "loading")
	want("/v1/models", 503, "being loaded")
	if r, err := http.Get("http://" + l.Addr().String() + "/v1/models"); err != nil || r.Header.Get("X-Request-Id") == "" {
		t.Errorf("a request while the model is loaded: %v, %v, want an id", r, err)
	} else {
		r.Body.Close()
	}
	asked, answer := httptest.NewRequest("OPTIONS", "http://localhost"+transcriptions, nil), httptest.NewRecorder()
	asked.Header.Set("Origin", "https://app.example.org")
	(&Server{opt: options}).checkOrigin(http.HandlerFunc(answerLoading)).ServeHTTP(answer, asked)
	if answer.Code != 204 || answer.Header().Get("Access-Control-Allow-Origin") == "" {
		t.Errorf("a page asks while the model is loaded: %d %v", answer.Code, answer.Header())
	}
	close(loaded)
	for code, _ := get("/readyz"); code != 200; code, _ = get("/readyz") {
		time.Sleep(time.Millisecond)
	}
	free := occupy(t, s)
	want("/readyz", 200, "ready")
	want("/readyz?queue=1", 503, "full")
	free()
	s.inProgress.Add(1)
	stop()
	for s.draining.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	want("/readyz", 503, "shutting down")
	r, body := post(t, "http://"+l.Addr().String()+transcriptions, wav(t))
	checkProblem(t, r, body, 503, "", "shutting down")
	s.inProgress.Add(-1)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
	if code, _ := get("/healthz"); code != 0 {
		t.Errorf("after the end: %d", code)
	}
	failure := errors.New("no such model")
	l = must(net.Listen("tcp", "127.0.0.1:0"))
	if err := Run(t.Context(), Options{}, func(context.Context) (*Server, error) { return nil, failure }, listen, log, 0); err != failure {
		t.Errorf("a model that cannot be loaded: %v", err)
	}
}

// makeCertificate writes a certificate for localhost with a serial number.
func makeCertificate(t *testing.T, cert, key string, serial int64) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	public, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: public}, key: {Type: "EC PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTLS: files and sessions work over TLS. A renewed certificate is used without a restart, a broken one is not.
func TestTLS(t *testing.T) {
	_, s := newServer(t, Options{})
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if _, err := new(Reloader).TLS(cert, key); err == nil || !strings.Contains(err.Error(), "cert.pem") {
		t.Errorf("missing files: %v", err)
	}
	makeCertificate(t, cert, key, 1)
	var files Reloader
	c, err := files.TLS(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- runLoaded(ctx, s, func(h *http.Server) error {
			h.TLSConfig = c
			return h.ServeTLS(l, "", "")
		}, time.Minute)
	}()
	url := "https://" + l.Addr().String()
	var last int64
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true, // the certificate is our own
			VerifyConnection: func(s tls.ConnectionState) error {
				last = s.PeerCertificates[0].SerialNumber.Int64()
				return nil
			},
		}}}
	body, kind := form(t, wav(t))
	r, err := client.Post(url+transcriptions, kind, body)
	if err != nil || r.StatusCode != 200 || last != 1 {
		t.Fatalf("%v %v, certificate %d", r, err, last)
	}
	r.Body.Close()
	conn, _, err := websocket.Dial(t.Context(), url+"/v1/realtime", &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	conn.CloseNow()
	see := func(serial int64) {
		t.Helper()
		r, err := client.Get(url + "/healthz")
		if err != nil || last != serial {
			t.Errorf("%v, certificate %d, want %d", err, last, serial)
			return
		}
		r.Body.Close()
	}
	h2 := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}
	if c, err := tls.Dial("tcp", l.Addr().String(), h2); err == nil {
		t.Errorf("got protocol %q, want http/1.1", c.ConnectionState().NegotiatedProtocol)
		c.Close()
	}
	makeCertificate(t, cert, key, 2)
	see(1)
	files.Reload()
	see(2)
	os.WriteFile(cert, []byte("half a certi"), 0o600)
	files.Reload()
	see(2)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	s.sessions.active.Wait()
}

// TestKeysReloaded: keys are added and revoked without a restart. Those of a file that is emptied or removed are no longer
// valid. A file that cannot be read changes nothing.
func TestKeysReloaded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	var log bytes.Buffer
	files := Reloader{Log: slog.New(slog.NewTextHandler(&log, nil))}
	write := func(text string) {
		os.WriteFile(file, []byte(text), 0o600)
		files.Reload()
	}
	write("one")
	get, err := files.Keys(file, func() (list []Key, err error) {
		text, err := os.ReadFile(file)
		switch {
		case len(text) == 0 && err == nil:
			return nil, ErrNoKeys
		case string(text) == "bad":
			return nil, errors.New("a damaged line")
		}
		for _, secret := range strings.Fields(string(text)) {
			list = append(list, Key{Secret: secret})
		}
		return list, err
	})
	if err != nil {
		t.Fatal(err)
	}
	h, _ := newServer(t, Options{Keys: get})
	see := func(key string, status int) {
		t.Helper()
		a, _ := ask(t, "GET", h.URL+"/v1/models", nil, "Authorization", "Bearer "+key)
		if a.StatusCode != status {
			t.Errorf("%s: %s, want %d", key, a.Status, status)
		}
	}
	see("one", 200)
	write("two three")
	see("one", 401)
	see("two", 200)
	write("bad")
	see("three", 200)
	write("")
	see("three", 401)
	write("three")
	see("three", 200)
	os.Remove(file)
	see("three", 200)
	files.Reload()
	see("three", 401)
	if lines := strings.Split(strings.TrimSpace(log.String()), "\n"); len(lines) != 3 {
		t.Errorf("want a line for each change, got %q", lines)
	}
}

// TestWaitingStream: a stream that waits sends its place in the queue at once, and again later. Its errors are events
// then.
func TestWaitingStream(t *testing.T) {
	h, s := newServer(t, Options{Turns: 1, MaxAudio: 5 * time.Second})
	s.keepAlive = 20 * time.Millisecond
	free := occupy(t, s)
	body, kind := form(t, wav(t), field{"stream", "true"})
	r, err := http.Post(h.URL+transcriptions, kind, body)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != 200 || r.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%s %s", r.Status, r.Header.Get("Content-Type"))
	}
	const place = ": waiting, 0 before this\n\n"
	buf := make([]byte, 2*len(place)) // the first comment has the same text
	if _, err := io.ReadFull(r.Body, buf); err != nil || string(buf) != place+place {
		t.Errorf("%q %v", buf, err)
	}
	free()
	rest, err := io.ReadAll(r.Body)
	if text := string(rest); err != nil || !strings.Contains(text, `"type":"error"`) ||
		!strings.Contains(text, "longer than 5s") {
		t.Errorf("%v %s", err, text)
	}
	// A stream that has not started reports errors by status.
	h, _ = newServer(t, Options{MaxAudio: 5 * time.Second})
	r, text := post(t, h.URL+transcriptions, wav(t), field{"stream", "true"})
	checkProblem(t, r, text, 413, "file", "longer than 5s: split it")
}

// TestTranslationLanguage: the language of a translation is English. A model that cannot translate refuses.
func TestTranslationLanguage(t *testing.T) {
	h, _ := newServer(t, Options{})
	r, body := post(t, h.URL+"/v1/audio/translations", wav(t))
	if r.StatusCode == 400 {
		checkProblem(t, r, body, 400, "model", "This model knows English only and cannot translate.")
		a := &answer{q: &request{}, model: loaded(t)}
		a.q.decoding.Task = "translate"
		if v := a.verbose(want(), ""); v.Language != "english" {
			t.Errorf("language %q", v.Language)
		}
	}
}

// TestListenFails: an address that fails while the model is loading ends the loading, and is the error.
func TestListenFails(t *testing.T) {
	failure := errors.New("the address is gone")
	load := func(ctx context.Context) (*Server, error) { <-ctx.Done(); return nil, ctx.Err() }
	listen := func(*http.Server) error { return failure }
	if err := Run(t.Context(), Options{}, load, listen, slog.New(slog.DiscardHandler), 0); err != failure {
		t.Errorf("got %v", err)
	}
}

// runLoaded is Run with a server whose model is loaded.
func runLoaded(ctx context.Context, s *Server, listen func(*http.Server) error, grace time.Duration) error {
	return Run(ctx, Options{Origins: []string{"https://app.example.org"}}, func(context.Context) (*Server, error) { return s, nil }, listen, s.opt.Log, grace)
}

package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"verity/cmd/internal/cli"
)

// TestServeUsage: serve refuses a bad value before it loads a model, and names the flag.
func TestServeUsage(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string
	}{
		{"--queue -1", "--queue -1: must be from 0 to 100000"},
		{"--max-upload 5MB", "--max-upload 5MB: want a whole number from 1 to 1048576 MiB"},
		{"--max-audio 0s", "--max-audio 0s: must be above 0, up to 720h"},
		{"--origin example.org", `--origin: got "example.org", want scheme and host, as https://example.org`},
		{"--wyoming 10300", "--wyoming 10300: want host:port"},
		{"--origin https://www.*.org", `--origin: got "https://www.*.org", want scheme and host`},
		{"--listen 8000", "--listen 8000: want host:port"},
		{"--listen unix:", "--listen unix:: want unix:PATH"},
		{"--listen :8000", "--listen :8000 lets other machines connect: add --api-key-file FILE, or --api-key-file none to allow anyone"},
	} {
		code, _, stderr := program(t, nil, append([]string{"serve", "--model", "nowhere"}, strings.Fields(tt.args)...)...)
		if code != 2 || !strings.Contains(stderr, "verity serve: "+tt.want) {
			t.Errorf("%s: status %d, %q, want 2, %q", tt.args, code, stderr, tt.want)
		}
		for _, foreign := range []string{"strconv", "time:", "serve: Waiting", "MaxBytes"} {
			if strings.Contains(stderr, foreign) {
				t.Errorf("%s: %q speaks of Go's %s", tt.args, stderr, foreign)
			}
		}
	}
}

// TestServeCheck: --check serves nothing. Files of keys and certificates that cannot be used are wrong usage.
func TestServeCheck(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"info": {"title": "Verity"}}`) })
	plain, secure := httptest.NewServer(page), httptest.NewTLSServer(page)
	defer plain.Close()
	defer secure.Close()
	for _, tt := range []struct {
		flag, value string
		status      int
		want        string
	}{
		{"--listen", plain.Listener.Addr().String(), 0, ""}, // of the server that will be restarted
		{"--listen", secure.Listener.Addr().String(), 0, ""},
		{"--listen", l.Addr().String(), 1, "another program listens there"},
		{"--metrics", l.Addr().String(), 1, "another program listens there"},
		{"--metrics", "192.0.2.1:9000", 2, "--metrics 192.0.2.1:9000: this machine has no such address; want one that it has"},
		{"--queue", "1", 0, ""},
		{"--metrics", ":9000", 0, "anyone who can reach this machine can read the metrics"},
		{"--api-key-file", empty, 2, "there is no key in it"},
		{"--api-key-file", empty + "x", 2, "there is no such file"},
		{"--tls-cert", empty, 2, "holds no certificate; want a certificate and its key"},
		{"--tls-cert", empty + "x", 2, "--tls-cert " + empty + "x: there is no such file; want"},
	} {
		code, out, stderr := program(t, nil, "serve", "--check", tt.flag, tt.value)
		if code != tt.status || !strings.Contains(stderr, tt.want) || (code == 0) != strings.Contains(string(out), "all right") {
			t.Errorf("%s %s: status %d, %s %s", tt.flag, tt.value, code, out, stderr)
		}
	}
}

// TestServeListen: an error about an occupied address names the address and the remedy.
func TestServeListen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	verity := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"info": {"title": "Verity"}}`) }))
	defer verity.Close()
	for _, tt := range []struct {
		address, want string
		status        int
	}{
		{l.Addr().String(), "another program listens there: stop it, or use another address", 1},
		{strings.TrimPrefix(verity.URL, "http://"), "Verity runs there already: open " + verity.URL + ", or use another address", 1},
		{"127.0.0.1:99999", "the port must be from 0 to 65535", 2},
	} {
		code, _, stderr := program(t, nil, "serve", "--model", "nowhere", "--listen", tt.address)
		if code != tt.status || !strings.Contains(stderr, "verity serve: --listen "+tt.address+": ") || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: status %d, %q, want %d, %q", tt.address, code, stderr, tt.status, tt.want)
		}
	}
}

// TestServeExamples: the flags in the systemd unit and in the Kubernetes manifest exist, and their
// values are valid.
func TestServeExamples(t *testing.T) {
	for name, args := range map[string]func(line string) (args []string, ok bool){
		"verity.service": func(line string) ([]string, bool) {
			command, ok := strings.CutPrefix(line, "ExecStart=/usr/local/bin/verity ")
			return strings.Fields(command), ok
		},
		"kubernetes.yaml": func(line string) ([]string, bool) {
			list, ok := strings.CutPrefix(line, "args: [")
			return strings.Split(strings.TrimSuffix(list, "]"), ", "), ok
		},
	} {
		raw, err := os.ReadFile(filepath.Join("../../examples", name))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for line := range strings.Lines(string(raw)) {
			words, ok := args(strings.TrimSpace(line))
			if !ok {
				continue
			}
			found = true
			c, rest, err := newRoot(cli.Env{}).Find(words)
			if err != nil || c.Name() != "serve" {
				t.Fatalf("%s: %q: %v, want verity serve", name, line, err)
			}
			if err := c.ParseFlags(rest); err != nil || c.Flags().NArg() > 0 {
				t.Errorf("%s: %q: %v, arguments %q", name, line, err, c.Flags().Args())
			}
		}
		if !found {
			t.Errorf("%s starts no program", name)
		}
	}
}

package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
	"verity/internal/testing/testmodel"
)

// executed matches characters that control a terminal or reverse the order of text.
var executed = regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f-\u009f\u2028-\u202e\u2066-\u2069]|e\nb")

// TestControlCharacters passes control characters in file names and in the values of flags
// and variables. No output may contain them raw or as line breaks, or repeat a huge
// value whole.
func TestControlCharacters(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs another system: no file has such a name here")
	}
	testmodel.Serial(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	t.Chdir(t.TempDir())
	t.Setenv("HF_HUB_OFFLINE", "1")
	const odd = "e\nb\x1b[31m\x1b]0;x\x07\r\u202e\u009b2J\xff"
	for name, content := range map[string][]byte{
		"sounds/" + odd + ".wav": wav(0.2), "sounds/" + odd + ".txt": []byte("so"), "sounds/bad" + odd + ".wav": []byte("RIFF, no sound"),
		odd + ".wav": wav(0.2), odd + ".flac": []byte("fLaC, no sound"), odd + ".jsonl": []byte(`{"id": "e\nb\u001b[31m\u202e"`),
		odd + ".json": []byte("{"), odd + "/config.json": []byte(`{"model_type": "e\nb\u001b[31m\u202e"}`), odd + "/model.safetensors": nil,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, content, 0o666); err != nil {
			t.Skip("needs another file system: ", err)
		}
	}
	huge := strings.Repeat("语", 30_000)
	names := []string{odd, odd + ".wav", odd + ".flac", odd + ".jsonl", odd + ".json", "absent" + odd}
	try := func(args ...string) {
		var out, stderr bytes.Buffer
		code := run(t.Context(), cli.Env{In: strings.NewReader(odd), Out: &out, Err: &stderr}, args)
		if stderr.Len() > 20_000 {
			t.Errorf("%.40q: status %d, and %d bytes such as %.600q", args, code, stderr.Len(), stderr.Bytes())
		}
		for _, said := range [][]byte{out.Bytes(), stderr.Bytes()} {
			if raw := executed.Find(said); raw != nil || !utf8.Valid(said) {
				t.Errorf("%q: status %d, and %q in %.600q", args, code, raw, said)
			}
		}
	}
	seen := map[string]bool{} // flags, with a huge value
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if c.Name() == "listen" || c.Name() == "decode" {
			return // it would hear the room; it writes samples
		}
		path := strings.Fields(c.CommandPath())[1:]
		rest := []string{"absent" + odd}
		if c.Name() == "serve" {
			path = append(path, "--listen", taken.Addr().String())
			rest = nil
		}
		for _, name := range names {
			if c.Name() != "serve" {
				try(append(path, name)...)
			}
		}
		try(append(path, "--"+odd)...)
		c.Flags().VisitAll(func(f *pflag.Flag) {
			try(append(append(path[:len(path):len(path)], "--"+f.Name+"="+odd), rest...)...)
			if !seen[f.Name] {
				try(append(append(path[:len(path):len(path)], "--"+f.Name+"="+huge), rest...)...)
			}
			seen[f.Name] = true
		})
	}
	walk(newRoot(cli.Env{Out: new(bytes.Buffer), Err: new(bytes.Buffer)}))
	for _, o := range cli.All() {
		for _, value := range []string{odd, huge} {
			t.Setenv(o.Variable(), value)
			try("transcribe", "absent"+odd)
			os.Unsetenv(o.Variable()) // t.Setenv puts it back
		}
	}
	model := modelDir(t)
	for _, args := range [][]string{
		{"transcribe", "-m", model, "-l", "en", "--output-dir", odd, "sounds/" + odd + ".wav", "sounds/bad" + odd + ".wav"},
		{"transcribe", "-m", model, "-l", "en", "--stats", "--verbose", "sounds"},
		{"eval", "-m", model, "-l", "en", "-d", "sounds", "--out", "records" + odd},
		{"report", "records" + odd},
		{"compare", "-m", model, "-l", "en", "-a", "self", "sounds/" + odd + ".wav"},
	} {
		try(args...)
	}
}

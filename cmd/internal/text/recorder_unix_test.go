//go:build unix

package text

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"verity/cmd/internal/cli"
	"verity/model"
	"verity/model/digits"
	"verity/transcribe"
	"verity/transcribe/live"
)

// TestListenEnds: when the command ends, for whatever reason, the recorder has ended too.
func TestListenEnds(t *testing.T) {
	c, err := model.OpenFS(digits.Target(), "digits")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m, err := transcribe.Load(t.Context(), c, transcribe.LoadOptions{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	by, err := live.New(m, transcribe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func(was time.Duration) { recorderTimeout = was }(recorderTimeout)
	recorderTimeout = 5 * time.Minute
	full := errors.New("the disk is full")
	for _, why := range []string{"stopped", "output", "end"} {
		bin := t.TempDir()
		script := fmt.Sprintf("#!/bin/sh\necho $$ >%s/pid\nhead -c 8000 /dev/zero\nsleep 1\ntail -c +45 %[1]s/sound.wav\nhead -c 100000 /dev/zero\n", bin)
		if why != "end" {
			script += "exec sleep 600\n"
		}
		for name, content := range map[string]string{"arecord": script, "sound.wav": string(digits.Sample())} {
			if err := os.WriteFile(filepath.Join(bin, name), []byte(content), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		l := &listenCommand{Run: cli.Run{Env: cli.Env{Out: writer(func(b []byte) (int, error) {
			switch why {
			case "stopped":
				cancel()
			case "output":
				return 0, full
			}
			return len(b), nil
		})}}}
		err := l.transcribe(ctx, by, nil)
		if want := map[string]error{"output": full}[why]; !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", why, err, want)
		}
		var pid int
		text, err := os.ReadFile(filepath.Join(bin, "pid"))
		if _, scan := fmt.Sscan(string(text), &pid); err != nil || scan != nil {
			t.Fatal(err, scan)
		}
		if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
			t.Errorf("%s: the recorder still runs: %v", why, err)
		}
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// TestRecorder: the error of a recorder is its first message; without one, how it ended or that it
// gave no sound.
func TestRecorder(t *testing.T) {
	was := recorderTimeout
	t.Cleanup(func() { recorderTimeout = was })
	for _, c := range []struct{ script, want string }{
		{"exec sleep 600", "sh: it gave no sound"},
		{"echo no such device >&2; exec sleep 600", "sh: no such device"},
		{"echo busy >&2; exit 1", "sh: busy"},
		{"echo 'ALSA lib confmisc.c:855:(parse_card) no card\n[alsa @ 0x55] no device default' >&2; exit 1", "sh: no device default"},
		{"exit 3", "sh: exit status 3"},
		{"exit 0", "sh: it gave no sound"},
		{"exec sleep 600 >&-", "sh: it gave no sound"},
	} {
		recorderTimeout = 50 * time.Millisecond
		_, err := start(t.Context(), []string{"sh", "-c", c.script})
		for err != nil && err.Error() != c.want && recorderTimeout < 5*time.Minute { // the shell was late
			recorderTimeout *= 2
			_, err = start(t.Context(), []string{"sh", "-c", c.script})
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.script, err, c.want)
		}
	}
	recorderTimeout = 5 * time.Minute
	loud, err := start(t.Context(), []string{"sh", "-c", "yes | head -c 100000 >&2; echo sound"})
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, loud)
	if err := loud.end(); err == nil || err.Error() != "sh: y" || cap(loud.stderr) > 8000 {
		t.Errorf("%d bytes of a recorder's messages are stored: %v", cap(loud.stderr), err)
	}
	rec, err := start(t.Context(), []string{"sh", "-c", "echo sound"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(rec); string(got) != "sound\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if err := rec.end(); err != nil {
		t.Errorf("its end: %v", err)
	}
}

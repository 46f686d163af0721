package main

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"strings"
	"time"
)

// installed is where a file of the archive lies on a Debian system; others are documents.
func installed(name string) string {
	base := path.Base(name)
	switch {
	case name == "verity":
		return "usr/bin/verity"
	case strings.HasPrefix(name, "man/"):
		return "usr/share/man/man1/" + base
	case base == "verity.bash":
		return "usr/share/bash-completion/completions/verity"
	case base == "_verity":
		return "usr/share/zsh/vendor-completions/_verity"
	case base == "verity.fish":
		return "usr/share/fish/vendor_completions.d/verity.fish"
	}
	return "usr/share/doc/verity/" + name
}

// writeDebian packs the files of the archive as deb(5) has it: an ar archive of a version, a
// description, and the files by where they are installed.
func writeDebian(w io.Writer, version, processor string, files []file, when time.Time) error {
	size, moved := 0, make([]file, len(files))
	for i, f := range files {
		moved[i] = file{name: installed(f.name), data: f.data, program: f.program}
		size += len(f.data)
	}
	version = strings.ReplaceAll(strings.TrimPrefix(version, "v"), "-", "+")
	if version[0] < '0' || version[0] > '9' { // Debian wants a digit first
		version = "0~" + version
	}
	about := fmt.Appendf(nil, "Package: verity\nVersion: %s\nArchitecture: %s\nInstalled-Size: %d\nSection: sound\n"+
		"Priority: optional\nRecommends: ffmpeg\nMaintainer: Verity maintainers <verity@localhost>\n"+
		"Description: speech to text with Whisper, on CPUs\n The program holds Whisper base; others are downloaded by name.\n",
		version, processor, size>>10)
	var control, data bytes.Buffer
	if err := writeTar(&control, ".", []file{{name: "control", data: about}}, when); err != nil {
		return err
	}
	if err := writeTar(&data, ".", moved, when); err != nil {
		return err
	}
	if _, err := io.WriteString(w, "!<arch>\n"); err != nil {
		return err
	}
	for _, f := range []file{{name: "debian-binary", data: []byte("2.0\n")}, {name: "control.tar.gz", data: control.Bytes()},
		{name: "data.tar.gz", data: data.Bytes()}} {
		_, err := fmt.Fprintf(w, "%-16s%-12d0     0     100644  %-10d`\n%s%s", f.name, when.Unix(), len(f.data), f.data,
			"\n"[:len(f.data)%2])
		if err != nil {
			return err
		}
	}
	return nil
}

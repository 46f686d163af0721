package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"
)

// A file is one entry of an archive.
type file struct {
	name    string
	data    []byte
	program bool
}

func (f file) mode() fs.FileMode {
	if f.program {
		return 0o755
	}
	return 0o644
}

// writeTar packs files under the directory top. Owner and times are fixed.
func writeTar(w io.Writer, top string, files []file, when time.Time) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, f := range files {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: top + "/" + f.name, Mode: int64(f.mode()), Size: int64(len(f.data)),
			ModTime: when, Uname: "root", Gname: "root", Format: tar.FormatUSTAR,
		}
		if err := t.WriteHeader(header); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

// writeZip is writeTar for Windows.
func writeZip(w io.Writer, top string, files []file, when time.Time) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		header := &zip.FileHeader{Name: top + "/" + f.name, Method: zip.Deflate, Modified: when.UTC()}
		header.SetMode(f.mode())
		entry, err := z.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(f.data); err != nil {
			return err
		}
	}
	return z.Close()
}

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

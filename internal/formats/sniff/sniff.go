// Package sniff recognises, by its first bytes, a file that is not what its name says,
// so that an error can say what it is and what to do.
//
// It covers common mistakes in downloading and naming models: a file that git-lfs or a
// browser left in place of the real one, or weights in another format.
package sniff

import (
	"bytes"
	"fmt"
	"strings"
)

// A Kind is a kind of file that is often found in place of the right one.
type Kind struct {
	Name   string // with its article, such as "an HTML page"
	Remedy string // what to do if it is found in place of weights or settings
}

const again = "download the file again"

// kinds are the first bytes of each kind; in lower case if the kind is text.
var kinds = []struct {
	head string
	text bool
	Kind
}{
	{"version https://git-lfs", true, Kind{"a git-lfs pointer, not the file it stands for",
		"run 'git lfs pull' in its directory, or download the file itself"}},
	{"<!doctype html", true, Kind{"an HTML page, such as a site's error message", again}},
	{"<html", true, Kind{"an HTML page, such as a site's error message", again}},
	{"<?xml", true, Kind{"an XML document, such as a site's error message", again}},
	{"<", true, Kind{"a page of markup, such as a site's error message", again}},
	{"entry not found", true, Kind{"the hub's message that it has no such file", "check the model's name"}},
	{"repository not found", true, Kind{"the hub's message that it has no such model", "check the model's name"}},
	{"access to model", true, Kind{"the hub's message that this model needs permission",
		"ask for it on the model's page, then download the file with your token"}},
	{"invalid username or password", true,
		Kind{"the hub's message that it did not accept the token", "check the token"}},
	{"PK\x03\x04", false, Kind{"a zip file, as PyTorch writes them",
		"if it is a checkpoint of openai/whisper, name the file itself as the model; else convert it to safetensors"}},
	{"\x80\x02", false, Kind{"a Python pickle", "convert it to safetensors"}},
	{"\x80\x03", false, Kind{"a Python pickle", "convert it to safetensors"}},
	{"\x80\x04", false, Kind{"a Python pickle", "convert it to safetensors"}},
	{"lmgg", false, Kind{"a ggml file, the format of whisper.cpp", "name the file itself as the model"}},
	{"GGUF", false, Kind{"a GGUF file, the format of llama.cpp",
		"Whisper models for whisper.cpp are named ggml-….bin: take one of those"}},
	{"\x89HDF\r\n", false, Kind{"an HDF5 file, as TensorFlow writes them", "take the model's safetensors file"}},
	{"\x1f\x8b", false, Kind{"a file packed with gzip", "unpack it"}},
	{"\x28\xb5\x2f\xfd", false, Kind{"a file packed with zstd", "unpack it"}},
}

// What returns the kind of a file that begins with head; false if it is none of kinds.
func What(head []byte) (Kind, bool) {
	text := strings.ToLower(string(bytes.TrimLeft(head[:min(len(head), 256)], "\ufeff \t\r\n")))
	for _, k := range kinds {
		if k.text && strings.HasPrefix(text, k.head) || !k.text && bytes.HasPrefix(head, []byte(k.head)) {
			return k.Kind, true
		}
	}
	if len(head) >= 64 && !bytes.ContainsFunc(head, func(r rune) bool { return r != 0 }) {
		return Kind{"a file of zeros, as a download leaves that was cut off", again}, true
	}
	return Kind{}, false
}

// Hint adds a remedy to err, an error of reading weights. If head, the file's first
// bytes, is of a known kind, it says what the file is and what to do; else it assumes
// damage.
func Hint(err error, head []byte) error {
	if kind, ok := What(head[:min(len(head), 512)]); ok {
		return fmt.Errorf("%v (%w)", kind, brief{err})
	}
	return Remedied(err)
}

// Remedied adds the remedy for damage to err, an error of reading weights in the right
// format.
func Remedied(err error) error {
	return fmt.Errorf("%w; download or convert the model again", brief{err})
}

// A brief error has a text of some hundred bytes, whatever names the file gave.
type brief struct{ error }

func (b brief) Error() string { return fmt.Sprintf("%.600s", b.error.Error()) }

func (b brief) Unwrap() error { return b.error }

// String says what the file is and what to do.
func (k Kind) String() string { return "it is " + k.Name + ": " + k.Remedy }

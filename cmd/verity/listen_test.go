package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"verity/model/digits"
)

// TestListenFaults: what is lost of sound that arrives is told of and marked, as of files, and
// what was heard before an error is written.
func TestListenFaults(t *testing.T) {
	whole := digits.Sample()
	damaged, err := os.ReadFile("../../audio/testdata/golden/stereo16.flac")
	if err != nil {
		t.Fatal(err)
	}
	damaged[len(damaged)/2] ^= 1
	for name, tt := range map[string]struct {
		sound       []byte
		code        int
		said, wants string
		words       bool
	}{
		"whole":      {whole, 0, "", "", true},
		"cut":        {whole[:len(whole)-5], 0, "the file ends after 9.98 s", `"truncated"`, true},
		"damaged":    {damaged, 0, "damaged", `"damaged"`, false},
		"no numbers": {withNaN(whole), 1, "standard input", `"text"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := program(t, bytes.NewReader(tt.sound), "listen", "-f", "json", "-")
			var tr struct{ Text string }
			if err := json.Unmarshal([]byte(stdout), &tr); err != nil {
				t.Errorf("%v: %q", err, stdout)
			}
			if code != tt.code || (stderr == "") != (tt.said == "") || !strings.Contains(stderr, tt.said) || !strings.Contains(stdout, tt.wants) {
				t.Errorf("status %d, %q, %s", code, stderr, stdout)
			}
			if strings.HasPrefix(tr.Text, " one nine seven six") != tt.words {
				t.Errorf("text %q", tr.Text)
			}
		})
	}
}

// withNaN returns a WAV of 16 bits as floats, of which one of the last is no number.
func withNaN(wav []byte) []byte {
	out := bytes.Clone(wav[:44])
	le := binary.LittleEndian
	le.PutUint16(out[20:], 3)
	le.PutUint32(out[28:], 4*le.Uint32(wav[24:]))
	le.PutUint16(out[32:], 4)
	le.PutUint16(out[34:], 32)
	le.PutUint32(out[40:], 2*le.Uint32(wav[40:]))
	for i := 44; i+2 <= len(wav); i += 2 {
		v := float32(int16(le.Uint16(wav[i:]))) / 32768
		if i == len(wav)-2000 {
			v = float32(math.NaN())
		}
		out = le.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

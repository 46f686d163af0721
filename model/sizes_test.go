package model

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestTorchSizes: an error about a size names the first in the order of Dims, each time, and
// what is wrong with it in words.
func TestTorchSizes(t *testing.T) {
	text := func(s string) string { return fmt.Sprintf("X%c\x00\x00\x00%s", len(s), s) }
	for sizes, want := range map[string]string{
		"": "n_mels is missing or no integer",
		text("n_vocab") + "K\x01" + text("n_mels") + "KP":           "n_audio_ctx is missing or no integer",
		text("n_audio_ctx") + text("a lot") + text("n_mels") + "KP": "n_audio_ctx is missing or no integer",
		text("n_mels") + "K\x00":                                    "n_audio_ctx is missing or no integer",
	} {
		for range 5 {
			var file bytes.Buffer
			z := zip.NewWriter(&file)
			w, err := z.CreateHeader(&zip.FileHeader{Name: "x/data.pkl", Method: zip.Store})
			if err == nil {
				_, err = io.WriteString(w, "\x80\x02}("+text("dims")+"}("+sizes+"u"+text("model_state_dict")+"}u.")
			}
			if err = errors.Join(err, z.Close()); err != nil {
				t.Fatal(err)
			}
			_, err = (&Checkpoint{Name: "x.pt"}).parseTorch(file.Bytes())
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: error = %v, want %q", sizes, err, want)
			}
		}
	}
}

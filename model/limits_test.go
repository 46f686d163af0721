package model_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"verity/model"
)

// TestHeaders: whatever a header lists, in any format, opening a file takes little more memory
// than the file has. A shape of 40 million ones took 1.24 GB.
func TestHeaders(t *testing.T) {
	if testing.Short() {
		t.Skip("needs make test-all: files of 90 MB")
	}
	const many = 40_000_000
	u32 := func(n ...int) string {
		var b []byte
		for _, v := range n {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
		return string(b)
	}
	tensors := func(header string) map[string]string {
		return map[string]string{"config.json": tinyConfig, "model.safetensors": u32(len(header), 0) + header}
	}
	shape := func(n int) string {
		return `{"a":{"dtype":"I8","shape":[` + strings.Repeat("1,", n) + `1],"data_offsets":[0,1]}}`
	}
	index := func(text string) map[string]string {
		return map[string]string{"config.json": tinyConfig, "model.safetensors.index.json": text}
	}
	names := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"%d":"1",`, i)
		}
		return b.String()
	}
	archive := func(program string, files int) string {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for i := range files + 1 {
			w, err := z.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("m/%d", i), Method: zip.Store})
			if i == files {
				w, err = z.CreateHeader(&zip.FileHeader{Name: "m/data.pkl", Method: zip.Store})
			}
			if err == nil {
				_, err = w.Write([]byte(program))
			}
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				program = "\x80\x02N."
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	sizes := u32(51865, 1500, 384, 6, 4, 448, 384, 6, 4, 80, 1, 80, 201) + strings.Repeat("\x00", 4*80*201) + u32(0)
	for name, files := range map[string]map[string]string{
		"safetensors: a shape":            tensors(shape(many)),
		"safetensors: a shorter shape":    tensors(shape(8_000_000)),
		"safetensors: a shape of shapes":  tensors(strings.Replace(shape(8_000_000), "[1,", "[[1,", 1)),
		"safetensors: offsets":            tensors(`{"a":{"dtype":"I8","data_offsets":[` + strings.Repeat("0,", 8_000_000) + `0]}}`),
		"safetensors: a type":             tensors(`{"a":{"dtype":"` + strings.Repeat("I", 16_000_000) + `"}}`),
		"safetensors: metadata":           tensors(`{"__metadata__":{"a":"` + strings.Repeat("I", 16_000_000) + `"}}`),
		"index: names":                    index(`{"weight_map":{` + strings.Repeat(`"a":"b",`, 5_000_000) + `"a":"b"}}`),
		"index: as many as fit":           index(`{"weight_map":{` + names(300_000) + `"a":"b.safetensors"}}`),
		"index: a list":                   index(`{"weight_map":{},"x":[` + strings.Repeat("1,", many) + `1]}`),
		"config: suppressed tokens":       {"config.json": strings.Replace(tinyConfig, "{", `{"suppress_tokens":[`+strings.Repeat("1,", many)+`1],`, 1)},
		"config: as many as fit":          {"config.json": strings.Replace(tinyConfig, "{", `{"suppress_tokens":[`+strings.Repeat("1,", 2_000_000)+`1],`, 1)},
		"torch: a shape":                  {"m.pt": archive("\x80\x02("+strings.Repeat("K\x01", many)+"t.", 0)},
		"torch: a shape on a full stack":  {"m.pt": archive("\x80\x02("+strings.Repeat("K\x01", 2_000_000)+"t.", 0)},
		"torch: a list of files":          {"m.pt": archive("\x80\x02N.", 400_000)},
		"ggml: dimensions":                {"m.bin": "lmgg" + sizes + u32(many, 1, 0) + strings.Repeat(u32(1), many/2)},
		"ggml: a vocabulary":              {"m.bin": "lmgg" + sizes[:len(sizes)-4] + u32(many) + strings.Repeat(u32(0), many/2)},
		"ctranslate2: dimensions":         {"model.bin": u32(6) + "\x0c\x00WhisperSpec\x00" + u32(3, 1) + "\x02\x00a\x00\xff" + strings.Repeat(u32(1), many/2)},
		"ctranslate2: variables":          {"model.bin": u32(6) + "\x0c\x00WhisperSpec\x00" + u32(3, many) + strings.Repeat("\x02\x00a\x00\x00\x01\x01\x00\x00\x00\x01", many/20)},
		"ctranslate2: variables, as many": {"model.bin": u32(6) + "\x0c\x00WhisperSpec\x00" + u32(3, 32768) + strings.Repeat("\x02\x00a\x00\x00\x01\x01\x00\x00\x00\x01", many/20)},
	} {
		path, total := t.TempDir(), 0
		for file, b := range files {
			if err := os.WriteFile(filepath.Join(path, file), []byte(b), 0o600); err != nil {
				t.Fatal(err)
			}
			if total += len(b); strings.HasPrefix(file, "m.") {
				path = filepath.Join(path, file)
			}
		}
		clear(files)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c, err := model.Open(t.Context(), path)
		runtime.ReadMemStats(&after)
		if err == nil {
			c.Close()
			t.Errorf("%s: it opens", name)
			continue
		}
		took := after.TotalAlloc - before.TotalAlloc
		t.Logf("%s: %d MB of a file of %d MB: %.200v", name, took>>20, total>>20, err)
		if took > 128<<20 {
			t.Errorf("%s: opening it took %d MB", name, took>>20)
		}
	}
}

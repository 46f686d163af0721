package model_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"verity/internal/formats/safetensors"
	"verity/model"
)

// TestInt8 opens int8 weights with their scales, and refuses scales that do not fit.
func TestInt8(t *testing.T) {
	const name = "model.encoder.layers.0.fc1.weight" // [5 6]
	scales := func(s ...float32) []byte {
		b, _ := binary.Append(nil, binary.LittleEndian, s)
		return b
	}
	part := func(name, kind string, data []byte, shape ...int) safetensors.Entry {
		return safetensors.Entry{Name: name, Type: kind, Shape: shape,
			Data: func(w io.Writer) error { _, err := io.Copy(w, bytes.NewReader(data)); return err }}
	}
	codes := part(name, "I8", []byte{1, 0xff, 127, 0x81, 0, 2, 29: 0}, 5, 6)
	good := scales(0.5, 1, 1, 1, 0)
	nan := float32(math.NaN())
	for _, tt := range []struct {
		name  string
		parts []safetensors.Entry
		want  string
	}{
		{"good", []safetensors.Entry{codes, part(name+"_scale", "F32", good, 5, 1)}, ""},
		{"no scales", []safetensors.Entry{codes}, "unsupported"},
		{"binary16", []safetensors.Entry{codes, part(name+"_scale", "F16", good[:10], 5, 1)}, "float32 scale for each row"},
		{"flat", []safetensors.Entry{codes, part(name+"_scale", "F32", good, 5)}, "float32 scale for each row"},
		{"few", []safetensors.Entry{codes, part(name+"_scale", "F32", good[:16], 4, 1)}, "float32 scale for each row"},
		{"NaN", []safetensors.Entry{codes, part(name+"_scale", "F32", scales(1, nan, 1, 1, 1), 5, 1)}, "scale 1 is NaN"},
		{"negative", []safetensors.Entry{codes, part(name+"_scale", "F32", scales(1, 1, 1, 1, -1), 5, 1)}, "scale 4 is -1"},
		{"alone", []safetensors.Entry{part(name+"_scale", "F32", good, 5, 1)}, "missing"},
	} {
		all := slices.DeleteFunc(entries(), func(e safetensors.Entry) bool { return e.Name == name })
		fsys := tiny(t)
		fsys["model.safetensors"] = pack(t, append(all, tt.parts...))
		c, err := model.OpenFS(fsys, "dir")
		if tt.want != "" {
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		w, err := c.Weight("encoder.layers.0.fc1.weight", 5, 6)
		if got := w.Tensor().Float32(); err != nil || !slices.Equal(got[:6], []float32{0.5, -0.5, 63.5, -63.5, 0, 1}) {
			t.Errorf("values %v, %v", got, err)
		}
		if c.Has("encoder.layers.0.fc1.weight_scale") {
			t.Error("the scales are a weight of their own")
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

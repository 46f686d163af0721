package quantize

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"verity/internal/layer"
	"verity/internal/quant"
	"verity/internal/tensor"
	"verity/model"
	"verity/model/digits"
)

// TestGPTQ checks that on correlated inputs the errors of outputs are well below those of
// rounding to nearest, and that the kept result is never worse.
func TestGPTQ(t *testing.T) {
	const rows, cols, inputs = 40, 96, 700
	rng := rand.New(rand.NewPCG(1, 2))
	mix := make([]float32, cols*cols)
	for i := range mix {
		mix[i] = float32(rng.NormFloat64()) / 8
	}
	h := newHessian(cols)
	x := make([]float32, cols)
	for range inputs {
		clear(x)
		for j := range 20 { // 20 factors determine 96 inputs
			v := float32(rng.NormFloat64())
			for k := range x {
				x[k] += v * mix[j*cols+k]
			}
		}
		for k := range x {
			x[k] += float32(rng.NormFloat64()) / 50
		}
		if err := h.add(nil, x, 1, cols); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.flush(nil); err != nil {
		t.Fatal(err)
	}
	if h.rows != inputs {
		t.Fatalf("%d inputs were added, want %d", h.rows, inputs)
	}
	all := make([]float32, rows*cols)
	for i := range all {
		all[i] = float32(rng.NormFloat64())
	}
	w := &weight{name: "w", rows: rows, cols: cols, h: h, read: func(lo, hi int) ([]float32, error) {
		return slices.Clone(all[lo*cols : hi*cols]), nil
	}}
	var err error
	if w.hm, err = h.matrix(); err != nil {
		t.Fatal(err)
	}
	energy := w.energy(nil, all)
	for _, f := range []quant.Format{quant.Int4, quant.MXFP6} {
		s, err := newSolver(h)
		if err != nil {
			t.Fatal(err)
		}
		c, l, err := w.code(nil, f, s)
		if err != nil {
			t.Fatal(err)
		}
		m := c.(grouped).Matrix
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
		if l.Method != GPTQ || !(l.Error < 0.6*l.Nearest) {
			t.Errorf("%v: %s with error %.4f, rounding to nearest %.4f", f, l.Method, l.Error, l.Nearest)
		}
		if e := math.Sqrt(w.errorOf(nil, m, 0, all) / energy); math.Abs(e-l.Error) > 1e-9 {
			t.Errorf("%v: error %v, stated as %v", f, e, l.Error)
		}
	}
}

// open opens a small trained model.
func open(t *testing.T) *model.Checkpoint {
	t.Helper()
	c, err := model.OpenFS(digits.Target(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestWrite checks that what was written opens, expands to the codec's values, is as
// small as its bits, and is the same when written again.
func TestWrite(t *testing.T) {
	c := open(t)
	for _, format := range Formats() {
		dir := t.TempDir()
		var told int64
		layers, err := Write(context.Background(), c, dir, Options{Format: format, Progress: func(done, _ int64) { told = done }})
		if err != nil {
			t.Fatal(err)
		}
		got, err := model.Open(context.Background(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if q := layer.Stored(got).String(); q != format || got.Params() != c.Params() || len(layers) == 0 {
			t.Errorf("%s: %s, %d weights in %d layers, want %d", format, q, got.Params(), len(layers), c.Params())
		}
		var weights int64
		for _, l := range layers {
			weights += l.Weights
			checkResult(t, c, got, l)
		}
		if told != weights {
			t.Errorf("%s: told of %d weights, want %d", format, told, weights)
		}
		first := content(t, dir)
		got.Close()
		if _, err := Write(context.Background(), c, dir, Options{Format: format}); err != nil {
			t.Fatalf("%s: written over: %v", format, err)
		}
		if content(t, dir) != first {
			t.Errorf("%s: another run gives other bytes", format)
		}
	}
}

func content(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// checkResult compares a weight with the original.
func checkResult(t *testing.T, c, got *model.Checkpoint, l Result) {
	t.Helper()
	wa, err := c.Weight(l.Name)
	if err != nil {
		t.Fatal(err)
	}
	wb, err := got.Weight(l.Name, wa.Shape...)
	if err != nil {
		t.Fatal(err)
	}
	a, b := wa.Tensor(), wb.Tensor()
	if want := map[bool]tensor.DType{true: tensor.F32, false: tensor.F16}[l.Format == "int8"]; b.DType != want {
		t.Errorf("%s: expands to %v", l.Name, b.DType)
	}
	var e, n float64
	x, y := a.Float32(), b.Float32()
	for i := range x {
		e += math.Pow(float64(x[i])-float64(y[i]), 2)
		n += math.Pow(float64(x[i]), 2)
	}
	if r := math.Sqrt(e / n); !(math.Abs(r-l.Error) < 1e-6) || l.Error != l.Nearest {
		t.Errorf("%s: error %v, stated as %v and %v", l.Name, r, l.Error, l.Nearest)
	}
}

// TestStopped: a run that is stopped leaves nothing that looks like a checkpoint, and one can
// be written there.
func TestStopped(t *testing.T) {
	c, dir := open(t), t.TempDir()
	ctx, stop := context.WithCancel(context.Background())
	o := Options{Format: "int4", Progress: func(done, total int64) {
		if done == total {
			stop()
		}
	}}
	if _, err := Write(ctx, c, dir, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want that it was stopped", err)
	}
	if _, err := model.Open(context.Background(), dir); !errors.Is(err, model.ErrNotCheckpoint) {
		t.Errorf("what was stopped: %v", err)
	}
	if _, err := Write(context.Background(), c, dir, Options{Format: "int4"}); err != nil {
		t.Error(err)
	}
}

// TestRefused checks invalid options, checkpoints of other programs, and weights that are
// not finite.
func TestRefused(t *testing.T) {
	c := open(t)
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "config.json"), []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	quiet := func(context.Context, *model.Checkpoint) error { return nil }
	for _, tt := range []struct {
		name, dir, want string
		o               Options
	}{
		{"format", t.TempDir(), `format "int3": want int8, mxfp6 or int4`, Options{Format: "int3"}},
		{"variant", t.TempDir(), `format "int4z": want`, Options{Format: "int4z"}},
		{"cache", t.TempDir(), `format "int4:cache=f16": want`, Options{Format: "int4:cache=f16"}},
		{"directory", other, "not overwritten", Options{Format: "int4"}},
		{"silence", t.TempDir(), "is there speech", Options{Format: "int4", Calibrate: quiet}},
	} {
		if _, err := Write(context.Background(), c, tt.dir, tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
	dir := t.TempDir()
	if _, err := Write(context.Background(), c, dir, Options{Format: "int4"}); err != nil {
		t.Fatal(err)
	}
	q, err := model.Open(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if _, err := Write(context.Background(), q, t.TempDir(), Options{Format: "int4"}); err == nil || !strings.Contains(err.Error(), "quantized already") {
		t.Errorf("quantised twice: %v", err)
	}
}

// TestFormats quantizes one network in each format. The result has the checkpoint's settings.
func TestFormats(t *testing.T) {
	for _, name := range []string{"hf", "ct2-float16", "ggml-model.bin", "model.pt"} {
		c, err := model.Open(t.Context(), filepath.Join("../testdata/foreign", name))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		dir := t.TempDir()
		if _, err := Write(t.Context(), c, dir, Options{Format: "int8"}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		q, err := model.Open(t.Context(), dir)
		if err != nil {
			t.Errorf("%s, quantized: %v", name, err)
			continue
		}
		defer q.Close()
		if got, want := q.Settings(), c.Settings(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s, quantized: got settings %v, want %v", name, got, want)
		}
	}
}

// TestForeign: nothing that this program did not make is written over, removed or written
// through.
func TestForeign(t *testing.T) {
	c := open(t)
	for _, tt := range []struct{ name, file, content string }{
		{"weights alone", "model.safetensors", "precious"},
		{"a download", "model.safetensors.incomplete", "precious"},
		{"a vocabulary", "vocab.json", "{}"},
		{"another program", "config.json", `{"quantization_config":{"quant_method":"gptq"}}`},
		{"notes", "README.md", "precious"},
	} {
		dir := t.TempDir()
		name := filepath.Join(dir, tt.file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(tt.content), 0o666)); err != nil {
			t.Fatal(err)
		}
		if _, err := Write(context.Background(), c, dir, Options{Format: "int4"}); err == nil || !strings.Contains(err.Error(), "not overwritten") {
			t.Errorf("%s: %v", tt.name, err)
		}
		if b, err := os.ReadFile(name); err != nil || string(b) != tt.content {
			t.Errorf("%s: now %q, %v", tt.name, b, err)
		}
	}

	outside := t.TempDir()
	for _, name := range []string{"config.json", "tokenizer.json", "model.safetensors"} {
		dir := t.TempDir()
		if _, err := Write(context.Background(), c, dir, Options{Format: "int4"}); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(dir, name)
		os.RemoveAll(link)
		if err := os.Symlink(filepath.Join(outside, "new"), link); err != nil {
			t.Skip("needs symbolic links: ", err)
		}
		if name == "config.json" { // nothing says that the directory is ours
			if _, err := Write(context.Background(), c, dir, Options{Format: "int4"}); err == nil {
				t.Errorf("%s is a link: no error", name)
			}
		} else if _, err := Write(context.Background(), c, dir, Options{Format: "int4"}); err != nil {
			t.Errorf("%s is a link: %v", name, err)
		}
		if all, err := os.ReadDir(outside); err != nil || len(all) != 0 {
			t.Errorf("%s is a link: %v was written outside, %v", name, all, err)
		}
	}
}

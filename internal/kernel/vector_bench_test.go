package kernel

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"verity/parallel"
	"verity/precision"
)

// Benchmarks of one thread unless said otherwise. GB/s counts every float32 read
// and written once per pass over it; Gelem/s are elements.

func benchVector(b *testing.B, n int, f func(x []float32)) {
	rng := rand.New(rand.NewPCG(1, 1))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	for b.Loop() {
		f(x)
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gelem/s")
}

func BenchmarkSoftmax51866(b *testing.B)   { benchVector(b, 51866, Softmax) }
func BenchmarkLogSumExp51866(b *testing.B) { benchVector(b, 51866, func(x []float32) { LogSumExp(x) }) }
func BenchmarkMax51866(b *testing.B)       { benchVector(b, 51866, func(x []float32) { Max(x) }) }

func BenchmarkLayerNorm1280(b *testing.B) {
	gamma, beta, dst := make([]float32, 1280), make([]float32, 1280), make([]float32, 1280)
	benchVector(b, 1280, func(x []float32) { LayerNorm(dst, x, gamma, beta, 1e-5) })
}

func BenchmarkGELU5120(b *testing.B) {
	y := make([]float32, 5120)
	benchVector(b, 5120, func(x []float32) { copy(y, x); geluRow(y) })
}

func BenchmarkAdd1280(b *testing.B) {
	y := make([]float32, 1280)
	benchVector(b, 1280, func(x []float32) { Add(y, x) })
}

// BenchmarkAttend measures attention on all cores in the large shape. The encoder
// is 1500 rows over 1500 f32 keys; cross is a decode step or a verify pass over
// 1500 f16 keys, going through the caches of 32 layers as a token does.
func BenchmarkAttend(b *testing.B) {
	const heads, dim = 20, 64
	for _, bb := range []struct {
		name         string
		rows, layers int
		d            precision.Format
	}{
		{"encoder", 1500, 1, precision.F32},
		{"encoderInt8", 1500, 1, precision.Int8},
		{"cross1", 1, 32, precision.F16},
		{"cross2", 2, 32, precision.F16},
		{"cross4", 4, 32, precision.F16},
		{"cross6", 6, 32, precision.F16},
		{"cross1f32", 1, 16, precision.F32},
		{"cross1int8", 1, 32, precision.Int8},
		{"cross6int8", 6, 32, precision.Int8},
		{"self6int8", 6, 32, precision.Int8},
	} {
		for threads := 1; threads <= runtime.GOMAXPROCS(0); threads++ {
			b.Run(fmt.Sprintf("%s/%d", bb.name, threads), func(b *testing.B) {
				n := 1500
				if strings.HasPrefix(bb.name, "self") {
					n = 100
				}
				benchAttend(b, heads, dim, n, bb.rows, bb.layers, threads, bb.d)
			})
		}
	}
}

func benchAttend(b *testing.B, heads, dim, n, rows, layers, threads int, d precision.Format) {
	p := parallel.New(threads)
	defer p.Close()
	rng := rand.New(rand.NewPCG(1, 1))
	x := make([]float32, n*heads*dim)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	spans := make([][]Span, layers)
	var bytes int64
	for l := range spans {
		k, v := NewKeys(heads, dim, n, d), NewValues(heads, dim, n, d)
		k.Set(p, 0, n, x, heads*dim)
		v.Set(p, 0, n, x, heads*dim)
		bytes += int64(len(k.data) + len(v.data) + 4*(len(k.scale)+len(v.scale)))
		for range rows {
			spans[l] = append(spans[l], Span{k, v, n})
		}
	}
	dst := make([]float32, rows*heads*dim)
	var s Scratch
	for b.Loop() {
		for _, sp := range spans {
			Attend(p, dst, x, heads*dim, heads, dim, 0.125, sp, &s)
		}
	}
	seconds := b.Elapsed().Seconds() / float64(b.N)
	peak := PeakFMA(p, 50*time.Millisecond)
	flops := 4 * float64(layers*heads*dim) * float64(rows) * float64(n)
	b.ReportMetric(flops/seconds/1e9, "GFLOP/s")
	b.ReportMetric(100*flops/seconds/peak, "%peak")
	b.ReportMetric(float64(bytes)/seconds/1e9, "GB/s")
}

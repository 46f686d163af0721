package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"verity/internal/tensor"
	"verity/parallel"
	"verity/precision"
)

// benchMatrix packs random weights, all of which are binary16.
func benchMatrix(b *testing.B, store precision.Format, out, in int) *Matrix {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	bits := make([]byte, 2*out*in)
	for i := 0; i < len(bits); i += 2 {
		bits[i] = byte(rng.Uint32())
		bits[i+1] = byte(0x2c | rng.Uint32()&0x80)
	}
	w, err := Pack(store, tensor.Tensor{DType: tensor.F16, Shape: []int{out, in}, Data: bits})
	if err != nil {
		b.Fatal(err)
	}
	return w
}

// BenchmarkMatMul reports operations and bytes of weights per second. Matrices of
// few rows are given several times over, so that they come from memory as the
// layers of a model do.
func BenchmarkMatMul(b *testing.B) {
	shapes := []struct {
		rows    []int
		in, out int
		mats    int
	}{
		{[]int{1500}, 1280, 1280, 1},
		{[]int{1500}, 5120, 1280, 1},
		{[]int{1500}, 1280, 5120, 1},
		{[]int{1}, 1280, 51866, 1},
		{[]int{1, 2, 3, 4, 5, 6, 7, 8, 12, 16}, 1280, 1280, 40},
		{[]int{1, 6}, 5120, 1280, 10},
		{[]int{1, 6}, 384, 384, 1},
	}
	pool := parallel.New(0)
	defer pool.Close()
	for _, s := range shapes {
		for _, store := range append(floatTypes, precision.Int8) {
			var ws []*Matrix
			for _, rows := range s.rows {
				b.Run(fmt.Sprintf("%v/%dx%dx%d", store, rows, s.in, s.out), func(b *testing.B) {
					for len(ws) < s.mats {
						ws = append(ws, benchMatrix(b, store, s.out, s.in))
					}
					x, dst := make([]float32, rows*s.in), make([]float32, rows*s.out)
					rng := rand.New(rand.NewPCG(3, 4))
					for i := range x {
						x[i] = float32(rng.NormFloat64())
					}
					i := 0
					for b.Loop() {
						MatMul(pool, dst, x, rows, s.in, ws[i%len(ws)], nil, Store)
						i++
					}
					ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
					b.ReportMetric(2*float64(rows)*float64(s.in)*float64(s.out)/ns, "GFLOP/s")
					b.ReportMetric(float64(ws[0].Bytes())/ns, "GB/s")
				})
			}
		}
	}
}

// BenchmarkMatMulKV measures the cross-attention keys and values of a layer of
// large-v2, from the first rounding of activations on for int8.
func BenchmarkMatMulKV(b *testing.B) {
	const rows, width, heads = 1500, 1280, 20
	pool := parallel.New(0)
	defer pool.Close()
	x, places := make([]float32, rows*width), make([]Slot, rows)
	for i := range x {
		x[i] = float32(i%17) - 8
	}
	for _, store := range append(floatTypes, precision.Int8) {
		k, v := NewKeys(heads, width/heads, rows, store), NewValues(heads, width/heads, rows, store)
		for i := range places {
			places[i] = Slot{k, v, i}
		}
		b.Run(fmt.Sprint(store), func(b *testing.B) {
			w := benchMatrix(b, store, 2*width, width)
			for b.Loop() {
				MatMulKV(pool, nil, places, x, width, w, nil, nil)
			}
			b.ReportMetric(2*rows*width*2*width*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
		})
	}
}

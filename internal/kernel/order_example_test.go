package kernel_test

import (
	"fmt"
	"math"

	"verity/internal/kernel"
	"verity/internal/tensor"
	"verity/precision"
)

// The orders of docs/dev/ORDER.md for five elements. The product's terms are such that
// another order, or a product rounded by itself, gives another result.
func ExampleMatMul_order() {
	x := []float32{1 << 24, 1, -(1 << 24), 1, 0x1.000002p0}
	w := []float32{1, 1, 1, 1, 0x1.000002p0}
	chain, formula := float32(0), "0"
	for k := range x {
		chain, formula = kernel.FMA(x[k], w[k], chain), fmt.Sprintf("fma(x%d, w%d, %s)", k, k, formula)
	}
	fmt.Println("product:", formula, "+ bias")
	fmt.Println("  by hand  ", chain+0.5)
	m, err := kernel.Pack(precision.F32, tensor.Tensor{DType: tensor.F32, Shape: []int{1, 5}, Data: bytes(w)})
	if err != nil {
		fmt.Println(err)
		return
	}
	y := make([]float32, 1)
	kernel.MatMul(nil, y, x, 1, 5, m, []float32{0.5}, kernel.Store)
	fmt.Println("  by MatMul", y[0])

	// Five elements are five of the sixteen partial sums: 0 + 8 is empty, then 0 + 4.
	e := []float32{0, -1, -30, -31, -2}
	var p [5]float32
	for i, v := range e {
		p[i] = kernel.Exp(v)
	}
	fmt.Println("sum: ((p0+p4)+p2) + (p1+p3)")
	fmt.Println("  by hand     ", kernel.Log(((p[0]+p[4])+p[2])+(p[1]+p[3])))
	fmt.Println("  by LogSumExp", kernel.LogSumExp(e))
	// Output:
	// product: fma(x4, w4, fma(x3, w3, fma(x2, w2, fma(x1, w1, fma(x0, w0, 0))))) + bias
	//   by hand   2.5000002
	//   by MatMul 2.5000002
	// sum: ((p0+p4)+p2) + (p1+p3)
	//   by hand      0.40760604
	//   by LogSumExp 0.40760604
}

func bytes(x []float32) (b []byte) {
	for _, v := range x {
		u := math.Float32bits(v)
		b = append(b, byte(u), byte(u>>8), byte(u>>16), byte(u>>24))
	}
	return b
}

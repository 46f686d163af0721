package tensor_test

import (
	"fmt"

	"verity/internal/tensor"
)

func ExampleTensor_Rows() {
	w := tensor.Convert([]float32{1, 2, 3, 4, 5, 6}, tensor.BF16, 3, 2)
	last := w.Rows(2, 3)
	fmt.Println(w, last, last.Float32())
	// Output: [3 2] bf16 [1 2] bf16 [5 6]
}

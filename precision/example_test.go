package precision_test

import (
	"fmt"

	"verity/precision"
)

func ExampleParse() {
	p, err := precision.Parse("int8:cache=f16")
	fmt.Println(p.Weights, p.Activations, p.Cache, err)
	p = p.Complete()
	fmt.Println(p.Weights, p.Activations, p.Cache, p)
	// Output:
	// int8 auto f16 <nil>
	// int8 int8 f16 int8:cache=f16
}

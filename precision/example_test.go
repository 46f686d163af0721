package precision_test

import (
	"fmt"

	"verity/precision"
)

func ExampleParse() {
	p, err := precision.Parse("int8:cache=f16")
	fmt.Println(p.Weights, p.Cache, p, err)
	// Output:
	// int8 f16 int8:cache=f16 <nil>
}

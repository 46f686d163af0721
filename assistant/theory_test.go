package assistant

import (
	"fmt"
)

func ExampleTheory() {
	p := Theory{Alpha: 0.8, Cost: 0.05, Operations: 0.06}
	const n = 8
	fmt.Printf("drafts of %d: %.2f tokens a round, %.2f times as fast, %.2f times the operations\n",
		n, Expected(p.Alpha, n), p.Speedup(n), p.OperationsRatio(n))
	// Output: drafts of 8: 4.33 tokens a round, 3.09 times as fast, 2.19 times the operations
}

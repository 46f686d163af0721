package assistant_test

import (
	"fmt"

	"verity/assistant"
)

// What drafts of six tokens gain if four of five drafted tokens are right and drafting one
// costs a tenth of a step of the model.
func ExampleTheory() {
	p := assistant.Theory{Alpha: 0.8, Cost: 0.05, Operations: 0.06}
	const n = 8
	fmt.Printf("drafts of %d: %.2f tokens a round, %.2f times as fast, %.2f times the operations\n",
		n, assistant.Expected(p.Alpha, n), p.Speedup(n), p.OperationsRatio(n))
	// Output: drafts of 8: 4.33 tokens a round, 3.09 times as fast, 2.19 times the operations
}

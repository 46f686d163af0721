package assistant_test

import (
	"fmt"

	"verity/assistant"
)

// What drafts of six tokens gain if four of five drafted tokens are right and drafting one
// costs a tenth of a step of the model.
func ExampleTheory() {
	p := assistant.Theory{Alpha: 0.8, Cost: 0.1}
	fmt.Printf("%.2f tokens a round, %.2f times as fast\n", assistant.Expected(p.Alpha, 6), p.Speedup(6))
	// Output: 3.95 tokens a round, 2.47 times as fast
}

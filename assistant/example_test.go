package assistant_test

import (
	"fmt"

	"verity/assistant"
)

// How long drafts should be, and what they gain, if four of five drafted tokens are
// right and drafting one costs a tenth of a step of the model.
func ExampleTheory() {
	p := assistant.Theory{Alpha: 0.8, Cost: 0.1}
	n, speedup := p.Best(16)
	fmt.Printf("drafts of %d tokens: %.2f tokens a round, %.2f times as fast\n", n, assistant.Expected(p.Alpha, n), speedup)
	// Output: drafts of 6 tokens: 3.95 tokens a round, 2.47 times as fast
}

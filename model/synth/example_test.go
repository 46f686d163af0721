package synth_test

import (
	"fmt"
	"log"

	"verity/model/synth"
)

// The shape of a published model, for a checkpoint of random weights.
func ExampleDims() {
	d, err := synth.Dims("large-v3-turbo")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.AudioLayers, "layers encode,", d.TextLayers, "decode")
	// Output: 32 layers encode, 4 decode
}

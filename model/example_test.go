package model_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"testing/fstest"

	"verity/model"
	"verity/model/digits"
)

func ExampleOpenFS() {
	c, err := model.OpenFS(digits.Target(), "demo")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	w, err := c.Weight("decoder.layers.0.fc1.weight", c.Dims.TextFFN, c.Dims.TextWidth)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(w.Tensor())
	// Output: [640 160] f16
}

// A configuration that does not fit the weights: the error says which tensor.
func ExampleTensorError() {
	files := fstest.MapFS{}
	for _, name := range []string{"config.json", "model.safetensors"} {
		data, err := fs.ReadFile(digits.Target(), name)
		if err != nil {
			fmt.Println(err)
			return
		}
		data = bytes.Replace(data, []byte(`"decoder_ffn_dim": 640`), []byte(`"decoder_ffn_dim": 320`), 1)
		files[name] = &fstest.MapFile{Data: data}
	}
	_, err := model.OpenFS(files, "changed")
	fmt.Println(err)
	fmt.Println(errors.Is(err, model.ErrShape))
	// Output:
	// changed/model.safetensors: tensor model.decoder.layers.0.fc1.weight: wrong shape: got [640 160] f16, want [320 160]; download or convert the model again, weights and config.json together
	// true
}

package model_test

import (
	"errors"
	"fmt"
	"strings"

	"verity/internal/testmodel"
	"verity/model"
)

func ExampleOpenFS() {
	c, err := model.OpenFS(testmodel.FS(testmodel.Named("odd")), "odd")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	w, err := c.Tensor("decoder.layers.0.fc1.weight", c.Dims.TextFFN, c.Dims.TextWidth)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(w, c.Features.ChunkSeconds, "s")
	// Output: [100 72] f32 3 s
}

func ExampleTensorError() {
	files := testmodel.FS(testmodel.Named("odd"))
	config := files["config.json"]
	config.Data = []byte(strings.Replace(string(config.Data), `"decoder_ffn_dim": 100`, `"decoder_ffn_dim": 288`, 1))
	_, err := model.OpenFS(files, "odd")
	fmt.Println(err)
	fmt.Println(errors.Is(err, model.ErrShape))
	// Output:
	// odd/model.safetensors: tensor model.decoder.layers.0.fc1.weight: wrong shape: got [100 72] f32, want [288 72]
	// true
}

// Library prints the text of a sound file.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"verity"
	_ "verity/model/base" // builds the model base into the program
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("want one sound file")
	}
	ctx := context.Background()
	m, err := verity.Open(ctx, "base", verity.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	t, err := m.Transcribe(ctx, os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.TrimSpace(t.Text))
}

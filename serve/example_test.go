package serve_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"verity"
	"verity/model/digits"
	"verity/serve"
)

// A Server is an http.Handler: http.ListenAndServe("127.0.0.1:8000", server) serves it.
func ExampleNew() {
	m, err := verity.OpenFS(context.Background(), digits.Target(), "demo", verity.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	server, err := serve.New(m.Model, serve.Options{Name: "demo"})
	if err != nil {
		log.Fatal(err)
	}
	local := httptest.NewServer(server)
	defer local.Close()
	answer, err := http.Get(local.URL + "/healthz")
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(text))
	// Output: ok
}

package tokenizer

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestTableSource checks that the packed tables hold upstream's files, byte for
// byte, by the hashes in tables/SOURCE.md.
func TestTableSource(t *testing.T) {
	source, err := os.ReadFile("tables/SOURCE.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, table := range map[string]func() *bpe{"gpt2": gpt2Table, "multilingual": multilingualTable} {
		h := sha256.New()
		for rank, s := range table().text {
			b64 := base64.StdEncoding.EncodeToString([]byte(s))
			if s == "" {
				b64 = "=" // upstream's way to write the empty token
			}
			fmt.Fprintf(h, "%s %d\n", b64, rank)
		}
		if sum := hex.EncodeToString(h.Sum(nil)); !strings.Contains(string(source), sum) {
			t.Errorf("%s.tiktoken would hash to %s, which tables/SOURCE.md does not list", name, sum)
		}
	}
}

func TestEmbeddedUnknownSize(t *testing.T) {
	_, err := Embedded(50257)
	if !errors.Is(err, ErrMissing) || !strings.Contains(fmt.Sprint(err), "got vocab_size 50257, want 51864, 51865 or 51866") {
		t.Errorf("Embedded(50257) error = %v", err)
	}
}

package tokenizer_test

import (
	"fmt"
	"os"

	"verity/tokenizer"
)

func ExampleLoad() {
	// A directory without tokenizer files: the embedded table for large-v3.
	tok, err := tokenizer.Load(os.DirFS("testdata"), "testdata", 51866)
	if err != nil {
		fmt.Println(err)
		return
	}
	lang, _ := tok.Language("Cantonese")
	fmt.Println(tok.Size(), tok.SOT, lang.Code, lang.Token)
	// Output: 51866 50258 yue 50358
}

func ExampleTokenizer_Encode() {
	tok, err := tokenizer.Embedded(51865)
	if err != nil {
		fmt.Println(err)
		return
	}
	tokens := tok.Encode(" Hello, world!")
	fmt.Println(tokens)
	fmt.Println(tok.Decode(tokens))
	// Output:
	// [2425 11 1002 0]
	//  Hello, world!
}

func ExampleTokenizer_DecodeWithTimestamps() {
	tok, err := tokenizer.Embedded(51865)
	if err != nil {
		fmt.Println(err)
		return
	}
	begin := tok.TimestampBegin
	tokens := []tokenizer.Token{begin, 2425, 13, begin + 54}
	fmt.Println(tok.DecodeWithTimestamps(tokens))
	fmt.Println(tok.Seconds(begin + 54))
	// Output:
	// <|0.00|> Hello.<|1.08|>
	// 1.08
}

func ExampleStream() {
	tok, err := tokenizer.Embedded(51865)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := tok.Stream()
	for _, id := range tok.Encode("naïve 🦆") {
		fmt.Printf("%q ", s.Push(id))
	}
	fmt.Printf("%q\n", s.Flush())
	// Output: "na" "ï" "ve" " " "" "🦆" ""
}

func ExampleTokenizer_SplitToWords() {
	tok, err := tokenizer.Embedded(51865)
	if err != nil {
		fmt.Println(err)
		return
	}
	words, groups := tok.SplitToWords(tok.Encode(" It's supercalifragilistic, no?"), "en")
	for i, w := range words {
		fmt.Printf("%q %d\n", w, len(groups[i]))
	}
	// Output:
	// " It's" 2
	// " supercalifragilistic" 6
	// "," 1
	// " no" 1
	// "?" 1
}

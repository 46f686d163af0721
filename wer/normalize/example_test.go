package normalize_test

import (
	"fmt"

	"verity/wer/normalize"
)

func ExampleEnglish() {
	fmt.Printf("%q\n", normalize.English("Mr. Grey's colour-blind (um) — he won't pay twenty-one dollars and fifty cents!"))
	fmt.Printf("%q\n", normalize.English("In nineteen eighty-four, double oh seven spent 2.5 million pounds."))
	// Output:
	// "mister gray is color blind he will not pay $21.50"
	// "in 1984007 spent £2500000"
}

func ExampleBasic() {
	fmt.Printf("%q\n", normalize.Basic("Größer [Applaus] als gedacht: ½!"))
	// Output:
	// "größer als gedacht 1 2 "
}

func ExampleByName() {
	_, err := normalize.ByName("german")
	fmt.Println(err)
	// Output:
	// normalizer "german": unknown: want english, basic, none
}

package transcript_test

import (
	"fmt"
	"os"

	"verity/transcript"
)

func ExampleWrite() {
	t := &transcript.Transcript{Segments: []transcript.Segment{
		{Start: 0, End: 2.5, Text: " And so, my fellow Americans:"},
		{Start: 2.5, End: 3725.04, Text: " ask not."},
	}}
	for _, f := range []transcript.Format{transcript.TXT, transcript.VTT, transcript.TSV} {
		if err := transcript.Write(os.Stdout, f, t); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// And so, my fellow Americans: ask not.
	// WEBVTT
	//
	// 00:00.000 --> 00:02.500
	// And so, my fellow Americans:
	//
	// 00:02.500 --> 01:02:05.040
	// ask not.
	//
	// start	end	text
	// 0	2500	And so, my fellow Americans:
	// 2500	3725040	ask not.
}

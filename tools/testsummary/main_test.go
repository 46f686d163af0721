package main

import (
	"strings"
	"testing"
)

// TestSummary: of a package that passes a line is shown, of one that fails all but what passed.
func TestSummary(t *testing.T) {
	var out strings.Builder
	s := summary{out: &out, lines: map[string][]line{}, skipped: map[string]int{}}
	s.addAll(strings.NewReader(`{"Action":"output","Package":"a","Test":"TestX","Output":"    x_test.go:1: needs ffmpeg: it is not installed\n"}
{"Action":"skip","Package":"a","Test":"TestX"}
{"Action":"output","Package":"b","Test":"TestPasses","Output":"quiet\n"}
{"Action":"pass","Package":"b","Test":"TestPasses"}
{"Action":"output","Package":"b","Test":"TestFails","Output":"    b_test.go:7: wrong\n"}
{"Action":"fail","Package":"b","Test":"TestFails"}
{"Action":"output","Package":"b","Output":"FAIL\tb\t0.1s\n"}
{"Action":"fail","Package":"b"}
{"Action":"skip","Package":"a","Test":"TestY/case"}
{"Action":"output","Package":"a","Output":"PASS\n"}
{"Action":"output","Package":"a","Output":"ok  \ta\t0.1s\n"}
{"Action":"pass","Package":"a"}
{"Action":"build-output","ImportPath":"c","Output":"c.go:1: syntax error\n"}
no JSON
`))
	s.end()
	want := `    b_test.go:7: wrong
FAIL	b	0.1s
ok  	a	0.1s
c.go:1: syntax error
no JSON
FAILED: b
2 tests skipped, as they need: ffmpeg 1, without a reason 1
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

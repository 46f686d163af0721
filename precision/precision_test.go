package precision

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	tests := []struct {
		s    string
		want Precision
		text string // what String makes of it, if that is not s
	}{
		{"auto", Precision{}, ""},
		{"f32", Precision{Weights: F32}, ""},
		{"int8", Precision{Weights: Int8}, ""},
		{"int8:cache=f16", Precision{Weights: Int8, Cache: F16}, ""},
		{"auto:cache=int8", Precision{Cache: Int8}, ""},
		{"f16:cache=f16", Precision{Weights: F16, Cache: F16}, "f16"},
		{"int8:cache=int8", Precision{Weights: Int8, Cache: Int8}, "int8"},
	}
	for _, tt := range tests {
		got, err := Parse(tt.s)
		if err != nil || got != tt.want {
			t.Errorf("Parse(%q) = %+v, %v, want %+v", tt.s, got, err, tt.want)
		}
		text := tt.text
		if text == "" {
			text = tt.s
		}
		if got.String() != text {
			t.Errorf("Parse(%q).String() = %q, want %q", tt.s, got, text)
		}
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct{ s, want string }{
		{"", `unknown format ""`},
		{"fp8", "want auto, f32, f16, int8"},
		{"F32", "unknown format"},
		{"int8:", "want cache=FORMAT"},
		{"int8:kv=f16", "want cache=FORMAT"},
		{"int8:cache", "want cache=FORMAT"},
		{"int8:cache=f16:cache=f16", "cache: unknown format"},
		{"int8:cache=int4", "keys and values in int4"},
		{"int4:encoder=int8", "want cache=FORMAT"},
	}
	for _, tt := range tests {
		if p, err := Parse(tt.s); err == nil || !strings.Contains(err.Error(), tt.want) || p != (Precision{}) {
			t.Errorf("Parse(%q) = %v, %v, want an error with %q", tt.s, p, err, tt.want)
		}
	}
	if err := (Precision{Weights: 200}).Check(); err == nil || !strings.Contains(err.Error(), "Format(200)") {
		t.Errorf("Check of an unknown format: %v", err)
	}
}

// TestFormats checks that every format has a name that parses, a size, and a precision
// that Check accepts and Complete fills in.
func TestFormats(t *testing.T) {
	for f := F32; f.known(); f++ {
		back, err := ParseFormat(f.String())
		if err != nil || back != f || f.Bits() == 0 {
			t.Errorf("%v: ParseFormat = %v, %v; %d bits", f, back, err, f.Bits())
		}
		c := Of(f).Complete()
		if err := c.Check(); err != nil || c.Cache == Auto {
			t.Errorf("Of(%v).Complete() = %+v, Check: %v", f, c, err)
		}
		if c.Complete() != c || c.String() != f.String() {
			t.Errorf("Of(%v).Complete() = %+v is not stable: %v, %+v", f, c, c, c.Complete())
		}
	}
	if c := (Precision{}).Complete(); c != (Precision{}) {
		t.Errorf("Complete of the zero Precision = %+v, want no change", c)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"auto", "int8:cache=f16", "f16:cache=f32", ":", "int8:=:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := Parse(s)
		if err != nil {
			return
		}
		back, err := Parse(p.String())
		if err != nil || back.Complete() != p.Complete() {
			t.Errorf("Parse(%q) = %+v, and Parse of its String %+v, %v", s, p, back, err)
		}
	})
}

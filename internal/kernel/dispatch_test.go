package kernel

import (
	"slices"
	"testing"
)

func TestParseDisabled(t *testing.T) {
	tests := []struct {
		list string
		want []string
	}{
		{"", []string{}},
		{"amx", []string{"amx"}},
		{"avxvnni", []string{"avxvnni"}},
		{"avx512", []string{"avx512", "amx"}},
		{"avx512,avx2,", []string{"avx512", "avx2", "amx", "avxvnni"}},
		{"neon", []string{"neon", "dotprod", "i8mm"}},
	}
	for _, tt := range tests {
		if got := parseDisabled(tt.list); !slices.Equal(got, tt.want) {
			t.Errorf("parseDisabled(%q) = %q, want %q", tt.list, got, tt.want)
		}
	}
	for _, list := range []string{"avx", "ref", "AVX2", "avx2 avx512"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("parseDisabled(%q) did not panic", list)
				}
			}()
			parseDisabled(list)
		}()
	}
}

func TestUsable(t *testing.T) {
	savedSets, savedDisabled := sets, disabled
	defer func() { sets, disabled = savedSets, savedDisabled }()
	sets = []set{{name: "avx512"}, {name: "avx2", ok: true}, {name: "ref", ok: true}}
	for _, tt := range []struct{ off, want []string }{
		{nil, []string{"avx2", "ref"}}, {[]string{"avx2"}, []string{"ref"}}, {[]string{"neon"}, []string{"avx2", "ref"}},
	} {
		disabled = tt.off
		if got := Implementations(); !slices.Equal(got, tt.want) {
			t.Errorf("without %q: %q, want %q", tt.off, got, tt.want)
		}
	}
}

package kernel

import (
	"slices"
	"strings"
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
		if got, err := parseDisabled(tt.list); !slices.Equal(got, tt.want) || err != nil {
			t.Errorf("parseDisabled(%q) = %q, %v, want %q", tt.list, got, err, tt.want)
		}
	}
	for _, list := range []string{"avx", "ref", "AVX2", "avx2 avx512", "avx2,\x1b[31m", strings.Repeat("x", 1e6)} {
		if _, err := parseDisabled(list); err == nil || len(err.Error()) > 200 || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("parseDisabled(%.20q): error %.300v", list, err)
		}
	}
	if err := DisabledError(); err != nil {
		t.Error(err) // else these tests would not be of the set that somebody asked for
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

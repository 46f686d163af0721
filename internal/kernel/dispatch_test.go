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
		{"avx512,avx2,", []string{"avx512", "avx2", "amx"}},
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

func TestPick(t *testing.T) {
	saved := disabled
	defer func() { disabled = saved }()
	table := []impl[int]{{"avx512", false, 1}, {"avx2", true, 2}, {"ref", true, 3}}
	for _, tt := range []struct {
		off  []string
		want int
	}{{nil, 2}, {[]string{"avx2"}, 3}, {[]string{"neon"}, 2}} {
		disabled = tt.off
		if got := pick(table).fn; got != tt.want {
			t.Errorf("without %q, pick chose %d, want %d", tt.off, got, tt.want)
		}
	}
}

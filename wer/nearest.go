package wer

import (
	"slices"
	"strings"
)

// Nearest returns up to three candidates that a misspelt word may mean, the likeliest first:
// the word is their beginning, or differs from them by few edits.
func Nearest(word string, candidates []string) (near []string) {
	const most = 2 // edits; one in a short word, none in a letter
	limit := min(most, max(min(1, len(word)-1), len(word)/3))
	edits := map[string]int{}
	for _, c := range candidates {
		n := Count(Characters(nil, word), Characters(nil, c)).Errors()
		if n == 2 && swapped(word, c) { // bsae
			n = 1
		}
		if strings.HasPrefix(c, word) && len(word) > 2 {
			n = min(n, 1)
		}
		if n <= limit {
			near, edits[c] = append(near, c), n
		}
	}
	slices.SortStableFunc(near, func(a, b string) int { return edits[a] - edits[b] })
	return near[:min(len(near), 3)]
}

// swapped reports whether two words differ by the order of two letters that follow each other.
func swapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	i := 0
	for i < len(a)-1 && a[i] == b[i] {
		i++
	}
	return i < len(a)-1 && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

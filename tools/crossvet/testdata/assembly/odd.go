//go:build odd

package assembly

func odd(n int) int {
	n = n
	return n
}

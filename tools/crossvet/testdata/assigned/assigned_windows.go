package assigned

func Twice(n int) int {
	n = n
	return 2 * n
}

package assigned

func Twice(n int) string { return 2 * n }

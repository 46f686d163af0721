package transcript

import "reflect"

// addFields adds every field of o to that of sum: numbers, and slices of counts element
// by element. It uses reflection so that a new field cannot be forgotten. A field of another kind
// panics; TestStatsAdd covers every field.
func addNumbers[T any](sum *T, o T) {
	to, from := reflect.ValueOf(sum).Elem(), reflect.ValueOf(o)
	for i := range to.NumField() {
		switch a, b := to.Field(i), from.Field(i); a.Kind() {
		case reflect.Int, reflect.Int64:
			a.SetInt(a.Int() + b.Int())
		case reflect.Float64:
			a.SetFloat(a.Float() + b.Float())
		case reflect.Slice:
			a.Set(reflect.ValueOf(addCounts(a.Interface().([]int), b.Interface().([]int))))
		default:
			panic("transcript: cannot add a " + a.Type().String())
		}
	}
}

// addCounts returns the sum of two histograms. The slice is new, because copies of the
// counters may share the old ones.
func addCounts(a, b []int) []int {
	if len(a) < len(b) {
		a, b = b, a
	}
	sum := append(make([]int, 0, len(a)), a...)
	for i, n := range b {
		sum[i] += n
	}
	return sum
}

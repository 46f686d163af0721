package transcript

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fill sets every number below v to scale times its place, from 1, and every histogram to
// two of them.
func fill(v reflect.Value, scale int, place *int) {
	for i := range v.NumField() {
		f := v.Field(i)
		*place++
		switch n := scale * *place; f.Kind() {
		case reflect.Struct:
			fill(f, scale, place)
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(n))
		case reflect.Float64:
			f.SetFloat(float64(n))
		case reflect.Slice:
			list := reflect.MakeSlice(f.Type(), 2, 2)
			for j := range 2 {
				list.Index(j).Set(reflect.ValueOf(n + j*n).Convert(f.Type().Elem()))
			}
			f.Set(list)
		case reflect.String:
			f.SetString(fmt.Sprint(n))
		default:
			panic(f.Type())
		}
	}
}

func filled(scale int) (s Stats) {
	place := 0
	fill(reflect.ValueOf(&s).Elem(), scale, &place)
	return s
}

// Every field of the counters is added, whatever is added to them later.
func TestStatsAdd(t *testing.T) {
	got, want := filled(1), filled(3)
	got.Add(filled(2))
	want.Bandwidth = filled(2).Bandwidth // the latest one measured
	want.Broken = filled(1).Broken       // the first reason
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("1 + 2 is not 3 (-want +got):\n%s", diff)
	}
}

// A histogram grows to the longer one, and copies of the counters keep theirs.
func TestDraftsAddHistogram(t *testing.T) {
	for _, x := range []struct{ a, b, want []int }{
		{nil, nil, []int{}}, // in JSON [], not null
		{[]int{1, 2, 3}, []int{10}, []int{11, 2, 3}},
		{[]int{10}, []int{1, 2, 3}, []int{11, 2, 3}},
	} {
		d := Drafts{Histogram: x.a}
		before := append([]int(nil), x.a...)
		d.Add(Drafts{Histogram: x.b})
		if diff := cmp.Diff(x.want, d.Histogram); diff != "" {
			t.Errorf("%v + %v (-want +got):\n%s", x.a, x.b, diff)
		}
		if diff := cmp.Diff(before, x.a); diff != "" {
			t.Errorf("%v + %v changed the first one (-want +got):\n%s", x.a, x.b, diff)
		}
	}
}

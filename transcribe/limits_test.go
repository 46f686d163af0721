package transcribe

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
)

// field returns a settable field of o by its name in a limit.
func field(o *Options, name string) reflect.Value {
	v := reflect.ValueOf(o).Elem()
	for part := range strings.SplitSeq(name, ".") {
		v = v.FieldByName(part)
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	return v
}

// numbers returns the names of all exported numeric fields of a struct.
func numbers(of reflect.Type, prefix string) (names []string) {
	for i := range of.NumField() {
		f := of.Field(i)
		t := f.Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch name := prefix + f.Name; {
		case name == "Repetition":
			names = append(names, numbers(t, name+".")...)
		case f.IsExported() && t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64 && name != "Seed" && name != "AudioContext" && name != "Pad":
			names = append(names, name)
		}
	}
	return names
}

// TestLimits tries every number of Options at its bounds and beyond, and checks that all
// have some.
func TestLimits(t *testing.T) {
	known := map[string]bool{}
	for _, l := range new(Options).limits() {
		known[l.field] = true
		try := func(v float64) error {
			o := Options{}.WithDefaults()
			switch f := field(&o, l.field); {
			case f.CanInt() && v == math.Trunc(v) && math.Abs(v) < 1<<62:
				f.SetInt(int64(v))
			case f.CanFloat():
				f.SetFloat(v)
			default:
				return errors.New("a whole number has no such value")
			}
			return o.check()
		}
		for _, v := range []float64{l.least, l.most} {
			if err := try(v); err != nil {
				t.Errorf("%s: %v is refused: %v", l.field, v, err)
			}
		}
		for _, v := range []float64{l.least - 1, l.most + 1, 1e18, 1e30, math.NaN(), math.Inf(1), math.Inf(-1)} {
			if v >= l.least && v <= l.most {
				continue
			}
			var option *OptionError
			if err := try(v); err == nil || errors.As(err, &option) && option.Option != l.field {
				t.Errorf("%s: %v: error %v", l.field, v, err)
			}
		}
	}
	for _, name := range numbers(reflect.TypeFor[Options](), "") {
		if !known[name] {
			t.Errorf("%s has no limit", name)
		}
	}
}

// TestOptionError checks that an error does not print a long value whole.
func TestOptionError(t *testing.T) {
	if text := (&OptionError{Option: "BeamSize", Value: strings.Repeat("x", 1<<20), Reason: "too long"}).Error(); !strings.HasPrefix(text, "BeamSize: got ") || len(text) > 200 {
		t.Errorf("%.200s", text)
	}
	err := Options{Patience: 1e300}.WithDefaults().check()
	if want := "Patience: got 1e+300: must be from 0 to 64"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	err = Options{BeamSize: 99, Task: "sing"}.WithDefaults().check()
	if err == nil || !strings.Contains(err.Error(), "BeamSize: got 99") || !strings.Contains(err.Error(), "Task: got sing") {
		t.Errorf("%v, want both faults", err)
	}
}

package transcribe

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
)

// field returns a settable field of o by its name in Limits, made if it lies behind a
// pointer.
func field(o *Options, name string) reflect.Value {
	v := reflect.ValueOf(o).Elem()
	for part := range strings.SplitSeq(name, ".") {
		v = v.FieldByName(part)
		if v.Kind() == reflect.Pointer {
			v.Set(reflect.New(v.Type().Elem()))
			v = v.Elem()
		}
	}
	return v
}

// numbers returns the names of all numeric fields of a struct.
func numbers(of reflect.Type, prefix string) (names []string) {
	for i := range of.NumField() {
		f := of.Field(i)
		t := f.Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch name := prefix + f.Name; {
		case t.Kind() == reflect.Struct && (f.Name == "Chunked" || f.Name == "Repetition"):
			names = append(names, numbers(t, name+".")...)
		case t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64 && name != "Seed" && name != "AudioContext" && name != "Pad":
			names = append(names, name)
		}
	}
	return names
}

// TestLimits tries every number of Options at its bounds and beyond, from the table, and
// checks that the table has all of them.
func TestLimits(t *testing.T) {
	known := map[string]bool{}
	for _, l := range Limits {
		known[l.Field] = true
		try := func(v float64) error {
			o := Options{}.defaults()
			switch f := field(&o, l.Field); {
			case f.CanInt() && v == math.Trunc(v) && math.Abs(v) < 1<<62:
				f.SetInt(int64(v))
			case f.CanFloat():
				f.SetFloat(v)
			default:
				return errors.New("a whole number has no such value")
			}
			return o.limits()
		}
		for _, v := range []float64{l.Min, l.Max} {
			if err := try(v); err != nil {
				t.Errorf("%s: %v is refused: %v", l.Field, v, err)
			}
		}
		if l.Off != 0 && try(l.Off) != nil {
			t.Errorf("%s: %v is refused", l.Field, l.Off)
		}
		for _, v := range []float64{l.Min - 1, l.Max + 1, 1e18, 1e30, math.NaN(), math.Inf(1), math.Inf(-1)} {
			if v == l.Off && l.Off != 0 || v >= l.Min && v <= l.Max {
				continue
			}
			var option *OptionError
			if err := try(v); err == nil || errors.As(err, &option) && option.Field != l.Field {
				t.Errorf("%s: %v: error %v", l.Field, v, err)
			}
		}
	}
	for _, name := range numbers(reflect.TypeFor[Options](), "") {
		if !known[name] {
			t.Errorf("%s has no limit", name)
		}
	}
}

// TestOptionErrorWords checks that an error names the option in words, and does not print
// a long value whole.
func TestOptionErrorWords(t *testing.T) {
	for _, tt := range []struct{ field, want string }{
		{"BeamSize", "beam size"}, {"VAD", "vad"}, {"TopP", "top p"}, {"Chunked.Length", "length"}, {"MaxNoSpeech", "max no speech"},
	} {
		err := &OptionError{tt.field, strings.Repeat("x", 1<<20), "too long"}
		if text := err.Error(); !strings.HasPrefix(text, tt.want+": got ") || len(text) > 200 {
			t.Errorf("%s: %.200s", tt.field, text)
		}
	}
	err := Options{Patience: 1e300, BeamSize: 2}.defaults().check()
	if want := "patience: got 1e+300: must be from 0 to 64"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

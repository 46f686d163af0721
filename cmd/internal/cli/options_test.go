package cli

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"verity/transcribe"
)

// TestCeilings checks that every number and every text is bounded, and that Parse enforces it.
func TestCeilings(t *testing.T) {
	for _, o := range All() {
		refused := []string{"", "x", "NaN", "1e300", "-1e300", "99999999999999999999999"}
		switch o.Kind {
		case Whole, Real:
			for _, at := range []float64{o.Min, o.Max} {
				text := strings.TrimSuffix(Find(o.Name).format(at), ".0")
				if _, err := o.Parse(text); err != nil && !(o.Above && at == o.Min) {
					t.Errorf("%s %s, a bound: %v", o.Name, text, err)
				}
			}
			if !(o.Max > o.Min) || math.IsInf(o.Max, 0) {
				t.Errorf("%s has no ceiling", o.Name)
			}
			refused = append(refused, o.format(o.Max+1), o.format(o.Min-1))
		case Time:
			if !(o.Max > o.Min) || math.IsInf(o.Max, 0) {
				t.Errorf("%s has no ceiling", o.Name)
			}
			refused = append(refused, "9999999h", "-1s")
		case Unsigned:
		case Text:
			if o.Max == 0 {
				t.Errorf("%s has no ceiling", o.Name)
			}
			refused = []string{strings.Repeat("a", int(o.Max)+1)}
		case Switch, Choice:
			refused = []string{"", "x", "1e300"}
		case List:
			refused = []string{"x,,y", strings.Repeat("9", 400)}
			if o.Field == "Spans" { // parts that overlap or are out of order
				refused = append(refused, "0,1,0.5", "0,3,2.9,4", "5,6,1,2", "3,2")
			}
		}
		for _, text := range refused {
			if v, err := o.Parse(text); err == nil {
				t.Errorf("%s accepts %.40q as %+v", o.Name, text, v)
			} else if strings.Contains(err.Error(), "strconv") || strings.Contains(err.Error(), "time:") {
				t.Errorf("%s: %v mentions Go packages", o.Name, err)
			}
		}
	}
}

// TestTable checks that names are unique, that rows name existing options, and that defaults are
// valid.
func TestTable(t *testing.T) {
	names := map[string]bool{}
	for _, o := range All() {
		if names[o.Name] {
			t.Errorf("%s occurs twice", o.Name)
		}
		names[o.Name] = true
		for _, other := range []string{o.Needs, o.Excludes} {
			if other != "" && Find(other) == nil {
				t.Errorf("%s names %s, which does not exist", o.Name, other)
			}
		}
		if o.Group == "" || o.Help == "" {
			t.Errorf("%s has no group or no help", o.Name)
		}
		if o.Set == nil && o.Scope&Request != 0 {
			t.Errorf("%s: a request may set it, but it has no Set", o.Name)
		}
		if _, err := o.Parse(o.DefaultText()); err != nil && o.DefaultText() != "" {
			t.Errorf("the default of %s: %v", o.Name, err)
		}
	}
}

// TestDefaults: without options, the command line, the server and live sound decode like the
// library with the zero value of its Options.
func TestDefaults(t *testing.T) {
	want := transcribe.Options{}.WithDefaults()
	for _, scope := range []Scope{0, Configurable, Server, Request} {
		d := new(Decoding)
		for _, o := range All() {
			if o.Set == nil || o.Scope&scope != scope {
				continue
			}
			v, err := o.Parse(o.DefaultText())
			if err != nil && o.DefaultText() != "" {
				t.Fatalf("%s: %v", o.Name, err)
			}
			o.Set(d, v)
		}
		if got := d.Result(nil).WithDefaults(); !reflect.DeepEqual(got, want) {
			t.Errorf("options of %d:\n%+v, want\n%+v", scope, got, want)
		}
	}
}

// FuzzParse parses any text for every option: the parsed text must parse to itself.
func FuzzParse(f *testing.F) {
	f.Add("1,2,3")
	f.Fuzz(func(t *testing.T, text string) {
		for _, o := range All() {
			v, err := o.Parse(text)
			if err != nil {
				continue
			}
			again, err := o.Parse(v.Text)
			if err != nil || again.Text != v.Text {
				t.Errorf("%s: %q became %q, then %q, %v", o.Name, text, v.Text, again.Text, err)
			}
			if o.Set != nil {
				o.Set(new(Decoding), v) // must not panic
			}
		}
	})
}

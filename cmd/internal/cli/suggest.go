package cli

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Nearest returns the candidates that a misspelt word may mean: those it begins, and
// those that few edits make of it, the nearest first.
func Nearest(word string, candidates []string) (near []string) {
	const most = 2 // edits; one in a short word
	limit := min(most, max(1, len(word)/3))
	edits := map[string]int{}
	for _, c := range candidates {
		n := editDistance(word, c)
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

// editDistance returns how many insertions, deletions and substitutions of bytes turn a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j+1]+1, next[j]+1, row[j]+cost)
		}
		row = next
	}
	return row[len(b)]
}

// DidYouMean is the end of an error about an unknown word; empty without a candidate.
func DidYouMean(near []string) string {
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}

// FlagError makes an error of parsing flags one of usage, with what was meant if the
// flag does not exist.
func FlagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var value *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		name := string(Dashes(nil, unknown.GetSpecifiedName()))
		advice, ok := Habits[c.Name()+" --"+name]
		if !ok {
			advice, ok = Habits["--"+name]
		}
		if ok {
			if strings.HasPrefix(advice, "-") {
				advice = "use " + advice
			}
			return Usagef("there is no flag --%s: %s", name, cmp.Or(advice, "leave it out"))
		}
		var near []string
		for _, n := range Nearest(name, flagNames(c)) {
			near = append(near, "--"+n)
		}
		return Usagef("there is no flag --%s%s", name, DidYouMean(near))
	case errors.As(err, &unknown):
		if all := unknown.GetSpecifiedShortnames(); len(all) > 1 {
			return Usagef("there is no flag -%s, of -%s; long flags begin with two hyphens", unknown.GetSpecifiedName(), all)
		}
		return Usagef("there is no flag -%s", unknown.GetSpecifiedName())
	case errors.As(err, &missing):
		return Usagef("--%s: the value is missing", missing.GetFlag().Name)
	case errors.As(err, &value):
		set := value.GetFlag().Name + " " + value.GetValue()
		if advice := Habits[c.Name()+" --"+set]; advice != "" {
			return Usagef("--%s: %s", set, advice)
		}
		return Usagef("--%s: %w", set, plain(value.Unwrap(), value.GetFlag()))
	}
	return UsageError{Err: err}
}

// plain replaces the errors of package strconv, which speak of Go.
func plain(err error, f *pflag.Flag) error {
	if !strings.Contains(err.Error(), "strconv.") {
		return err
	}
	return errors.New("want " + map[string]string{"int": "a whole number", "uint64": "a whole number from 0", "float64": "a number", "bool": "true or false"}[f.Value.Type()])
}

func flagNames(c *cobra.Command) (names []string) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}

// Dashes lets flags be written as Python's are: --output_format.
func Dashes(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}

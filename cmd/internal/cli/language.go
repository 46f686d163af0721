package cli

import (
	"fmt"
	"strings"

	"verity/tokenizer"
)

func checkLanguage(text string) error {
	if strings.EqualFold(text, "auto") {
		return nil
	}
	for one := range strings.SplitSeq(text, ",") {
		// A checkpoint may know further languages by their codes.
		if len(one) > 3 && !tokenizer.IsKnownLanguage(one) {
			return fmt.Errorf("want the code or name of a language, such as en or English; several, such as en,de; or auto%s%s; verity info lists them",
				gotPart(one, text), nearestLanguage(one))
		}
	}
	return nil
}

// nearestLanguage ends an error about a language with names that are like it.
func nearestLanguage(text string) string {
	var names []string
	for _, l := range tokenizer.KnownLanguages() {
		names = append(names, strings.ToLower(l.Name))
	}
	return nearest(text, names)
}

func setLanguage(d *Decoding, v Value) {
	if d.Language = v.Text; strings.EqualFold(v.Text, "auto") {
		d.Language = ""
	}
}

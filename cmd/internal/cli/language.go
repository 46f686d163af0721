package cli

import (
	"cmp"
	"fmt"
	"strings"

	"golang.org/x/text/language"

	"verity/tokenizer"
)

func checkLanguage(text string) error {
	if strings.EqualFold(text, "auto") {
		return nil
	}
	for one := range strings.SplitSeq(plainLanguages(text), ",") {
		// A checkpoint may know further languages by their codes.
		if len(one) > 3 && !tokenizer.IsKnownLanguage(one) {
			return fmt.Errorf("want the code or name of a language, such as en or English; several, such as en,de; or auto%s%s; verity info lists them",
				gotPart(one, text), nearestLanguage(one))
		}
	}
	return nil
}

// ownNames are the names of languages in themselves, and what Whisper and package language do not know.
var ownNames = map[string]string{
	"ger": "de", "fre": "fr", "dut": "nl", // older codes of films
	"deutsch": "de", "français": "fr", "francais": "fr", "español": "es", "espanol": "es", "italiano": "it", "nederlands": "nl",
	"português": "pt", "portugues": "pt", "polski": "pl", "svenska": "sv", "dansk": "da", "norsk": "no", "suomi": "fi",
	"čeština": "cs", "magyar": "hu", "türkçe": "tr", "русский": "ru", "українська": "uk", "ελληνικά": "el", "日本語": "ja",
	"한국어": "ko", "中文": "zh",
}

// plainLanguages returns languages as Whisper names them: without regions, as in en-US, and for ger, deu and Deutsch de.
func plainLanguages(list string) string {
	languages := strings.Split(list, ",")
	for i, l := range languages {
		l = strings.TrimSpace(l)
		languages[i] = l
		code, _, _ := strings.Cut(strings.ReplaceAll(l, "_", "-"), "-")
		if base, err := language.ParseBase(code); err == nil && len(code) < 4 && !tokenizer.IsKnownLanguage(code) {
			code = base.String()
		}
		code = cmp.Or(ownNames[strings.ToLower(code)], code)
		if len(code) < 4 && tokenizer.IsKnownLanguage(code) {
			languages[i] = code
		}
	}
	return strings.Join(languages, ",")
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
	if d.Language = plainLanguages(v.Text); strings.EqualFold(v.Text, "auto") {
		d.Language = ""
	}
}

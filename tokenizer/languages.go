package tokenizer

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/text/language"
)

// A Language is one that a checkpoint has a token for.
type Language struct {
	Code  string // such as "en" or "yue"
	Name  string // openai's, such as "English" or "Haitian Creole"
	Token Token
}

// Languages returns the languages in the order of their tokens. openai's English-only
// checkpoints have tokens for languages too, but do not use them.
func (t *Tokenizer) Languages() []Language { return slices.Clone(t.languages) }

// KnownLanguages returns the languages of openai's models, without tokens: those belong
// to a checkpoint.
func KnownLanguages() []Language {
	list := make([]Language, len(languages))
	for i, l := range languages {
		list[i] = Language{Code: l.code, Name: l.name, Token: None}
	}
	return list
}

// IsKnownLanguage reports whether openai's models know a language by that code or name, in any
// case.
func IsKnownLanguage(codeOrName string) bool {
	_, ok := FindLanguage(codeOrName)
	return ok
}

// FindLanguage returns the language of openai's models with that code or name, in any case, without a token.
func FindLanguage(codeOrName string) (Language, bool) { return find(KnownLanguages(), codeOrName) }

// Multilingual reports whether the checkpoint knows several languages. It recognizes openai's
// English-only vocabulary by its size, as upstream does.
func (t *Tokenizer) Multilingual() bool {
	return len(t.languages) > 1 && t.size != VocabEnglish
}

// Language finds a language of the checkpoint by its code, its name or one of
// openai's other names for it ("Mandarin", "Castilian"), in any case.
func (t *Tokenizer) Language(codeOrName string) (Language, bool) {
	return find(t.languages, codeOrName)
}

// Is reports whether a text names the language: its name or code, another of its names or codes, or one with a region, as
// en-US has, in any case, with or without spaces around it.
func (l Language) Is(codeOrName string) bool {
	want := strings.ToLower(strings.TrimSpace(codeOrName))
	return l.Code == want || strings.ToLower(l.Name) == want || l.Code == plainCode(want)
}

// plainCode returns the code of a language in lower case that has a region (en-us, pt_br), another code (deu) or another name.
func plainCode(name string) string {
	name, _, _ = strings.Cut(strings.ReplaceAll(name, "_", "-"), "-")
	code := cmp.Or(languageAliases[name], otherNames[name], name)
	if base, err := language.ParseBase(code); err == nil && len(code) == 3 { // deu; iw has a meaning of its own there
		code = base.String()
	}
	return cmp.Or(otherNames[code], code)
}

func find(list []Language, codeOrName string) (Language, bool) {
	i := slices.IndexFunc(list, func(l Language) bool { return l.Is(codeOrName) })
	if i < 0 {
		return Language{}, false
	}
	return list[i], true
}

// setLanguages finds the languages among the special tokens: openai's codes, and between
// <|startoftranscript|> and <|translate|> any code of two or three letters, which then is its
// own name.
func (t *Tokenizer) setLanguages() {
	names := make(map[string]string, len(languages))
	for _, l := range languages {
		names[l.code] = l.name
	}
	for tok, spelling := range t.special {
		code := strings.TrimSuffix(strings.TrimPrefix(spelling, "<|"), "|>")
		name, known := names[code]
		unknown := (len(code) == 2 || len(code) == 3) && strings.Trim(code, "abcdefghijklmnopqrstuvwxyz") == ""
		if known || unknown && tok >= t.SOT && tok <= t.Translate {
			t.languages = append(t.languages, Language{code, cmp.Or(name, code), tok})
		}
	}
	slices.SortFunc(t.languages, func(a, b Language) int { return cmp.Compare(a.Token, b.Token) })
}

// languages are openai's, in the order of their tokens. Vocabularies of 99 lack
// the last.
//
// Source: openai/whisper@c0d2f62 whisper/tokenizer.py, LANGUAGES.
var languages = []struct{ code, name string }{
	{"en", "English"}, {"zh", "Chinese"}, {"de", "German"}, {"es", "Spanish"}, {"ru", "Russian"},
	{"ko", "Korean"}, {"fr", "French"}, {"ja", "Japanese"}, {"pt", "Portuguese"}, {"tr", "Turkish"},
	{"pl", "Polish"}, {"ca", "Catalan"}, {"nl", "Dutch"}, {"ar", "Arabic"}, {"sv", "Swedish"}, {"it", "Italian"},
	{"id", "Indonesian"}, {"hi", "Hindi"}, {"fi", "Finnish"}, {"vi", "Vietnamese"}, {"he", "Hebrew"},
	{"uk", "Ukrainian"}, {"el", "Greek"}, {"ms", "Malay"}, {"cs", "Czech"}, {"ro", "Romanian"}, {"da", "Danish"},
	{"hu", "Hungarian"}, {"ta", "Tamil"}, {"no", "Norwegian"}, {"th", "Thai"}, {"ur", "Urdu"}, {"hr", "Croatian"},
	{"bg", "Bulgarian"}, {"lt", "Lithuanian"}, {"la", "Latin"}, {"mi", "Maori"}, {"ml", "Malayalam"},
	{"cy", "Welsh"}, {"sk", "Slovak"}, {"te", "Telugu"}, {"fa", "Persian"}, {"lv", "Latvian"}, {"bn", "Bengali"},
	{"sr", "Serbian"}, {"az", "Azerbaijani"}, {"sl", "Slovenian"}, {"kn", "Kannada"}, {"et", "Estonian"},
	{"mk", "Macedonian"}, {"br", "Breton"}, {"eu", "Basque"}, {"is", "Icelandic"}, {"hy", "Armenian"},
	{"ne", "Nepali"}, {"mn", "Mongolian"}, {"bs", "Bosnian"}, {"kk", "Kazakh"}, {"sq", "Albanian"},
	{"sw", "Swahili"}, {"gl", "Galician"}, {"mr", "Marathi"}, {"pa", "Punjabi"}, {"si", "Sinhala"},
	{"km", "Khmer"}, {"sn", "Shona"}, {"yo", "Yoruba"}, {"so", "Somali"}, {"af", "Afrikaans"}, {"oc", "Occitan"},
	{"ka", "Georgian"}, {"be", "Belarusian"}, {"tg", "Tajik"}, {"sd", "Sindhi"}, {"gu", "Gujarati"},
	{"am", "Amharic"}, {"yi", "Yiddish"}, {"lo", "Lao"}, {"uz", "Uzbek"}, {"fo", "Faroese"},
	{"ht", "Haitian Creole"}, {"ps", "Pashto"}, {"tk", "Turkmen"}, {"nn", "Nynorsk"}, {"mt", "Maltese"},
	{"sa", "Sanskrit"}, {"lb", "Luxembourgish"}, {"my", "Myanmar"}, {"bo", "Tibetan"}, {"tl", "Tagalog"},
	{"mg", "Malagasy"}, {"as", "Assamese"}, {"tt", "Tatar"}, {"haw", "Hawaiian"}, {"ln", "Lingala"},
	{"ha", "Hausa"}, {"ba", "Bashkir"}, {"jw", "Javanese"}, {"su", "Sundanese"}, {"yue", "Cantonese"},
}

// otherNames are names and codes of languages that neither openai nor package language knows, or that Whisper has under
// another code. None is a code of Whisper.
var otherNames = map[string]string{
	"cn": "zh", "cz": "cs", "dk": "da", "gr": "el", "jp": "ja", "ua": "uk", // countries
	"iw": "he", "ji": "yi", "in": "id", "jv": "jw", "nb": "no", "fil": "tl", // withdrawn, or never used by Whisper
	"ger": "de", "fre": "fr", "dut": "nl", // older codes of films
	"deutsch": "de", "français": "fr", "francais": "fr", "español": "es", "espanol": "es", "italiano": "it", "nederlands": "nl",
	"português": "pt", "portugues": "pt", "polski": "pl", "svenska": "sv", "dansk": "da", "norsk": "no", "suomi": "fi",
	"čeština": "cs", "magyar": "hu", "türkçe": "tr", "русский": "ru", "українська": "uk", "ελληνικά": "el", "日本語": "ja",
	"한국어": "ko", "中文": "zh",
}

// languageAliases are the other names by which openai knows languages.
//
// Source: openai/whisper@c0d2f62 whisper/tokenizer.py, TO_LANGUAGE_CODE.
var languageAliases = map[string]string{
	"burmese": "my", "valencian": "ca", "flemish": "nl", "haitian": "ht", "letzeburgesch": "lb", "pushto": "ps",
	"panjabi": "pa", "moldavian": "ro", "moldovan": "ro", "sinhalese": "si", "castilian": "es", "mandarin": "zh",
}

package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// loadHF loads the vocabulary in testdata/hf, which the library tokenizers made.
func loadHF(t testing.TB) *Tokenizer {
	t.Helper()
	tok, err := Load(hfFiles(t, "tokenizer.json"), "hf", 0)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// hfFiles returns a directory with some of the files of testdata/hf.
func hfFiles(t testing.TB, names ...string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	for _, name := range names {
		raw, err := os.ReadFile("testdata/hf/" + name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: raw}
	}
	return files
}

// TestLoadGolden loads one vocabulary in each layout of files and compares its
// tokens with those of the library that wrote it.
func TestLoadGolden(t *testing.T) {
	var golden struct {
		Source string
		Texts  []string
		Tokens [][]Token
		Size   int
	}
	readGolden(t, "hf/encode.json.gz", &golden)
	for _, tt := range []struct {
		name  string
		files fstest.MapFS
	}{
		{"tokenizer.json", hfFiles(t, "tokenizer.json")},
		{"merges as strings", joinMerges(t, hfFiles(t, "tokenizer.json"))},
		{"vocab and merges", hfFiles(t, "vocab.json", "merges.txt", "added_tokens.json")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tok, err := Load(tt.files, "hf", golden.Size)
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range golden.Texts {
				if got := tok.Encode(text); !slices.Equal(got, golden.Tokens[i]) {
					t.Errorf("Encode(%q) = %v, want %v (%s)", text, got, golden.Tokens[i], golden.Source)
				}
			}
			checkHF(t, tok, golden.Size)
		})
	}
}

// checkHF checks the special tokens of the vocabulary in testdata/hf. Its last
// 401 ids are timestamps, which the older layout does not name.
func checkHF(t *testing.T, tok *Tokenizer, size int) {
	t.Helper()
	if tok.Size() != size || tok.Timestamps() != 401 || tok.TimestampBegin != tok.NoTimestamps+1 ||
		int(tok.TimestampBegin)+401 != size {
		t.Errorf("size %d, %d timestamps from %d after %d, want %d and 401", tok.Size(), tok.Timestamps(),
			tok.TimestampBegin, tok.NoTimestamps, size)
	}
	last := tok.TimestampBegin + 400
	if got := tok.DecodeWithTimestamps([]Token{tok.TimestampBegin + 54, last}); got != "<|1.08|><|8.00|>" || tok.Seconds(last) != 8 {
		t.Errorf("timestamps are %q, the last %v s", got, tok.Seconds(last))
	}
	if tok.NoSpeech != tok.SOTPrev+1 || tok.IsText(tok.NoSpeech) || tok.Bytes(tok.EOT) != nil {
		t.Errorf("<|nocaptions|> = %d, want %d, no text", tok.NoSpeech, tok.SOTPrev+1)
	}
	want := []Language{{"en", "English", tok.SOT + 1}, {"de", "German", tok.SOT + 2}, {"qqq", "qqq", tok.SOT + 3}}
	if got := tok.Languages(); !slices.Equal(got, want) || !tok.Multilingual() {
		t.Errorf("languages = %v, want %v", got, want)
	}
}

// joinMerges rewrites the merges of a tokenizer.json as "a b", the older form.
func joinMerges(t *testing.T, files fstest.MapFS) fstest.MapFS {
	return edit(t, files, func(model map[string]any) {
		merges := model["merges"].([]any)
		for i, m := range merges {
			pair := m.([]any)
			merges[i] = pair[0].(string) + " " + pair[1].(string)
		}
	})
}

// edit changes the model of a tokenizer.json.
func edit(t *testing.T, files fstest.MapFS, change func(model map[string]any)) fstest.MapFS {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(files["tokenizer.json"].Data, &doc); err != nil {
		t.Fatal(err)
	}
	change(doc["model"].(map[string]any))
	raw, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{"tokenizer.json": {Data: raw}}
}

// TestLoadWords loads a vocabulary of the demo model's kind: whole words, one
// language, fewer timestamps, and no token for most bytes.
func TestLoadWords(t *testing.T) {
	var added []string
	for i, s := range []string{"endoftext", "startoftranscript", "en", "transcribe", "startofprev", "nospeech", "notimestamps"} {
		added = append(added, fmt.Sprintf(`{"id":%d,"content":"<|%s|>","special":true}`, 10+i, s))
	}
	raw := `{"added_tokens":[` + strings.Join(added, ",") + `],"pre_tokenizer":{"type":"ByteLevel"},
"model":{"type":"BPE","vocab":{"Ġzero":0,"Ġone":1,"Ġtwo":2},"merges":[]}}`
	tok, err := Load(fstest.MapFS{"tokenizer.json": {Data: []byte(raw)}}, "demo", 17+401)
	if err != nil {
		t.Fatal(err)
	}
	if tok.Multilingual() || tok.Timestamps() != 401 || tok.TimestampBegin != 17 || tok.Size() != 418 || tok.Translate != None {
		t.Errorf("multilingual %v, %d timestamps from %d, size %d, translate %d", tok.Multilingual(), tok.Timestamps(),
			tok.TimestampBegin, tok.Size(), tok.Translate)
	}
	if l, ok := tok.Language("ENGLISH"); !ok || l.Token != 12 {
		t.Errorf("Language = %v, %v", l, ok)
	}
	if got, err := tok.EncodeStrict(" two zero one"); err != nil || !slices.Equal(got, []Token{2, 0, 1}) {
		t.Errorf("EncodeStrict = %v, %v", got, err)
	}
	if _, err := tok.EncodeStrict("zero"); !errors.Is(err, ErrUnspellable) {
		t.Errorf("EncodeStrict of a word without its space: %v, want ErrUnspellable", err)
	}
	if got := tok.NonSpeech(); len(got) != 0 {
		t.Errorf("NonSpeech = %v, want none", got)
	}
	if tok.IsText(5) || tok.Decode([]Token{17, 1, 5, 2, 17, 10}) != " one two" {
		t.Errorf("ids without a token are text")
	}
}

func TestLoadEmbedded(t *testing.T) {
	tok, err := Load(fstest.MapFS{}, "large-v3", VocabLargeV3)
	if err != nil || tok.Size() != VocabLargeV3 || !tok.Multilingual() {
		t.Fatalf("Load of an empty directory: %v", err)
	}
	if embedded(t, VocabEnglish).Multilingual() {
		t.Errorf("the English-only vocabulary is multilingual")
	}
	_, err = Load(fstest.MapFS{}, "models/mine", 424)
	want := "tokenizer: models/mine: tokenizer.json (or vocab.json), and an embedded table in its stead: missing: " +
		"got vocab_size 424, want 51864, 51865 or 51866; put the model's tokenizer.json into the directory of its weights"
	if fmt.Sprint(err) != want {
		t.Errorf("Load = %v\nwant %s", err, want)
	}
}

// tiny returns a tokenizer.json with the given members of model and top level.
func tiny(model, more string) fstest.MapFS {
	return fstest.MapFS{"tokenizer.json": {Data: []byte(`{"model":{` + model + `},
"added_tokens":[{"id":3,"content":"<|endoftext|>","special":true},{"id":4,"content":"<|startoftranscript|>","special":true}]` + more + `}`)}}
}

func TestLoadErrors(t *testing.T) {
	const sound = `"vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]`
	if _, err := Load(tiny(sound, ""), "d", 5); err != nil {
		t.Fatalf("the sound one: %v", err)
	}
	for _, tt := range []struct {
		name  string
		files fstest.MapFS
		vocab int
		err   error
		want  string // part of the message
	}{
		{"no JSON", fstest.MapFS{"tokenizer.json": {Data: []byte("{")}}, 0, ErrMalformed, "d/tokenizer.json: JSON"},
		{"not BPE", tiny(`"type":"Unigram","vocab":[["a",-1.5]]`, ""), 0, ErrMalformed, "model.vocab is a list, want an object"},
		{"merge of one", tiny(`"vocab":{"a":0},"merges":["a"]`, ""), 0, ErrMalformed, "1 parts, want 2"},
		{"merge of three", tiny(`"vocab":{"a":0},"merges":[["a","a","a"]]`, ""), 0, ErrMalformed, "3 parts, want 2"},
		{"merge of nothing", tiny(`"vocab":{"a":0},"merges":[null]`, ""), 0, ErrMalformed, "want 2"},
		{"merge of strangers", tiny(`"vocab":{"a":0,"b":1},"merges":["a b"]`, ""), 0, ErrMalformed, `merge 0: malformed: got "a" + "b"`},
		{"endless id", tiny(`"vocab":{"a":`+strings.Repeat("9", 5000)+`}`, ""), 0, ErrMalformed, `malformed: got model.vocab is a number 9999999999999999999999999999999, want a number`},
		{"id below 0", tiny(`"vocab":{"a":-1}`, ""), 0, ErrMalformed, `id of "a": malformed: got -1`},
		{"huge id", tiny(`"vocab":{"a":1048576}`, ""), 0, ErrMalformed, "want 0 to 1048575"},
		{"id twice", tiny(`"vocab":{"a":0,"b":0}`, ""), 0, ErrMalformed, `id 0: malformed: got both "a" and "b"`},
		{"small model", tiny(sound, ""), 4, ErrUnsupported, "got ids up to 4, want less than the model's vocab_size 4"},
		{"no specials", fstest.MapFS{"tokenizer.json": {Data: []byte("{}")}}, 0, ErrMissing, "<|startoftranscript|>"},
		{"negative vocab", tiny(sound, ""), -1, ErrMalformed, "vocab_size"},
		{"no merges.txt", hfFiles(t, "vocab.json"), 0, ErrMissing, "d/merges.txt: file: missing"},
		{"bad merges.txt", with(hfFiles(t, "vocab.json"), "merges.txt", "#version: 0.2\na b\nabc\n"), 0, ErrMalformed, `line 3: malformed: got "abc"`},
		{"bad added_tokens", with(hfFiles(t, "vocab.json", "merges.txt"), "added_tokens.json", "[]"), 0, ErrMalformed, "d/added_tokens.json"},
		{"no added_tokens", hfFiles(t, "vocab.json", "merges.txt"), 0, ErrMissing, "<|endoftext|>"},
		{"too large", with(fstest.MapFS{}, "tokenizer.json", strings.Repeat(" ", maxFile+1)), 0, ErrUnsupported, "at most 16777216 bytes"},
		{"deep", fstest.MapFS{"tokenizer.json": {Data: []byte(`{"model":` + strings.Repeat(`{"pretokenizers":[`, 1<<19))}}, 0, ErrMalformed, "depth"},
	} {
		_, err := Load(tt.files, "d", tt.vocab)
		if !errors.Is(err, tt.err) || !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%s: error = %v, want %v with %q", tt.name, err, tt.err, tt.want)
		}
	}
}

// TestLoadCorners loads what published checkpoints do not have, but might.
func TestLoadCorners(t *testing.T) {
	const abc = `"vocab":{"a":0,"b":1,"ab":2,"c":5,"bc":6},"merges":[`
	added := func(more string) fstest.MapFS {
		files := tiny(abc+`"a b"]`, "")
		raw := string(files["tokenizer.json"].Data)
		return with(files, "tokenizer.json", strings.Replace(raw, `"added_tokens":[`, `"added_tokens":[`+more+",", 1))
	}
	encode := func(text string) func(*Tokenizer) any {
		return func(tok *Tokenizer) any { return tok.Encode(text) }
	}
	for _, tt := range []struct {
		name  string
		files fstest.MapFS
		vocab int
		got   func(tok *Tokenizer) any
		want  any
	}{
		{"no merges", tiny(abc+"]", ""), 0, encode("ab"), []Token{0, 1}},
		{"a merge listed twice has its first rank", tiny(abc+`"a b","b c","a b"]`, ""), 0, encode("abc"), []Token{2, 5}},
		{"an added word does not displace a byte", added(`{"id":9,"content":"a"}`), 0, encode("ab"), []Token{2}},
		{"an added word is spelled as it is", added(`{"id":9,"content":"Ġ"}`), 0,
			func(tok *Tokenizer) any { return tok.Decode([]Token{9, 2}) }, "Ġab"},
		{"special by its flag", added(`{"id":9,"content":"[PAD]","special":true}`), 0,
			func(tok *Tokenizer) any { return tok.IsText(9) }, false},
		{"special by its name", added(`{"id":9,"content":"<|0.00|>"}`), 0,
			func(tok *Tokenizer) any { return tok.IsTimestamp(9) }, true},
		{"a code is a language only before <|translate|>", added(`{"id":9,"content":"<|xx|>"},{"id":10,"content":"<|translate|>"},{"id":11,"content":"<|yy|>"}`), 0,
			func(tok *Tokenizer) any { return tok.Languages() }, []Language{{"xx", "xx", 9}}},
		{"a padded vocabulary has no more timestamps", added(`{"id":9,"content":"<|notimestamps|>"}`), 9999,
			func(tok *Tokenizer) any { return tok.Timestamps() }, 1501},
		{"tokens after <|notimestamps|> are not timestamps", added(`{"id":9,"content":"<|notimestamps|>"},{"id":10,"content":"<|x|>"}`), 99,
			func(tok *Tokenizer) any { return tok.Timestamps() }, 0},
		{"no vocab_size, no derived timestamps", added(`{"id":9,"content":"<|notimestamps|>"}`), 0,
			func(tok *Tokenizer) any { return tok.TimestampBegin }, None},
	} {
		tok, err := Load(tt.files, "d", tt.vocab)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		} else if diff := cmp.Diff(tt.want, tt.got(tok)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestLoadTimes: timestamps with a gap, as a flipped bit leaves one, would end there.
func TestLoadTimes(t *testing.T) {
	for names, want := range map[string]string{
		"<|0.00|> <|0.02|> <|0.04|>": "", "<|0.00|> <|0.O2|> <|0.04|>": "<|0.04|>: malformed: got id 12",
		"<|0.00|> <|0.04|> <|0.02|>": "<|0.02|>: malformed: got id 12", "<!0.00|> <|0.02|>": "<|0.02|>: malformed: got id 11",
		"<|0.00|> x <|0.02|>": "<|0.02|>: malformed: got id 12",
	} {
		tokens := ""
		for i, name := range strings.Fields(names) {
			tokens += fmt.Sprintf(`{"id":%d,"content":%q},`, 10+i, name)
		}
		files := tiny(`"vocab":{"a":0}`, "")
		raw := &files["tokenizer.json"].Data
		*raw = []byte(strings.Replace(string(*raw), `"added_tokens":[`, `"added_tokens":[`+tokens, 1))
		_, err := Load(files, "d", 0)
		if (err == nil) != (want == "") || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: got %v, want %q", names, err, want)
		}
	}
}

// TestLoadReadError checks that a read error of the file system is returned.
func TestLoadReadError(t *testing.T) {
	files := fstest.MapFS{"tokenizer.json": {Mode: fs.ModeDir}}
	if _, err := Load(files, "d", VocabLargeV3); err == nil || !strings.Contains(err.Error(), "d/tokenizer.json") {
		t.Errorf("Load = %v, want an error that names the file", err)
	}
}

// with adds a file to a directory.
func with(files fstest.MapFS, name, content string) fstest.MapFS {
	files[name] = &fstest.MapFile{Data: []byte(content)}
	return files
}

// TestRanks reads an embedded table as the list of a ggml file, and compares the tokens.
func TestRanks(t *testing.T) {
	for _, vocab := range []int{VocabEnglish, VocabLargeV3} {
		want := embedded(t, vocab)
		packed := fmt.Appendf(nil, "%06d\n", len(want.bpe.text))
		for _, s := range want.bpe.text {
			packed = append(packed, byte(len(s)))
		}
		packed = append(packed, strings.Join(want.bpe.text, "")...)
		got, err := Load(fstest.MapFS{"vocabulary.bin": {Data: packed}}, "d", vocab)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(got.special, want.special) || got.Size() != want.Size() || got.EOT != want.EOT || !slices.Equal(got.bpe.text, want.bpe.text) {
			t.Errorf("%d tokens differ", vocab)
		}
	}
}

func TestListErrors(t *testing.T) {
	many := func(n int) string {
		var words []string
		for i := range n {
			words = append(words, fmt.Sprintf(`"w%d":%d`, i, i+5))
		}
		return `"vocab":{` + strings.Join(words, ",") + `}`
	}
	for _, tt := range []struct {
		name, file, content string
		vocab               int
		err                 error
		want                string
	}{
		{"another model's", "vocabulary.bin", "000001\n\x01A", 51865, ErrUnsupported, "leaves 50355 languages"},
		{"no number", "vocabulary.bin", "abcdef\n", 0, ErrMalformed, "no list of ranks"},
		{"cut off", "vocabulary.bin", "000002\n\x01\x02AB", 0, ErrMalformed, "cut off"},
		{"cut off earlier", "vocabulary.bin", "000009\n\x01", 0, ErrMalformed, "no list"},
		{"negative", "vocabulary.bin", "-00001\n", 0, ErrMalformed, "no list"},
		{"git-lfs pointer", "tokenizer.json", "version https://git-lfs.github.com/spec/v1\n", 0, ErrMalformed, "git lfs pull"},
		{"HTML page", "tokenizer.json", "<!DOCTYPE html>", 0, ErrMalformed, "HTML page"},
		{"no merges", "tokenizer.json", string(tiny(many(1001), "")["tokenizer.json"].Data), 0, ErrMissing, "merges: missing: got none, of a vocabulary of 1001"},
	} {
		_, err := Load(fstest.MapFS{tt.file: {Data: []byte(tt.content)}}, "d", tt.vocab)
		if !errors.Is(err, tt.err) || !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%s: error = %v, want %v with %q", tt.name, err, tt.err, tt.want)
		}
	}
}

// FuzzRanks checks the same as FuzzLoad for lists.
func FuzzRanks(f *testing.F) {
	f.Add([]byte("000002\n\x01\x00A"), 1512)
	f.Fuzz(func(t *testing.T, raw []byte, vocab int) {
		checkLoaded(t, fstest.MapFS{"vocabulary.bin": {Data: raw}}, vocab)
	})
}

// FuzzLoad checks that no file makes Load panic or yield a tokenizer that does.
func FuzzLoad(f *testing.F) {
	for _, files := range []fstest.MapFS{
		tiny(`"vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]`, ""),
		tiny(`"vocab":{"Ġ":0,"":1,"Ġa":2,"☃":5,"a":6},"merges":[["Ġ","a"]]`, ""),
		tiny(`"vocab":{"<|0.00|>":6,"<|notimestamps|>":5}`, ""),
	} {
		f.Add(files["tokenizer.json"].Data, 0)
		f.Add(files["tokenizer.json"].Data, 20)
	}
	f.Fuzz(func(t *testing.T, raw []byte, vocab int) {
		checkLoaded(t, fstest.MapFS{"tokenizer.json": {Data: raw}}, vocab)
	})
}

// checkLoaded uses every part of a tokenizer that loads.
func checkLoaded(t *testing.T, files fstest.MapFS, vocab int) {
	tok, err := Load(files, "fuzz", vocab)
	if err != nil {
		if _, ok := errors.AsType[*Error](err); !ok {
			t.Errorf("error of another type: %v", err)
		}
		if len(err.Error()) > 1000 || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("error %q is not a short line", err)
		}
		return
	}
	tokens := []Token{-1, 0, tok.SOT, tok.EOT, Token(tok.Size())}
	tokens = append(tokens, tok.Encode("ab a\xff <|en|> ☃")...)
	tokens = append(tokens, tok.NonSpeech()...)
	tok.DecodeWithTimestamps(tokens)
	if got, want := streamed(tok, tokens), tok.Decode(tokens); got != want {
		t.Errorf("Stream = %q, Decode = %q", got, want)
	}
	tok.SplitToWords(tokens, "ja")
}

// TestFindLanguage: a language has several names and codes, and may have a region.
func TestFindLanguage(t *testing.T) {
	for name, want := range map[string]string{
		"en": "en", " EN ": "en", "en-US": "en", "pt_BR": "pt", "zh-Hant-TW": "zh", "English": "en", "Haitian Creole": "ht",
		"iw": "he", "iw-IL": "he", "nb-NO": "no", "nob": "no", "nn": "nn", "fil": "tl", "JV": "jw", "jav": "jw", "haw": "haw", "deu": "de",
		"ger": "de", "Deutsch": "de", "jp": "ja", "mandarin": "zh", "yue": "yue", "": "", "-": "", "xx-YY": "", "klingon": "", "auto": "",
	} {
		if got, ok := FindLanguage(name); got.Code != want || ok != (want != "") {
			t.Errorf("%q: got %v, want %s", name, got, want)
		}
	}
}

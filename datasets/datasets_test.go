package datasets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

// tree writes files, given as name and content, below a new folder. A name that
// ends in / makes an empty folder.
func tree(t testing.TB, files ...string) string {
	t.Helper()
	root := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		p := filepath.Join(root, filepath.FromSlash(files[i]))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// listing renders a dataset, one line a row: good ones as fields, broken ones as
// "!" and the error. Paths are relative to root.
func listing(t testing.TB, root, path string, o Options) []string {
	t.Helper()
	d, err := Open(t.Context(), filepath.Join(root, path), o)
	if err != nil {
		return []string{"open: " + strings.ReplaceAll(err.Error(), root+"/", "")}
	}
	found := d.Format + ": " + d.Files[0]
	if len(d.Files) > 1 {
		found = fmt.Sprintf("%s: %d files under %s", d.Format, len(d.Files), d.Root)
	}
	lines := []string{strings.ReplaceAll(found, root+"/", "")}
	for u, err := range d.All(t.Context()) {
		line := ""
		if err != nil {
			var row *RowError
			if !errors.As(err, &row) {
				t.Errorf("error of a row is %T", err)
			}
			line = "! " + err.Error()
		} else {
			line = fmt.Sprintf("%s|%s|%s|%g+%g|%s", u.ID, u.Text, u.Lang, u.Offset, u.Duration, u.Audio.Path)
		}
		lines = append(lines, strings.ReplaceAll(line, root+"/", ""))
	}
	return lines
}

func TestFormats(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	tests := []struct {
		name  string
		files []string
		path  string
		o     Options
		want  []string
		why   string
	}{
		{
			"librispeech",
			[]string{"LS/1/2/1-2.trans.txt", "1-2-0 ONE TWO\n1-2-1  THREE \r\n\n1-2-3 GONE\n1-2-4\n../x HACK\n", "LS/1/2/1-2-0.flac", "", "LS/1/2/1-2-1.wav", "", "LS/1/2/1-2-9.flac", "",
				"LS/1/10/1-10.trans.txt", "1-10-0 ZERO", "LS/1/10/1-10-0.flac", "", "words.jsonl", "{}"},
			".", Options{},
			[]string{"librispeech: 2 files under ROOT",
				"1-10-0|ZERO|en|0+0|LS/1/10/1-10-0.flac",
				"1-2-0|ONE TWO|en|0+0|LS/1/2/1-2-0.flac",
				"1-2-1|THREE|en|0+0|LS/1/2/1-2-1.wav",
				"! LS/1/2/1-2.trans.txt:4: sound file LS/1/2/1-2-3.flac: there is no such file; names are relative to the manifest",
				"! LS/1/2/1-2.trans.txt:5: sound file LS/1/2/1-2-4.flac: there is no such file; names are relative to the manifest",
				"! LS/1/2/1-2.trans.txt:6: sound file LS/1/x.flac: there is no such file; names are relative to the manifest",
				"! LS/1/2/1-2-9.flac: no line of 1-2.trans.txt names it"},
			"lost audio and lost lines are both reported; names order, not numbers",
		},
		{
			"jsonl",
			[]string{"d/manifest.jsonl", "\ufeff" + `{"audio_filepath": "a.wav", "duration": 1.5, "text": "x", "offset": 0.25, "lang": "de"}` + "\n" +
				`{"id": 7, "audio_filepath": "sub/b.wav", "text": "y", "speaker": "s"}` + "\r\n\n" +
				`{"audio_filepath": "a.wav", "text": "again"}` + "\n" + `{"audio_filepath": "a.wav"}` + "\n" + `{"text": "x"}` + "\n" + `{"audio_filepath": "no.wav", "text": "x"}` + "\n" +
				`{"audio_filepath": "sub", "text": "x"}` + "\n" + `{"audio_filepath": "a.wav", "text": "x", "duration": -1}` + "\n" + `[1]` + "\n" + `{"audio_filepath": "a.wav", "text": "x"} {}` + "\n" +
				`{"audio_filepath": "a.wav", "text": ["x"]}` + "\n" + `{"a":` + strings.Repeat("[", 40) + "\n" + "\xff\n" + `{"text": "` + long + `"}` + "\n" + `{"audio_filepath": "a.wav", "text": "x", "offset": 3}` + "\n" + `{"file_name": "a.wav", "sentence": "last"}`,
				"d/a.wav", "", "d/sub/b.wav", ""},
			"d", Options{},
			[]string{"jsonl: d/manifest.jsonl",
				"a.wav@0.25+1.5|x|de|0.25+1.5|d/a.wav",
				"7|y||0+0|d/sub/b.wav",
				"a.wav|again||0+0|d/a.wav",
				"! d/manifest.jsonl:5: has no field of text: the fields are audio_filepath",
				"! d/manifest.jsonl:6: has no field of sound: the fields are text",
				"! d/manifest.jsonl:7: sound file d/no.wav: there is no such file; names are relative to the manifest",
				"! d/manifest.jsonl:8: sound file d/sub: it is not a regular file",
				`! d/manifest.jsonl:9: field duration: "-1" is not a time in seconds`,
				"! d/manifest.jsonl:10: is no JSON object but an array; want one object a line: jq -c '.[]' arr.json > arr.jsonl",
				"! d/manifest.jsonl:11: holds more than one JSON value",
				"! d/manifest.jsonl:12: field text: want a string",
				"! d/manifest.jsonl:13: is no JSON object: it is cut off",
				"! d/manifest.jsonl:14: not UTF-8",
				"! d/manifest.jsonl:15: line of 1048588 bytes, want at most 1048576",
				"! d/manifest.jsonl:16: field offset without duration",
				"a.wav#4|last||0+0|d/a.wav"},
			"every way a row can be wrong, and the rows after it still come",
		},
		{
			"split",
			[]string{"m.jsonl", `{"audio":"a.wav","text":"x","split":"test"}` + "\n" + `{"audio":"a.wav","text":"y","split":"train"}` + "\n" + `{"audio":"a.wav","text":"z"}`, "a.wav", ""},
			"m.jsonl", Options{Split: "test"},
			[]string{"jsonl: m.jsonl", "a.wav|x||0+0|a.wav"},
			"a manifest may hold all splits",
		},
		{
			"common voice",
			[]string{"test.tsv", "client_id\tpath\tsentence\tlocale\nc1\ta.mp3\tHello \"you\"\ten\nc2\tb.mp3\tshort\nc3\tno.mp3\tgone\ten\n", "clips/a.mp3", "", "clips/b.mp3", ""},
			".", Options{},
			[]string{"tsv: test.tsv", `a.mp3|Hello "you"|en|0+0|clips/a.mp3`, "! test.tsv:3: 3 fields, want 4", "! test.tsv:4: sound file no.mp3: there is no such file; names are relative to the manifest"},
			"quotes are text; audio is in clips",
		},
		{"csv", []string{"m.csv", "path,text,speaker\r\na.wav,\"well, \"\"you\"\"\",s\r\na.wav,\"open\na.wav,x\n", "a.wav", ""}, "m.csv", Options{}, []string{"csv: m.csv", `a.wav|well, "you"||0+0|a.wav`, "! m.csv:3: a quote is not closed, or stands amid a text; put the text in quotes, and write \"\" for a quote in it", "! m.csv:4: 2 fields, want 3"}, "quoted fields"},
		{"tsv columns", []string{"t.tsv", "snd\tsaid\na.wav\tx", "a.wav", ""}, "t.tsv", Options{Audio: "snd", Text: "said"}, []string{"tsv: t.tsv", "a.wav|x||0+0|a.wav"}, "column options"},
		{"tsv header", []string{"t.tsv", "path\twords\na.wav\tx", "a.wav", ""}, "t.tsv", Options{}, []string{"tsv: t.tsv", `! t.tsv: has no field of text: the fields are path, words`}, "a table without text is one error, not one a row"},
		{
			"folder",
			[]string{"b/a.wav", "", "b/a.txt", "\ufeff hello\nworld \n", "b/a.mp3", "", "c.flac", "", "d.wav", "", "d.txt", long + "x", "e.wav", "", "e.txt", "\xff", "README.txt", "x", ".hidden/f.wav", ""},
			".", Options{},
			[]string{"folder: 5 files under ROOT", "b/a.mp3|hello\nworld||0+0|b/a.mp3", "b/a.wav|hello\nworld||0+0|b/a.wav", "! c.flac: has no transcript: want a .txt file of the same name beside it",
				"! d.wav: d.txt: too large: more than 1048576 bytes", "! e.wav: e.txt: not UTF-8"},
			"texts without audio are no rows, audio without text is a broken one",
		},
		{"nothing", []string{"x.txt", "hello"}, ".", Options{}, []string{"open: dataset ROOT: want manifest.jsonl, *.trans.txt, transcripts.txt, text, *.stm, *.parquet, *.jsonl, *.tsv, metadata.csv, *.csv, or sound files with a .txt beside each: found none of them"}, ""},
		{"text file", []string{"x.txt", "hello"}, "x.txt", Options{}, []string{"open: dataset x.txt: want a directory, or a file named as one of manifest.jsonl, *.trans.txt, transcripts.txt, text, *.stm, *.parquet, *.jsonl, *.ndjson, *.json, *.tsv, metadata.csv, *.csv"}, ""},
		{"several", []string{"a.tsv", "", "b.tsv", ""}, ".", Options{}, []string{"open: dataset ROOT: the folder has several manifests: name one of them: a.tsv, b.tsv"}, "guessing would score the wrong split"},
		{"missing", nil, "no", Options{}, []string{"open: dataset no: there is no such file"}, ""},
		{"broken parquet", []string{"x.parquet", "PAR1 not really PAR1"}, ".", Options{}, []string{"parquet: x.parquet", "! x.parquet: "}, "an unreadable file is reported"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := tree(t, tt.files...)
			got := listing(t, root, tt.path, tt.o)
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], root, "ROOT")
				if tt.name == "broken parquet" && i < len(tt.want) && strings.HasPrefix(got[i], tt.want[i]) {
					got[i] = tt.want[i] // the library's words
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.why, diff)
			}
		})
	}
}

// TestPyarrow reads a file written by pyarrow, which is what Hugging Face uses.
func TestPyarrow(t *testing.T) {
	d, err := Open(t.Context(), "testdata/pyarrow.parquet", Options{})
	if err != nil {
		t.Fatal(err)
	}
	var good, broken []string
	for u, err := range d.All(t.Context()) {
		if err != nil {
			broken = append(broken, err.Error())
			continue
		}
		good = append(good, fmt.Sprintf("%s|%s|%g|%s|%q", u.ID, u.Text, u.Duration, u.Audio.Path, u.Audio.Data))
	}
	wantGood := []string{
		`utt-0|text 0 é|0|0.wav|"RIFF\x00"`, `utt-1|text 1 é|0.5|1.wav|"RIFF\x01"`, `utt-2|text 2 é|1|2.wav|"RIFF\x02"`,
		`utt-4|text 4 é|2|4.wav|"RIFF\x04"`, `utt-6|text 6 é|3|6.wav|"RIFF\x06"`, `utt-7|text 7 é|3.5|7.wav|"RIFF\a"`,
	}
	wantBroken := []string{"testdata/pyarrow.parquet:4: names no audio file", "testdata/pyarrow.parquet:6: has no text"}
	if diff := cmp.Diff(wantGood, good) + cmp.Diff(wantBroken, broken); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestParquetColumns reads a file written with other column types and names.
func TestParquetColumns(t *testing.T) {
	type row struct {
		Clip []byte  `parquet:"clip,optional"`
		Said string  `parquet:"said,dict"`
		Take float32 `parquet:"id"`
		Good bool    `parquet:"good"`
	}
	file := filepath.Join(t.TempDir(), "x.parquet")
	rows := []row{{[]byte("abc"), "one", 1.5, true}, {nil, "two", 2, false}, {[]byte{}, "three", 3, true}}
	if err := parquet.WriteFile(file, rows); err != nil {
		t.Fatal(err)
	}
	got := listing(t, filepath.Dir(file), "x.parquet", Options{Audio: "clip", Text: "said"})
	want := []string{"parquet: x.parquet", "1.5|one||0+0|x.parquet:1", "! x.parquet:2: names no audio file", "3|three||0+0|x.parquet:3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	got = listing(t, filepath.Dir(file), "x.parquet", Options{})
	if len(got) != 2 || !strings.Contains(got[1], "no field of sound: the fields are clip, said") {
		t.Errorf("without options: %q, want one error that names the columns", got)
	}
}

// TestEmptyText gives every kind of dataset a text that is blank and, where it can
// have one, a row without any: only that one is broken.
func TestEmptyText(t *testing.T) {
	type row struct {
		Audio []byte  `parquet:"audio"`
		ID    string  `parquet:"id"`
		Text  *string `parquet:"text,optional"`
	}
	blank, spoken := " \t", "x"
	pq := filepath.Join(t.TempDir(), "x.parquet")
	if err := parquet.WriteFile(pq, []row{{[]byte("a"), "blank", &blank}, {[]byte("a"), "none", nil}, {[]byte("a"), "spoken", &spoken}}); err != nil {
		t.Fatal(err)
	}
	inside, err := os.ReadFile(pq)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		format string
		files  []string
		none   bool // one row has no text at all
	}{
		{"jsonl", []string{"m.jsonl", `{"audio":"a.wav","id":"blank","text":" \t"}` + "\n" + `{"audio":"a.wav","id":"none"}` + "\n" + `{"audio":"a.wav","id":"spoken","text":"x"}`, "a.wav", ""}, true},
		{"tsv", []string{"m.tsv", "path\tsentence\tid\na.wav\t  \tblank\na.wav\tx\tspoken\n", "a.wav", ""}, false},
		{"parquet", []string{"x.parquet", string(inside)}, true},
		{"folder", []string{"a.wav", "", "a.txt", "\ufeff \n", "b.wav", "", "c.wav", "", "c.txt", "x"}, true},
		{"librispeech", []string{"a.trans.txt", "blank \nspoken X", "blank.flac", "", "spoken.flac", ""}, false},
	}
	for _, tt := range tests {
		root := tree(t, tt.files...)
		d, err := Open(t.Context(), root, Options{})
		if err != nil || d.Format != tt.format {
			t.Fatal(d, err)
		}
		silent, broken := 0, false
		for u, err := range d.All(t.Context()) {
			if broken = broken || err != nil; err == nil && strings.TrimSpace(u.Text) == "" {
				silent++
			}
		}
		if silent != 1 || broken != tt.none {
			t.Errorf("%s: %d silent rows, broken ones: %v, want 1, %v", tt.format, silent, broken, tt.none)
		}
	}
}

// TestParts checks that a row is a part of its audio if it says where it begins,
// the beginning included, and that parts are named by their place and not by their
// number, which changes when a row between them is mended.
func TestParts(t *testing.T) {
	root := tree(t, "a.wav", "", "m.jsonl", `{"audio_filepath":"a.wav","offset":0.0,"duration":2.5,"text":"x"}
{"audio_filepath":"a.wav","offset":2.5,"duration":1,"text":"y"}
{"audio_filepath":"a.wav","offset":null,"duration":9,"text":"z"}
{"audio_filepath":"a.wav","offset":0,"text":"z"}
{"audio_filepath":"a.wav","id":"own","offset":1,"duration":1,"text":"z"}`)
	d, err := Open(t.Context(), filepath.Join(root, "m.jsonl"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for u, err := range d.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %v %v+%v", u.ID, u.Part, u.Offset, u.Duration))
	}
	want := []string{"a.wav@0+2.5 true 0+2.5", "a.wav@2.5+1 true 2.5+1", "a.wav false 0+9", "a.wav#2 false 0+0", "own true 1+1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestCheckSplit checks that a split that is not there is told from one that is,
// even if all its rows are broken.
func TestCheckSplit(t *testing.T) {
	many := ""
	for i := range 200 {
		many += fmt.Sprintf("a.wav\tx\t%03d\n", i)
	}
	root := tree(t, "a.wav", "",
		"m.jsonl", "{]\n"+`{"audio":"a.wav","text":"x","split":"train"}`+"\n"+`{"audio":"lost.wav","text":"x","split":"test"}`+"\n"+`{"audio":"a.wav","text":"x","split":7}`+"\n"+`{"audio":"a.wav","text":"x"}`,
		"m.tsv", "path\tsentence\tsplit\n"+many, "bare.jsonl", `{"audio":"a.wav","text":"x"}`, "empty.jsonl", "")
	tests := []struct{ file, split, want string }{
		{"m.jsonl", "", ""}, {"m.jsonl", "train", ""}, {"m.jsonl", "test", ""}, {"m.jsonl", "7", ""}, {"m.tsv", "199", ""},
		{"m.jsonl", "nosuch", `no row is of this split: want 7, test or train`},
		{"bare.jsonl", "test", `no row is of this split: none has a field split; leave the split out`},
		{"empty.jsonl", "test", `no row is of this split: none has a field split; leave the split out`},
	}
	for _, tt := range tests {
		d, err := Open(t.Context(), filepath.Join(root, tt.file), Options{Split: tt.split})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := d.CheckSplit(t.Context()); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s, split %q: %q, want %q", tt.file, tt.split, got, tt.want)
		}
	}
	for path, want := range map[string]string{"a/m.jsonl:test": "test", `C:\m.TSV:a:b`: "a:b", `C:\data`: "", "m.jsonl": "", "s3:m.csv:a/b": ""} {
		if file, split := CutSplit(path); split != want || want == "" && file != path {
			t.Errorf("CutSplit(%s) = %s, %s, want the split %q", path, file, split, want)
		}
	}
}

// counts are the rows of a dataset.
type counts struct{ Utterances, Broken int }

func countsOf(ctx context.Context, d *Dataset) (c counts, err error) {
	for _, err := range d.All(ctx) {
		switch {
		case err == nil:
			c.Utterances++
		case errors.As(err, new(*RowError)):
			c.Broken++
		default:
			return c, err
		}
	}
	return c, nil
}

func TestAllStops(t *testing.T) {
	root := tree(t, "m.jsonl", strings.Repeat(`{"audio":"a.wav","text":"x"}`+"\n", 100), "a.wav", "")
	d, err := Open(t.Context(), filepath.Join(root, "m.jsonl"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for range d.All(t.Context()) {
		if n++; n == 3 {
			break
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	n = 0
	for _, err := range d.All(ctx) {
		n, last = n+1, err
		if n == 5 {
			cancel()
		}
	}
	if n != 6 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d steps, last error %v; want 6 and the context's", n, last)
	}
	if _, err := d.Count(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Count after cancel: %v", err)
	}
}

func TestIDsAreUnique(t *testing.T) {
	seen := make(map[string]int)
	var got []string
	for _, id := range []string{"a", "a#2", "a", "a", "b", "a#2"} {
		got = append(got, unique(seen, id))
	}
	if want := []string{"a", "a#2", "a#3", "a#4", "b", "a#2#2"}; !slices.Equal(got, want) {
		t.Errorf("ids %q, want %q", got, want)
	}
}

// TestFooter refuses a footer longer than the file before memory is taken for it.
func TestFooter(t *testing.T) {
	for _, content := range []string{"PAR1\x00\x00\xfe\xf9PAR1", "PAR1\x01\x00\x00\x00PAR1", "PAR1", ""} {
		root := tree(t, "rows", content, "a.wav", "")
		d := &Dataset{Format: "parquet", Root: root, Files: []string{filepath.Join(root, "rows")}}
		var failed []string
		for _, err := range d.All(t.Context()) {
			if err != nil {
				failed = append(failed, err.Error())
			}
		}
		if len(failed) != 1 || !strings.Contains(failed[0], "malformed Parquet file") {
			t.Errorf("%q: errors %q, want one of a malformed file", content, failed)
		}
	}
}

func FuzzManifest(f *testing.F) {
	f.Add("jsonl", []byte(`{"audio_filepath":"a.wav","text":"x","duration":1e400,"offset":"3"}`+"\n{{[[\n\xff"))
	f.Add("tsv", []byte("path\tsentence\na.wav\tx\n\t\n\x00\tx"))
	long := strings.Repeat("a", 1<<15)
	f.Add("tsv", []byte(strings.Repeat("a\t", maxColumns)))
	f.Add("jsonl", []byte(`{"audio":"a.wav","text":"x","duration":"`+long+`"}`))
	f.Add("stm", []byte("a 1 s 0 1 x\n;;\na 1 s NaN 1"))
	f.Add("mls", []byte("a\tx\n1_2_3\ty\n"))
	f.Add("librispeech", []byte("a x\r\n/etc/passwd y\nb"))
	f.Fuzz(func(t *testing.T, kind string, content []byte) {
		if !slices.ContainsFunc(layouts, func(l layout) bool { return l.format == kind }) || kind == "" || kind == "folder" || kind == "parquet" || len(content) > 1<<16 {
			return
		}
		root := tree(t, "rows", string(content), "a.wav", "", "clips/b.wav", "")
		d := &Dataset{Format: kind, Root: root, Files: []string{filepath.Join(root, "rows")}}
		seen := make(map[string]bool)
		for u, err := range d.All(t.Context()) {
			if err != nil {
				if len(err.Error()) > 2000 {
					t.Errorf("an error of %d bytes", len(err.Error()))
				}
				continue
			}
			if seen[u.ID] {
				t.Errorf("two rows are %q", u.ID)
			}
			seen[u.ID] = true
			if !(u.Duration >= 0) || !(u.Offset >= 0) || len(u.Text) > 1<<16 {
				t.Errorf("row out of bounds: %+v", u)
			}
		}
	})
}

// TestDamagedParquet changes single bytes: whatever comes of it, reading ends,
// without a panic, and rows and errors are all there is.
func TestDamagedParquet(t *testing.T) {
	sound, err := os.ReadFile("testdata/pyarrow.parquet")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "x.parquet")
	d := &Dataset{Format: "parquet", Root: filepath.Dir(file), Files: []string{file}}
	step, unreadable := 11, 0
	if testing.Short() {
		step = 41
	}
	for at := 0; at < len(sound); at += step {
		damaged := slices.Clone(sound)
		damaged[at] ^= byte(1 << (at % 8))
		if err := os.WriteFile(file, damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := countsOf(t.Context(), d)
		if err != nil || c.Utterances+c.Broken > 9 {
			t.Errorf("byte %d: %+v, %v", at, c, err)
		}
		if c.Utterances == 0 {
			unreadable++
		}
	}
	t.Logf("%d of %d damaged files had no good row", unreadable, (len(sound)+step-1)/step)
}

// TestInterrupt opens and reads with a context that has ended, and with one that ends
// inside a line that never does: a sparse file of 1 TB.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	row := `{"audio":"a.wav","text":"x","split":"train"}` + "\n"
	for name, text := range map[string]string{"a.wav": "RIFF", "a.txt": "x", "m.jsonl": strings.Repeat(row, 1000), "odd": row} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	endless := filepath.Join(dir, "endless.jsonl")
	if err := os.WriteFile(endless, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(endless, 1<<40); err != nil {
		t.Skip("needs sparse files: ", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, path := range []string{dir, filepath.Join(dir, "odd")} {
		if _, err := Open(over, path, Options{}); err != context.Canceled {
			t.Errorf("Open(%s) after the end of its context: got %v", path, err)
		}
	}
	for _, tt := range []struct {
		path   string
		format string
	}{{filepath.Join(dir, "m.jsonl"), "jsonl"}, {endless, "jsonl"}, {endless, "tsv"}, {endless, "librispeech"}, {filepath.Join(dir, "a.wav"), "folder"}} {
		d := &Dataset{Format: tt.format, Files: []string{tt.path}}
		if tt.format == "jsonl" {
			d.options.Split = "test"
		}
		for name, ctx := range map[string]context.Context{"before": over, "within": &looked{Context: t.Context(), left: 20}} {
			if tt.path != endless && name == "within" {
				continue
			}
			if err := d.CheckSplit(ctx); tt.format == "jsonl" && err != context.Canceled {
				t.Errorf("CheckSplit of %s, interrupted %s: got %v", tt.path, name, err)
			}
			if n, err := d.Count(ctx); err != context.Canceled || n > 0 {
				t.Errorf("Count of %s, interrupted %s: got %d, %v", tt.path, name, n, err)
			}
		}
	}
}

// A looked is a context that ends when it has been looked at so many times.
type looked struct {
	context.Context
	left int
}

func (c *looked) Err() error {
	if c.left--; c.left >= 0 {
		return nil
	}
	return context.Canceled
}

// TestBlankText: a blank text counts only if no other field has the text.
func TestBlankText(t *testing.T) {
	for want, f := range map[string]fields{
		"x": {"raw_text": " ", "normalized_text": "x"}, " ": {"text": " ", "normalized_text": nil},
	} {
		if got, ok, err := f.text(textNames...); got != want || !ok || err != nil {
			t.Errorf("%v: %q, %v, %v, want %q", f, got, ok, err, want)
		}
	}
}

// TestLayouts reads tables as other programs lay them out.
func TestLayouts(t *testing.T) {
	utf16 := "\xff\xfe"
	for _, r := range "audio,text\na.wav,x\n" {
		utf16 += string(r) + "\x00"
	}
	for _, tt := range []struct {
		name  string
		files []string
		path  string
		want  []string // the rows
	}{
		{"FLEURS", []string{"test.tsv", "7\t1.wav\tX.\tx\tx |\t16000\tMALE\n8\t2.wav\tY\n", "test/1.wav", ""}, "test.tsv",
			[]string{"1.wav|x||0+0|test/1.wav", "! test.tsv:2: 3 fields, want 7"}},
		{"LJSpeech", []string{"metadata.csv", "LJ1|\"X, 1|x, \"one\n", "wavs/LJ1.wav", ""}, ".", []string{"LJ1|x, \"one||0+0|wavs/LJ1.wav"}},
		{"LJSpeech without normalized text", []string{"metadata.csv", "LJ1|x\n", "wavs/LJ1.flac", ""}, ".", []string{"LJ1|x||0+0|wavs/LJ1.flac"}},
		{"beside sound", []string{"metadata.csv", "file_name,transcription\na.wav,x\n", "a.wav", ""}, ".", []string{"a.wav|x||0+0|a.wav"}},
		{"semicolons", []string{"m.csv", "audio;text\na.wav;x\n", "a.wav", ""}, "m.csv", []string{"a.wav|x||0+0|a.wav"}},
		{"semicolons, and commas in the text", []string{"m.csv", "audio;text\na.wav;x, y\na.wav;\"x; \"\"y\"\"\"\n", "a.wav", ""}, "m.csv",
			[]string{"a.wav|x, y||0+0|a.wav", `a.wav#2|x; "y"||0+0|a.wav`}},
		{"semicolons without names", []string{"m.csv", "a.wav;x, y\n", "a.wav", ""}, "m.csv", []string{"a.wav|x, y||0+0|a.wav"}},
		{"a text in UTF-16", []string{"a.wav", "", "a.txt", "\xff\xfex\x00"}, ".", []string{"a.wav|x||0+0|a.wav"}},
		{"tables below a directory of sound", []string{"a/b.wav", "", "test/transcripts.txt", "x\ty\n"}, ".",
			[]string{"! a/b.wav: has no transcript: want a .txt file of the same name beside it; or name the manifest test/transcripts.txt, not its folder"}},
		{"UTF-16", []string{"m.csv", utf16, "a.wav", ""}, "m.csv", []string{"a.wav|x||0+0|a.wav"}},
		{"no names", []string{"m.tsv", "a.wav\tx\nb.wav\ty\n", "b.wav", ""}, "m.tsv",
			[]string{"! m.tsv:1: sound file a.wav: there is no such file; names are relative to the manifest", "b.wav|y||0+0|b.wav"}},
		{"no names, three columns", []string{"m.csv", "a.wav,1.5,x\n", "a.wav", ""}, "m.csv",
			[]string{`! m.csv: its first line names no columns: want a line such as audio,text before "a.wav,1.5,x"`}},
		{"another CSV file beside sound", []string{"m.csv", "audio,text\na.wav,x\n", "a.wav", ""}, ".",
			[]string{"! a.wav: has no transcript: want a .txt file of the same name beside it; or name the manifest m.csv, not its folder"}},
		{"MLS", []string{"transcripts.txt", "4_5_0\tx\n4_5_1\ty\n4\tz\n", "audio/4/5/4_5_0.flac", "", "audio/4/5/4_5_1.opus", ""}, ".",
			[]string{"4_5_0|x||0+0|audio/4/5/4_5_0.flac", "4_5_1|y||0+0|audio/4/5/4_5_1.opus",
				"! transcripts.txt:3: sound file audio/4/4.flac: there is no such file; names are relative to the manifest"}},
		{"Kaldi", []string{"data/dev/text", "u1 x  y\nu2\nu3 z\nu4 z\n", "data/dev/wav.scp", "u1 a.wav\nu2\twav/b.wav\nu3 sox c.wav -t wav - |\n",
			"data/dev/a.wav", "", "wav/b.wav", ""}, "data/dev",
			[]string{"u1|x  y||0+0|data/dev/a.wav", "u2|||0+0|wav/b.wav",
				`! data/dev/text:3: wav.scp has a command for u3, and none is run; for sound files: while read -r id c; do sh -c "${c%|}" </dev/null >$id.wav; done <wav.scp`,
				"! data/dev/text:4: wav.scp has no line of u4"}},
		{"Kaldi with segments", []string{"text", "u1 x\nu2 y\n", "segments", "u1 r 0.5 1.6\nu2 r 3 2\n", "wav.scp", "r a.wav\n", "a.wav", ""}, "text",
			[]string{"u1|x||0.5+1.1|a.wav", "! text:2: end 2 is not after start 3"}},
		{"Kaldi without sound", []string{"text", "u1 x\n"}, ".", []string{"! text: wav.scp: there is no such file"}},
		{"STM", []string{"stm/a.stm", ";; made by hand\na 1 s 0 1.5 <o,f0> x {uh / @} y\na A s 2 3\na B s 2 3 z\na 1 s 3 4 ignore_time_segment_in_scoring\n", "sph/a.sph", ""}, ".",
			[]string{"a@0+1.5|x uh y||0+1.5|sph/a.sph", "a@2+1|||2+1|sph/a.sph", "! stm/a.stm:4: channel B: want 1 or A, since the channels of a file are mixed; give each a file of its own"}},
		{"packed", []string{"m.jsonl.gz", ""}, "m.jsonl.gz", []string{"open: dataset m.jsonl.gz: unpack it first, as with tar -xf FILE, gunzip FILE or unzip FILE"}},
	} {
		root := tree(t, tt.files...)
		got := listing(t, root, tt.path, Options{})
		if diff := cmp.Diff(tt.want, got[max(0, len(got)-len(tt.want)):]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestSpeaker: what is joined to a row may group it.
func TestSpeaker(t *testing.T) {
	root := tree(t, "text", "u x\n", "wav.scp", "u a.wav\n", "utt2spk", "u Ann\n", "a.wav", "")
	d, err := Open(t.Context(), root, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for u, err := range d.All(t.Context()) {
		if err != nil || u.Fields["speaker"] != "Ann" {
			t.Errorf("speaker %q, %v, want Ann", u.Fields["speaker"], err)
		}
	}
}

// TestDocument: a row of EVALUATION.md has the files of a layout, and where their sound is.
func TestDocument(t *testing.T) {
	document, err := os.ReadFile("../docs/EVALUATION.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layouts {
		_, row, _ := strings.Cut(string(document), "\n| "+l.format+" |")
		row, _, _ = strings.Cut(row, "\n")
		want := strings.Fields(l.files)
		for _, table := range l.tables {
			want = append(want, strings.Fields(table.sounds)...)
		}
		for _, w := range want {
			if l.advice == "" && !strings.Contains(row, "`"+w+"`") {
				t.Errorf("the row %s of EVALUATION.md lacks `%s`", l.format, w)
			}
		}
	}
}

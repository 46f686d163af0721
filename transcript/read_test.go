package transcript

import (
	"bytes"
	"math"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// TestReadWhatIsWritten reads what Write writes, or names the formats that are read.
func TestReadWhatIsWritten(t *testing.T) {
	tr := &Transcript{Text: " Good morning, <|endoftext|> all. Two\tof you & me.", Language: "en", Segments: []Segment{
		{Start: 0, End: 2.5, Text: " Good morning, <|endoftext|> all."}, {Start: 3, End: 3661.25, Text: " Two\tof you & me."}}}
	want := []Cue{{0, 2.5, "Good morning, <|endoftext|> all.", ""}, {3, 3661.25, "Two of you & me.", ""}}
	for _, f := range Formats() {
		var b bytes.Buffer
		if err := Write(&b, f, tr); err != nil {
			t.Fatal(err)
		}
		got, err := Read("talk."+string(f), b.Bytes())
		switch f {
		case TXT:
			if joined := []Cue{{0, 0, want[0].Text + " " + want[1].Text, ""}}; err != nil || !reflect.DeepEqual(got, joined) {
				t.Errorf("%s: got %+v, error %v, want %+v", f, got, err, joined)
			}
		case SRT, VTT, JSON:
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %+v, error %v, want %+v", f, got, err, want)
			}
		default:
			if err == nil || !strings.HasPrefix(err.Error(), "talk."+string(f)+": is ") {
				t.Errorf("%s: got %v, error %v", f, got, err)
			}
		}
	}
}

// TestOpen: subtitles are fixed segments; words of JSON go to the segments that have them in their text, whatever their times.
func TestOpen(t *testing.T) {
	word := func(text string, start, end float64) Word {
		return Word{Word: text, Start: start, End: end, Probability: 0.5}
	}
	for _, test := range []struct {
		name, text string
		want       []Segment
	}{
		{"a.srt", "2\n00:00:03,000 --> 00:00:04,000\nNo.\n\n1\n00:00:01,000 --> 00:00:02,500\nAnn: Ask\nnot.\n",
			[]Segment{{Start: 1, End: 2.5, Text: "Ann: Ask\nnot.", Fixed: true}, {Start: 3, End: 4, Text: "No.", Fixed: true}}},
		{"a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.500\n<v.loud Ann &amp; Bo>Ask\nnot.</v>\n",
			[]Segment{{Start: 1, End: 2.5, Text: "Ask\nnot.", Speaker: "Ann & Bo", Fixed: true}}},
		{"whisper.json", `{"language": "en", "segments": [{"start": 1, "end": 2, "text": " Ask not.", "words": [{"word": " Ask", "start": 1, "end": 1.5, "probability": 0.5}, {"word": " not.", "start": 1.5, "end": 2, "probability": 0.5}]}]}`,
			[]Segment{{Start: 1, End: 2, Text: "Ask not.", Words: []Word{word(" Ask", 1, 1.5), word(" not.", 1.5, 2)}}}},
		{"moved.json", `{"segments": [{"start": 7, "end": 8, "text": "Ask not.", "speaker": "Ann", "fixed": true}, {"start": 8, "end": 9, "text": "Well, not."}, {"start": 9, "end": 9, "text": "“No” – no."}, {"start": 9, "end": 10, "text": "?"}], "words": [` +
			`{"word": "Ask", "start": 1, "end": 2, "probability": 0.5}, {"word": "not", "start": 2, "end": 3, "probability": 0.5}, {"word": "What", "start": 3, "end": 3, "probability": 0.5},` +
			`{"word": "No", "start": 3, "end": 4, "probability": 0.5}, {"word": "no", "start": 4, "end": 5, "probability": 0.5}]}`,
			[]Segment{{Start: 7, End: 8, Text: "Ask not.", Speaker: "Ann", Fixed: true, Words: []Word{word("Ask", 1, 2), word("not", 2, 3)}}, {Start: 8, End: 9, Text: "Well, not."},
				{Start: 9, End: 9, Text: "“No” – no.", Words: []Word{word("No", 3, 4), word("no", 4, 5)}}, {Start: 9, End: 10, Text: "?"}}},
		{"odd.json", `{"segments": [{"id": "x", "start": 1, "end": 2, "text": "In 42 days", "words": [{"word": "In", "start": 1, "end": 1.2}, {"word": "42"}, {"word": "days", "start": 1.5, "end": 2}]}, {"start": 5, "end": 4, "text": "so"}]}`,
			[]Segment{{Start: 1, End: 2, Text: "In 42 days"}, {Start: 2, End: 2, Text: "so"}}},
		{"cpp.json", `{"transcription":[{"offsets":{"from":0,"to":2000},"text":" And so"}]}`, []Segment{{End: 2, Text: "And so"}}},
	} {
		got, _, err := Open(test.name, []byte(test.text))
		if err != nil || !reflect.DeepEqual(got.Segments, test.want) || got.Duration != test.want[len(test.want)-1].End {
			t.Errorf("%s: error %v, got %+v, want %+v", test.name, err, got, test.want)
		}
	}
	for _, name := range []string{"a.txt", "a.json", "a.vtt"} {
		if _, _, err := Open(name, []byte(`{"text": "No times."}`)); err == nil || !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("%s: error %v, want one that names the file", name, err)
		}
	}
}

// TestOpenSaysWhatIsLost: nobody loses a subtitle without a word.
func TestOpenSaysWhatIsLost(t *testing.T) {
	const good = "00:00:01,000 --> 00:00:02,000\nA 5 -> 6.\n\n"
	for _, test := range []struct{ name, text, want string }{
		{"good.srt", good + "2\n00:00:03,000 --> 00:00:04,000\n--> no\n", "Left out, as the time cannot be read: line 6."},
		{"bad.srt", good + "2\r\n00:00:0x,000 --> 00:00:04,000\r\nlost\r\n\r\n00:00:05,000 -> 00:00:06,000\nlost\n\n00:00:07 --> 00:00:08\nlost\n",
			"Left out, as the time cannot be read: lines 5, 8 and 11."},
		{"many.srt", good + strings.Repeat("OO:01 --> 00:02\n--> \n", 5), "Left out, as the time cannot be read: lines 4, 5, 6, 7, 8, 9 and 4 more."},
		{"back.srt", good + "00:00:09,000 --> 00:00:03,000\n<i>moved</i>\n",
			"Moved to the end of the one before, as it ends before it starts: line 4. Styles and positions are left out."},
		{"a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>kept\n\n00:03,000 --> 00:04,000\nlost\n", "Left out, as the time cannot be read: line 6."},
		{"a.json", `{"segments": [{"start": 1, "end": 2, "text": "In 42 days", "words": [{"word": "In", "start": 1, "end": 1.2}]}, {"start": 5, "end": 4, "text": "so"}]}`,
			"Segments without times: 1. They stand at the end of the one before. Segments whose words do not fit their text: 1. Their times are estimated."},
		{"whole.srt", good, ""},
	} {
		_, lost, err := Open(test.name, []byte(test.text))
		if got := strings.Join(lost, " "); err != nil || got != test.want {
			t.Errorf("%s: got %q, %v, want %q", test.name, got, err, test.want)
		}
	}
}

func TestRead(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []Cue
	}{
		{"empty", "", nil},
		{"binary", "\x00\x01\xff\xfe a\x07b \xc3", []Cue{{0, 0, "a b", ""}}},
		{"whisper.cpp.json", `{"result":{"language":"en"},"transcription":[{"timestamps":{"from":"00:00:00,000","to":"00:00:02,000"},"offsets":{"from":0,"to":2000},"text":" And so"}]}`,
			[]Cue{{0, 2, "And so", ""}}},
		{"api.json", `{"text":"And so"}`, []Cue{{0, 0, "And so", ""}}},
		{"no.json.txt", `{"text":`, []Cue{{0, 0, `{"text":`, ""}}},
		{"youtube.vtt", "WEBVTT\nKind: captions\n\nSTYLE\n::cue {}\n\n1\n00:01.000 --> 00:02.000 align:start\n<c>And</c><00:01.500> so &amp; on\nmore\n\nNOTE no\n",
			[]Cue{{1, 2, "And so & on more", ""}}},
		{"film.srt", "\ufeff1\r\n00:00:01,000 --> 00:00:02,000\r\n{\\an8}<i>And so</i>\r\n\r\n2\r\n00:00:09,000 --> 00:00:03,000\r\nbackwards\r\n",
			[]Cue{{1, 2, "And so", ""}, {0, 0, "backwards", ""}}},
		{"talk.txt", "start, and so on", []Cue{{0, 0, "start, and so on", ""}}},
		{"malformed.vtt", "WEBVTT\n00:01.000 --> 00:02.000\na\n-->\n0:00:03.000-->0:00:04.000 x\nb < c\n<i>d\n\n" +
			"00:60:00.000 --> 00:61:00.000\nno\n\n00:5.000 --> 00:06.000\nno\n\nname\n00:07.000 --> 00:08.000\n<\nno>e&gt;\x00\n",
			[]Cue{{1, 2, "a", ""}, {3, 4, "b d", ""}, {7, 8, "e>\ufffd", ""}}},
		{"commas.vtt", "WEBVTT\n\n00:01,000 --> 00:02,000\na\n", nil},
		{"header.vtt", "WEBVTT 00:01.000 --> 00:02.000\na\n", nil},
		{"cut.vtt", "WEBVTT\n\n00:01.000 -->", nil},
		{"empty.txt", "WEBVTT\n\n", nil},
		{"format.txt", "WEBVTT is a format", []Cue{{0, 0, "WEBVTT is a format", ""}}},
		{"number.txt", "[12]", []Cue{{0, 0, "[12]", ""}}},
		{"python.json", `{"segments":[{"start":0,"end":2,"text":"And so","avg_logprob": NaN,"compression_ratio":-Infinity}]}`, []Cue{{0, 2, "And so", ""}}},
		{"silence.json", `{"text":"","segments":[]}`, nil},
	} {
		got, err := Read(test.name, []byte(test.text))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if len(got)+len(test.want) > 0 && !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
	}
	for name, raw := range map[string][]byte{"broken.json": []byte(`{"segments":[`), "odd.json": []byte(`{"segments":7}`), "huge.txt": make([]byte, MaxText+1)} {
		if _, err := Read(name, raw); err == nil || !strings.HasPrefix(err.Error(), name+":") {
			t.Errorf("%s: got %v, want an error with the name", name, err)
		}
	}
}

// TestReadOnce: what a text costs grows with its length alone, however it is cut into lines. A
// subtitle of 800 kB in short lines took minutes.
func TestReadOnce(t *testing.T) {
	// Package regexp keeps what it allocates in pools, one for each processor, which a garbage collection empties.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for name, of := range map[string]func(times int) string{
		"cue.srt":         func(n int) string { return "1\n00:00:00,000 --> 00:00:02,000\n" + strings.Repeat("a\n", n) },
		"cues.vtt":        func(n int) string { return "WEBVTT\n\n" + strings.Repeat("00:01.000 --> 00:02.000\n", n) },
		"tags.vtt":        func(n int) string { return "WEBVTT\n\n00:01.000 --> 00:02.000\n" + strings.Repeat("<a", n) },
		"entities.srt":    func(n int) string { return "00:00:00,000 --> 00:00:02,000\n" + strings.Repeat("&a", n) },
		"segments.json":   func(n int) string { return `{"segments":[` + strings.Repeat(`{"text":"a"},`, n) + `{}]}` },
		"text.txt":        func(n int) string { return strings.Repeat("a\n", n) },
		"spaces.srt":      func(n int) string { return strings.Repeat(" \n", n) + "00:00:00,000 -->" },
		"infinities.json": func(n int) string { return `{"x":[` + strings.Repeat(`{"a": NaN},`, n) + `{}]}` },
	} {
		cost := func(n int) int64 { // the less of two: the pools are empty at first
			raw, least := []byte(of(n)), int64(math.MaxInt64)
			for range 2 {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				if _, err := Read(name, raw); err != nil {
					t.Fatal(err)
				}
				runtime.ReadMemStats(&after)
				least = min(least, int64(after.TotalAlloc-before.TotalAlloc))
			}
			return least
		}
		if one, eight := cost(2_000), cost(16_000); eight > 14*one {
			t.Errorf("%s: eight times the text takes %d bytes, not %d", name, eight, 8*one)
		}
	}
}

// FuzzRead reads anything: what comes out is text in one line, with times of a clip.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"", "1\n00:00:01,000 --> 00:00:02,000\nAnd", "WEBVTT\n\n00:01.000 --> 00:02.000\n<i>a", "start\tend\ttext\n1\t2\t\"",
		"start,end,text\n1,2,\"x", "[00:01.00]a", `{"segments":[{"start":1e300,"end":-1,"text":"\u0000"}]}`, "\xff\x00"} {
		f.Add("x.json", []byte(s))
		f.Add("x", []byte(s))
	}
	f.Fuzz(func(t *testing.T, name string, raw []byte) {
		lines, err := Read(name, raw)
		if err != nil && len(lines) > 0 {
			t.Fatal("both lines and an error")
		}
		for _, l := range lines {
			if l.Text != oneLine(l.Text) || l.Text == "" || !(l.Start >= 0 && l.End >= l.Start) {
				t.Fatalf("got %+v", l)
			}
		}
	})
}

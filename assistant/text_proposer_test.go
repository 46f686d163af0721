package assistant

import (
	"slices"
	"strings"
	"testing"

	"verity/precision"
	"verity/tokenizer"
	"verity/transcript"
)

func embedded(t testing.TB) *tokenizer.Tokenizer {
	tok, err := tokenizer.Embedded(51865)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// follow plays rounds whose output is tokens, with drafts of n tokens. It returns the number of
// rounds and the longest run of rounds without an accepted draft.
func follow(t testing.TB, p *TextProposer, said []Token, n int) (rounds, dry int) {
	tok, since := p.reference.tok, 0
	for at := 0; at < len(said); rounds++ {
		draft, err := p.Propose(t.Context(), nil, n)
		if err != nil || len(draft) > n {
			t.Fatalf("got a draft of %d tokens, want at most %d; %v", len(draft), n, err)
		}
		for _, d := range draft {
			if !tok.IsText(d) && !tok.IsTimestamp(d) && d != tok.EOT {
				t.Fatalf("drafted %d, which is no text", d)
			}
		}
		same := 0
		for same < len(draft) && at+same < len(said) && draft[same] == said[at+same] {
			same++
		}
		if since++; same > 0 {
			since = 0
		}
		dry = max(dry, since)
		kept := said[at:min(len(said), at+same+1)]
		p.Commit(kept)
		at += len(kept)
	}
	return rounds, dry
}

// TestFollow follows output that differs from the text in every way that a transcript can, and
// allows a few rounds for each difference.
func TestFollow(t *testing.T) {
	tok := embedded(t)
	const text = "The commons despaired of the king's consent to their bill. They named lieutenants for all the counties, " +
		"and conferred on them the military power. The navy was numberless in those days, and so were the forts of the kingdom."
	for _, test := range []struct {
		what, text, said string
		rounds           int
	}{
		{"the same", text, text, 4},
		{"substitution", text, strings.Replace(text, "lieutenants", "deputies", 1), 6},
		{"insertion", text, strings.Replace(text, "named", "named, as they were used to,", 1), 12},
		{"deletion", text, strings.Replace(text, "for all the counties, ", "", 1), 6},
		{"a skipped sentence", text, text[:59] + text[strings.Index(text, "The navy")-1:], 7},
		{"a repeated phrase", text, strings.Replace(text, "the military power", "the military power, and conferred on them the military power", 1), 9},
		{"another division of a word", strings.Replace(text, "numberless", "number less", 1), text, 6},
		{"upper case without marks", strings.ToUpper(strings.NewReplacer(".", "", ",", "").Replace(text)), text, 9},
		{"a beginning that was not said", "Hello and welcome to the show, dear friends of history, today we read on. " + text, text, 9},
		{"a text that goes round and round", text, text + strings.Repeat(" And the wind blew.", 30), 28},
		{"Chinese", "今天天气很好,我们去公园散步。", "今天天气很好,我们去公园跑步。", 4},
	} {
		p := NewReferenceText(tok, []transcript.Cue{{Text: test.text}}).NewProposer()
		p.Begin(TextWindow{End: 30, Clip: 30})
		rounds, _ := follow(t, p, append(tok.Encode(withLeadingSpace(test.said)), tok.EOT), 16)
		if rounds > test.rounds {
			t.Errorf("%s: %d rounds, want at most %d", test.what, rounds, test.rounds)
		}
		_, lost, found := p.Counts()
		if n := lost - len(found); n < 0 || n > 1 || !slices.IsSorted(found) {
			t.Errorf("%s: lost %d times, found again at %d", test.what, lost, found)
		}
		if test.what == "insertion" && (len(found) != 1 || !strings.Contains(tok.Decode(tok.Encode(withLeadingSpace(test.said))[found[0]:]), "ants for all")) {
			t.Errorf("%s: found again at %d, want behind what is inserted", test.what, found)
		}
	}
}

// TestFollowTimes drafts timestamps and the end from the times of lines, window by window.
func TestFollowTimes(t *testing.T) {
	tok := embedded(t)
	stamp := func(s float64) Token { return tok.TimestampBegin + Token(s*50+0.5) }
	lines := []transcript.Cue{}
	for _, l := range []struct {
		from, to float64
		text     string
	}{{0, 4, "One two three."}, {4, 9.5, "Four five."}, {31, 33, "Six seven."}, {70, 72, "Eight."}} {
		lines = append(lines, transcript.Cue{Start: l.from, End: l.to, Text: l.text})
	}
	p := NewReferenceText(tok, lines).NewProposer()
	for _, w := range []struct {
		start float64
		said  []Token
		most  int
	}{
		{0, append(append(append([]Token{stamp(0)}, tok.Encode(" One two three.")...), append([]Token{stamp(4), stamp(4)}, tok.Encode(" Four five.")...)...), stamp(9.5), tok.EOT), 2},
		{30, append(append([]Token{stamp(1)}, tok.Encode(" Six seven.")...), stamp(3)), 2},
		{60, append(append([]Token{stamp(0)}, tok.Encode(" Eight.")...), stamp(12), tok.EOT), 2},
	} {
		p.Begin(TextWindow{Start: w.start, End: w.start + 30, Clip: 90, Timestamps: true})
		if rounds, _ := follow(t, p, w.said, 24); rounds > w.most {
			t.Errorf("window at %v s: %d rounds, want at most %d", w.start, rounds, w.most)
		}
	}
}

// TestFollowLong continues in a text without times from window to window, and finds the place of
// a chunk that begins in the middle of it.
func TestFollowLong(t *testing.T) {
	tok := embedded(t)
	var b strings.Builder
	for i := range 4000 {
		b.WriteString(" " + string(rune('a'+i%23)) + strings.Repeat(string(rune('a'+i*i%19)), 1+i%4) + "ing")
	}
	text := b.String()
	whole := NewReferenceText(tok, []transcript.Cue{{Text: text[1:]}})
	p := whole.NewProposer()
	for i := range 20 {
		from, to := i*len(text)/20, (i+1)*len(text)/20
		p.Begin(TextWindow{Start: 30 * float64(i), End: 30 * float64(i+1), Clip: 600, Before: text[max(0, from-80):from]})
		said := tok.Encode(text[from:to])
		if rounds, _ := follow(t, p, said, 8); rounds > len(said)/7+3 {
			t.Errorf("window %d: %d rounds for %d tokens", i, rounds, len(said))
		}
	}
	p = whole.NewProposer()
	p.Begin(TextWindow{Start: 300, End: 330, Clip: 600})
	said := tok.Encode(text[len(text)/2+900 : len(text)/2+1900])
	if rounds, _ := follow(t, p, said, 8); rounds > len(said)/7+25 {
		t.Errorf("a chunk: %d rounds for %d tokens", rounds, len(said))
	}
}

// TestFollowOther checks that little is drafted from the text of another clip.
func TestFollowOther(t *testing.T) {
	tok := embedded(t)
	p := NewReferenceText(tok, []transcript.Cue{{Text: strings.Repeat("The quick brown fox jumps over the lazy dog. ", 40)}}).NewProposer()
	p.Begin(TextWindow{End: 30, Clip: 30})
	said := tok.Encode(" Every measure pursued by the commons, and still more every attempt made by their partisans, were full of the most inveterate hatred against the hierarchy, and showed a determined resolution of subverting the whole ecclesiastical establishment.")
	drafts := 0
	for i := range said {
		draft, _ := p.Propose(t.Context(), nil, 8)
		if len(draft) > 0 {
			drafts++
		}
		p.Commit(said[i : i+1])
	}
	if drafts > 5 {
		t.Errorf("%d drafts for %d tokens of another text", drafts, len(said))
	}
}

// TestFollowCapitals checks that letters whose other case has more or fewer bytes move no line.
func TestFollowCapitals(t *testing.T) {
	tok := embedded(t)
	const text = "İSTANBUL ẞẞẞẞ IST WEIT ȺȺȺȺ VON HIER UND NICHT VON DORT."
	for _, timed := range []bool{false, true} {
		lines := []transcript.Cue{{Text: text}, {Text: "İİİİİİİİ ES WAR EINMAL EIN KÖNIG"}}
		if timed {
			lines[0].End, lines[1].Start, lines[1].End = 5, 5, 10
		}
		p := NewReferenceText(tok, lines).NewProposer()
		p.Begin(TextWindow{End: 30, Clip: 30, Before: "今天。"})
		said := tok.Encode(" " + strings.ToLower(text) + " es war einmal ein könig")
		if rounds, _ := follow(t, p, said, 8); rounds > len(said)/2 {
			t.Errorf("timed %v: %d rounds for %d tokens", timed, rounds, len(said))
		}
	}
}

// FuzzFollow uses any text and any output. A network's choices are the same bits with drafts from
// the text, or from its own output mixed into it, as without drafts.
func FuzzFollow(f *testing.F) {
	tok, r := embedded(f), newRig(f, "odd", 1, precision.F16)
	plain, _, _ := r.run(f, None{}, Constant(0), 0)
	var words []Token
	for _, c := range plain {
		words = append(words, c.Token)
	}
	truth := r.tok.Decode(words)
	f.Add("And so my fellow Americans", " and so, my fellow <|endoftext|>", 0.0, 4.0, true)
	f.Add("\xff\xfe\x00 ...", "今天", 29.0, 1e9, true)
	f.Add("İSTANBUL ẞẞẞẞ IST WEIT", " istanbul ist weit", 0.0, 0.0, false)
	f.Add(strings.Repeat("one ", 3000), "one one two", -1.0, 0.0, false)
	f.Fuzz(func(t *testing.T, text, said string, from, to float64, timed bool) {
		lines := []transcript.Cue{{Text: text, Start: from, End: to}, {Text: said + text, Start: to, End: from}}
		whole := NewReferenceText(tok, lines)
		if whole == nil {
			return
		}
		p := whole.NewProposer()
		for i := range 3 {
			p.Begin(TextWindow{Start: float64(20 * i), End: float64(20*i + 30), Clip: 70, Before: said, Timestamps: timed})
			list := tok.Encode(said)
			if len(list) > 60 {
				list = list[:60]
			}
			list = append([]Token{tok.TimestampBegin}, list...)
			follow(t, p, append(list, tok.TimestampBegin+Token(len(said)%1500), tok.EOT), 1+len(text)%24)
		}

		cut := len(text) % (len(truth) + 1)
		lines[0].Text, lines[1].Text = truth[:cut], text+truth[cut:]
		if whole = NewReferenceText(r.tok, lines); whole == nil {
			return
		}
		p = whole.NewProposer()
		p.Begin(TextWindow{End: 30, Clip: 30, Timestamps: true})
		s, err := r.d.NewSession(r.cross, r.options(0))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		policy := Constant(1 + len(said)%24)
		g, err := Generate(t.Context(), s, p, Options{EOT: r.tok.EOT, Limit: min(24, s.Limit()), Policy: policy})
		if err != nil || g.ProposerErr != nil {
			t.Fatal(err, g.ProposerErr)
		}
		if !slices.EqualFunc(g.Choices, plain, sameBits) {
			t.Errorf("with drafts of %+v: %v, want %v", lines, g.Choices, plain)
		}
	})
}

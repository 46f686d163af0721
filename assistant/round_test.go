package assistant

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"verity/decoder"
)

const eot = 0

// A script replaces the decoder: its choice is a hash of all tokens before it.
type script struct {
	seed      Token
	kind      int // what the verifier is like: see next
	committed []Token
}

// A scripted replaces the assistant: it reads its drafts from fuzz input.
type scripted struct {
	script
	drafts []byte
	same   bool // drafts are the verifier's own choices
}

// next is a pure function of the tokens before it, so the fake cannot agree with
// plain decoding by counting steps.
func (s *script) next(prefix []Token) Token {
	h := s.seed
	for _, t := range prefix {
		h = (h*31 + t + 7) % 9973
	}
	switch s.kind % 5 {
	case 1: // always ends at once
		return eot
	case 2: // never ends
		return 1 + h%3
	case 3: // always one timestamp
		return 7
	case 4: // ever lower timestamps, then the end
		return max(0, 9-Token(len(prefix)))
	}
	if h%29 == 0 {
		return eot
	}
	return 1 + h%3
}

func (s *script) Choose(_ context.Context, draft []Token) ([]decoder.Choice, error) {
	var out []decoder.Choice
	for i := range len(draft) + 1 {
		seen := append(slices.Clone(s.committed), draft[:i]...)
		t := s.next(seen)
		out = append(out, decoder.Choice{Token: t, LogProb: -float32(t) - float32(len(seen))/8})
	}
	return out, nil
}

// End says so in advance for every other seed.
func (s *script) End() (decoder.Choice, bool) {
	t := s.next(s.committed)
	return decoder.Choice{Token: t, LogProb: -float32(t) - float32(len(s.committed))/8}, t == eot && s.seed%2 == 1
}

func (s *scripted) Propose(_ context.Context, dst []Token, limit int) ([]Token, error) {
	if s.same {
		for range min(limit, 4) {
			dst = append(dst, s.next(append(slices.Clone(s.committed), dst...)))
		}
		return dst, nil
	}
	if len(s.drafts) == 0 {
		return dst, nil
	}
	n := min(limit, int(s.drafts[0]%9), len(s.drafts)-1)
	for _, b := range s.drafts[1 : 1+n] {
		dst = append(dst, Token(b%10))
	}
	s.drafts = s.drafts[1+n:]
	return dst, nil
}

func (s *script) Commit(kept []Token) error {
	s.committed = append(s.committed, kept...)
	return nil
}

func (s *scripted) Commit(kept []Token) { s.script.Commit(kept) }

// plain returns the result of a decoder without an assistant, by a textbook loop that
// uses nothing of this package.
func (s *script) plain(limit int) (out []decoder.Choice) {
	var seen []Token
	for len(out) < limit {
		t := s.next(seen)
		out = append(out, decoder.Choice{Token: t, LogProb: -float32(t) - float32(len(seen))/8})
		if t == eot {
			break
		}
		seen = append(seen, t)
	}
	return out
}

// FuzzRounds tests the guarantee of the package: drafts never change the text, its
// scores, or what the caches hold.
func FuzzRounds(f *testing.F) {
	for kind := range uint8(5) {
		f.Add(uint16(1), kind, []byte{}, uint8(40), false)
		f.Add(uint16(2), kind, []byte{3, 1, 2, 1, 8, 1, 1, 2, 2, 3, 3, 0, 7}, uint8(40), false)
		f.Add(uint16(3), kind, []byte{1, 0, 1, 7, 2, 7, 7, 3, 9, 8, 7}, uint8(12), false)
		f.Add(uint16(5), kind, []byte{}, uint8(23), true)
		f.Add(uint16(29), kind, []byte{3, 0, 0, 0}, uint8(1), false)
		f.Add(uint16(29), kind, []byte{}, uint8(0), true)
	}
	f.Fuzz(func(t *testing.T, seed uint16, kind uint8, drafts []byte, limit uint8, same bool) {
		v := &script{seed: Token(seed), kind: int(kind)}
		p := &scripted{script{seed: Token(seed), kind: int(kind)}, drafts, same}
		r, err := Generate(t.Context(), v, p, Options{EOT: eot, Limit: int(limit)})
		if err != nil {
			t.Fatal(err)
		}
		got := r.Choices
		if want := v.plain(int(limit)); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v as plain decoding", got, want)
		}
		text := tokensOf(got)
		if !slices.Equal(v.committed, text) || !slices.Equal(p.committed, text) {
			t.Errorf("caches: decoder %v, proposer %v, want %v", v.committed, p.committed, text)
		}
	})
}

// TestEnd: an end that is certain needs no round of its own, unless the limit comes first.
func TestEnd(t *testing.T) {
	const kind = 4 // 9, 8, … 1, then the end
	for limit, want := range map[int]int{20: 9, 10: 9, 9: 9, 3: 3} {
		for seed, rounds := range map[Token]int{1: want, 2: min(10, limit)} {
			r, err := Generate(t.Context(), &script{kind: kind, seed: seed}, None{}, Options{EOT: eot, Limit: limit})
			if d := r.Stats.Drafts; err != nil || d.Rounds != rounds || d.Tokens != min(10, limit) || len(r.Marks) != d.Tokens {
				t.Errorf("seed %d, limit %d: got %d rounds, %d tokens, %v, want %d rounds", seed, limit, d.Rounds, d.Tokens, err, rounds)
			}
		}
	}
}

// tokensOf returns the tokens of choices without a final end-of-text.
func tokensOf(choices []decoder.Choice) []Token {
	var out []Token
	for _, c := range choices {
		if c.Token != eot {
			out = append(out, c.Token)
		}
	}
	return out
}

// tooLong drafts one token more than allowed.
type tooLong struct{ None }

func (tooLong) Propose(_ context.Context, dst []Token, limit int) ([]Token, error) {
	return append(dst, make([]Token, limit+1)...), nil
}

func TestDraftTooLong(t *testing.T) {
	if _, err := Generate(t.Context(), &script{kind: 2}, tooLong{}, Options{EOT: eot, Limit: 5}); err == nil {
		t.Error("a draft past the limit was taken")
	}
}

// Identical drafts must all be accepted: five choices a round.
func TestRoundsSaved(t *testing.T) {
	v := &script{seed: 2, kind: 2}
	rounds := 0
	g, err := Generate(t.Context(), v, &scripted{script: *v, same: true}, Options{EOT: eot, Limit: 20, Progress: func(int) { rounds++ }})
	if err != nil {
		t.Fatal(err)
	}
	if rounds != 4 || len(g.Choices) != 20 {
		t.Errorf("%d choices in %d rounds, want 20 in 4", len(g.Choices), rounds)
	}
}

// TestStop checks that Stop ends a sequence at the same choice with and without drafts.
func TestStop(t *testing.T) {
	for n := range 9 {
		for _, same := range []bool{false, true} {
			v, p, seen := &script{seed: 2, kind: 2}, &scripted{script: script{seed: 2, kind: 2}, same: same}, 0
			r, err := Generate(t.Context(), v, p, Options{EOT: eot, Limit: 40, Stop: func(decoder.Choice) bool { seen++; return seen == n+1 }})
			if err != nil {
				t.Fatal(err)
			}
			if want := v.plain(n + 1); !slices.Equal(r.Choices, want) || !slices.Equal(v.committed, tokensOf(want)) || !slices.Equal(p.committed, tokensOf(want)) {
				t.Errorf("drafts %v: got %v, decoder %v, proposer %v, want %v", same, r.Choices, v.committed, p.committed, want)
			}
		}
	}
}

// TestAccepted checks that only drafts were accepted, not the choice after them.
func TestAccepted(t *testing.T) {
	v := &script{kind: 2} // 2, 3, …, none of them 9
	want := tokensOf(v.plain(6))
	g, err := Generate(t.Context(), v, &listed{drafts: [][]Token{{want[0], want[1], 9}, nil, {want[4], 9}}}, Options{EOT: eot, Limit: 6})
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range g.Marks {
		if want := []bool{true, true, false, false, true, false}[i]; m.Accepted != want {
			t.Errorf("choice %d: accepted %v", i, m.Accepted)
		}
	}
}

// listed drafts the given lists, one per round.
type listed struct {
	None
	drafts [][]Token
}

func (l *listed) Propose(_ context.Context, dst []Token, limit int) ([]Token, error) {
	d := l.drafts[0]
	l.drafts = l.drafts[1:]
	return append(dst, d[:min(limit, len(d))]...), nil
}

// frail fails in its third draft, and ends ctx before if cancel is set.
type frail struct {
	scripted
	cancel context.CancelFunc
	n      int
}

func (f *frail) Propose(ctx context.Context, dst []Token, limit int) ([]Token, error) {
	dst, _ = f.scripted.Propose(ctx, dst, limit)
	if f.n++; f.n < 3 {
		return dst, nil
	}
	if f.cancel != nil {
		f.cancel()
	}
	return dst, fmt.Errorf("worn out after %d", f.n)
}

// TestFrail checks that a proposer that fails is no longer used and its last draft
// ignored; the text is that of plain decoding. The end of the context is not a failure of
// the proposer.
func TestFrail(t *testing.T) {
	v := &script{seed: 2, kind: 2}
	p := &frail{scripted: scripted{script: *v, same: true}}
	g, err := Generate(t.Context(), v, p, Options{EOT: eot, Limit: 40, Policy: Constant(4)})
	if err != nil {
		t.Fatal(err)
	}
	if want := v.plain(40); !slices.Equal(g.Choices, want) {
		t.Errorf("%v, want %v", g.Choices, want)
	}
	if err := g.ProposerErr; err == nil || p.n != 3 || g.Stats.Drafts.Accepted < 8 {
		t.Errorf("broken %v after %d, %+v", err, p.n, g.Stats.Drafts)
	}
	ctx, cancel := context.WithCancel(t.Context())
	g, err = Generate(ctx, &script{seed: 2, kind: 2}, &frail{cancel: cancel}, Options{EOT: eot, Limit: 40})
	if err == nil || g.ProposerErr != nil {
		t.Errorf("error %v, broken %v; want the end of the context alone", err, g.ProposerErr)
	}
}

func ExampleGenerate() {
	model := &script{seed: 2, kind: 2}
	copyist := &scripted{script: *model, same: true} // drafts four tokens and is always right
	g, err := Generate(context.Background(), model, copyist, Options{EOT: eot, Limit: 40})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(g.Choices), "tokens in", g.Stats.Drafts.Rounds, "rounds")
	// Output: 40 tokens in 8 rounds
}

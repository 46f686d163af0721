package diarize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"verity/audio"
	"verity/internal/kernel"
	"verity/internal/option"
	"verity/parallel"
)

// slow reports whether products run in plain Go, where a second of sound takes a second and more.
func slow() bool { return kernel.Implementations()[0] == "ref" }

// twoSpeakers returns 13 s of two recordings of this repository, one after the other, and where the second begins.
func twoSpeakers(t *testing.T) (pcm []float32, second float64) {
	t.Helper()
	jfk, other := excerpt(baseSamples(t, "jfk.flac"), 0, 6), excerpt(baseSamples(t, "librispeech/1089-134686-0001.flac"), 0, 6.5)
	pcm = append(slices.Clone(jfk), make([]float32, audio.SampleRate/2)...)
	return append(pcm, other...), float64(len(pcm)) / audio.SampleRate
}

func analyze(t *testing.T, pcm []float32, o Options) *Diarization {
	t.Helper()
	d, err := Analyze(context.Background(), audio.FromSamples("sound", pcm), o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestTwoSpeakers finds both speakers, whatever is said about their number, and one where one is asked for.
func TestTwoSpeakers(t *testing.T) {
	if slow() {
		t.Skip("needs assembly: TestSameBits and TestVoiceBits show that plain Go computes the same")
	}
	pcm, second := twoSpeakers(t)
	reference := []Turn{{0.3, 5.9, 1}, {second + 0.2, second + 6.4, 2}}
	all := []Options{{}, {Speakers: 1}, {Speakers: 2}, {Min: 2, Max: 5}, {Max: 1}}
	if testing.Short() {
		all = all[:2]
	}
	for _, o := range all {
		d := analyze(t, pcm, o)
		want := 2
		if o.Speakers == 1 || o.Max == 1 {
			want = 1
		}
		if len(d.Voices) != want {
			t.Errorf("%+v: %d speakers, want %d: %v", o, len(d.Voices), want, d.Turns)
		}
		e := Scoring{Collar: 0.25}.Score(reference, d.Turns)
		if want == 2 && !(e.Confusion < 0.3) {
			t.Errorf("%+v: %v s of confusion: %v", o, e.Confusion, d.Turns)
		}
		if d.Turns[0].Speaker != 1 {
			t.Errorf("%+v: speaker %d begins, want 1", o, d.Turns[0].Speaker)
		}
	}
}

// TestSameBits checks that neither threads nor the processor decide: the hash is that of every machine.
func TestSameBits(t *testing.T) {
	if slow() && testing.Short() {
		t.Skip("needs make test-all: minutes in plain Go; TestVoiceBits has less to compute")
	}
	const want = "d5d1836e10b28121"
	pcm := excerpt(baseSamples(t, "jfk.flac"), 0, 3)
	var first *Diarization
	for _, threads := range []int{3, 1} {
		if slow() && threads == 1 {
			break
		}
		p := parallel.New(threads)
		d := analyze(t, pcm, Options{Pool: p})
		p.Close()
		if first == nil {
			first = d
		} else if !reflect.DeepEqual(d, first) {
			t.Errorf("%d threads: got %v, want %v", threads, d.Turns, first.Turns)
		}
	}
	h := fnv.New64a()
	for _, turn := range first.Turns {
		fmt.Fprintln(h, turn)
	}
	for _, v := range slices.Concat(first.Voices...) {
		fmt.Fprintln(h, math.Float32bits(v))
	}
	if got := fmt.Sprintf("%x", h.Sum64()); got != want {
		t.Errorf("with %s: hash %s, want %s", kernel.Implementations()[0], got, want)
	}
}

// TestVoiceBits is TestSameBits for 0.4 s of one voice.
func TestVoiceBits(t *testing.T) {
	const want = "27b5268ca5118000"
	var voice [voiceSize]float32
	frames := theBank().append(nil, nil, excerpt(baseSamples(t, "jfk.flac"), 0.5, 0.42))
	networks().embed(voice[:], frames, 0, []window{{end: len(frames) / bands}})
	h := fnv.New64a()
	for _, v := range voice {
		fmt.Fprintln(h, math.Float32bits(v))
	}
	if got := fmt.Sprintf("%x", h.Sum64()); got != want {
		t.Errorf("with %s: hash %s, want %s", kernel.Implementations()[0], got, want)
	}
}

// TestNobody checks sound in which nobody speaks, and sound too short for a window.
func TestNobody(t *testing.T) {
	noise := make([]float32, 3*audio.SampleRate)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = 0.05 * float32(r.NormFloat64())
	}
	hum := make([]float32, 3*audio.SampleRate)
	for i := range hum {
		hum[i] = float32(0.3 * math.Sin(2*math.Pi*220*float64(i)/audio.SampleRate))
	}
	if slow() {
		t.Skip("needs assembly: TestSameBits and TestVoiceBits show that plain Go computes the same")
	}
	for name, pcm := range map[string][]float32{
		"nothing": nil, "one sample": {0.5}, "silence": make([]float32, 12*audio.SampleRate), "noise": noise, "hum": hum,
		"0.3 s of silence": make([]float32, 4800), "constant": slices.Repeat([]float32{1}, 8000),
	} {
		for _, o := range []Options{{}, {Speakers: 3}} {
			if d := analyze(t, pcm, o); len(d.Turns) != 0 || len(d.Voices) != 0 {
				t.Errorf("%s, %+v: turns %v", name, o, d.Turns)
			}
		}
	}
	for _, length := range []float64{0.02, 0.1, 0.3, 0.7} {
		pcm := excerpt(baseSamples(t, "jfk.flac"), 0.5, length)
		if d := analyze(t, pcm, Options{Speakers: 4}); len(d.Voices) > 1 {
			t.Errorf("%v s of speech: %d speakers", length, len(d.Voices))
		}
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{
		{Speakers: -1}, {Speakers: 101}, {Min: -1}, {Max: 1000}, {Min: 3, Max: 2}, {Speakers: 2, Min: 1},
		{Known: []Voice{{"", axis(0, 1, 0)}}}, {Known: []Voice{{"Ann", nil}}},
		{Known: []Voice{{"Ann", make([]float32, voiceSize)}}}, {Known: []Voice{{"Ann", axis(0, 1, 0)}, {"Ann", axis(1, 0, 0)}}},
	} {
		_, err := Clip(context.Background(), audio.FromSamples("", nil), o)
		if e := new(option.Error); !errors.As(err, &e) {
			t.Errorf("%+v: got error %v, want an option.Error", o, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Clip(ctx, audio.FromSamples("", make([]float32, 100)), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: got error %v", err)
	}
}

// randomVectors returns unit vectors around a few centres.
func randomVectors(seed uint64, n, centres int, spread float64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	means := make([]float64, centres*voiceSize)
	for i := range means {
		means[i] = r.NormFloat64()
	}
	x := make([]float32, n*voiceSize)
	for i := range n {
		for c := range voiceSize {
			x[i*voiceSize+c] = float32(means[i%centres*voiceSize+c] + spread*r.NormFloat64())
		}
		normalise(x[i*voiceSize:][:voiceSize])
	}
	return x
}

// TestTree compares the chain of nearest neighbours with joining the most similar pair of all, again and again.
func TestTree(t *testing.T) {
	for seed := range uint64(6) {
		n := 2 + int(seed)*7
		x := randomVectors(seed, n, 3, 1.5)
		var all []cluster
		for i := range n {
			all = append(all, cluster{[]int{i}, x[i*voiceSize:][:voiceSize]})
		}
		got := tree(nil, all)
		if len(got) != n-1 {
			t.Fatalf("%d vectors: %d merges", n, len(got))
		}
		sets := make([][]int, n)
		for i := range sets {
			sets[i] = []int{i}
		}
		for step := 0; len(sets) > 1; step++ {
			best, a, b := math.Inf(-1), 0, 0
			for i := range sets {
				for j := range i {
					sum := 0.0
					for _, p := range sets[i] {
						for _, q := range sets[j] {
							sum += float64(cosine(x[p*voiceSize:][:voiceSize], x[q*voiceSize:][:voiceSize]))
						}
					}
					if mean := sum / float64(len(sets[i])*len(sets[j])); mean > best {
						best, a, b = mean, j, i
					}
				}
			}
			if d := math.Abs(float64(got[step].similarity) - best); !(d < 1e-5) {
				t.Fatalf("%d vectors, merge %d: similarity %v, want %v", n, step, got[step].similarity, best)
			}
			sets[a] = append(sets[a], sets[b]...)
			sets = slices.Delete(sets, b, b+1)
		}
	}
}

// TestGroups checks numbers of clusters, found or asked for, small clusters, and clustering in blocks.
func TestGroups(t *testing.T) {
	for _, tt := range []struct {
		why                      string
		n, centres               int
		least, most, small, want int
		spread                   float64 // of the vectors around a centre; 0 means 0.7
	}{
		{"found", 60, 4, 1, 100, 3, 4, 0},
		{"fewer wanted", 60, 4, 2, 2, 3, 2, 0},
		{"more wanted than there are", 60, 2, 4, 4, 3, 2, 0},
		{"more wanted, of voices that vary", 60, 1, 2, 2, 3, 2, 1.35},
		{"at most", 60, 4, 1, 3, 3, 3, 0},
		{"more than there can be", 5, 1, 9, 9, 3, 1, 0},
		{"too small, but the only ones", 2, 2, 1, 100, 3, 1, 0},
		{"one vector", 1, 1, 1, 100, 3, 1, 0},
		{"in two blocks", blockLimit + 40, 3, 1, 100, 100, 3, 0},
	} {
		if testing.Short() && tt.n > blockLimit {
			continue
		}
		got, _ := groups(nil, randomVectors(5, tt.n, tt.centres, cmp.Or(tt.spread, 0.7)), tt.least, tt.most, tt.small)
		if len(got) != tt.want {
			t.Errorf("%s: %d clusters, want %d", tt.why, len(got), tt.want)
		}
		seen := map[int]bool{}
		for _, c := range got {
			for _, i := range c.members {
				if seen[i] || i < 0 || i >= tt.n {
					t.Errorf("%s: member %d twice or outside", tt.why, i)
				}
				seen[i] = true
				if tt.want == tt.centres && i%tt.centres != c.members[0]%tt.centres {
					t.Errorf("%s: vector %d is with those of another centre", tt.why, i)
				}
			}
		}
	}
}

// TestGroupsNaN: vectors that are not numbers are not similar, and none is lost if they must be one cluster.
func TestGroupsNaN(t *testing.T) {
	x := slices.Repeat([]float32{float32(math.NaN())}, 4*voiceSize)
	if got, _ := groups(nil, x, 1, MaxSpeakers, 1); len(got) != 4 {
		t.Errorf("%d clusters, want 4", len(got))
	}
	if got, _ := groups(nil, x, 1, 1, 1); len(got) != 1 || len(got[0].members) != 4 {
		t.Errorf("%d clusters, the first of %v; want one of four", len(got), got[0].members)
	}
}

// TestSizes: a small cluster counts as a speaker if it differs much from the others, or if more speakers are asked for.
func TestSizes(t *testing.T) {
	for _, tt := range []struct {
		large, small, least, want, natural int
		similarity                         float64
	}{
		{40, 40, 1, 2, 2, 0.35}, {40, 4, 1, 1, 1, 0.35}, {40, 4, 2, 2, 1, 0.35}, {40, 4, 1, 2, 2, 0}, {400, 4, 1, 1, 1, 0},
	} {
		one := axis(0, 1, 0)
		other := axis(1, 0, float32(tt.similarity/math.Sqrt(1-tt.similarity*tt.similarity)))
		x := slices.Concat(slices.Repeat(one, tt.large), slices.Repeat(other, tt.small))
		if got, natural := groups(nil, x, tt.least, MaxSpeakers, 3); len(got) != tt.want || natural != tt.natural {
			t.Errorf("%+v: %d clusters, %d if none are asked for", tt, len(got), natural)
		}
	}
}

func TestRTTM(t *testing.T) {
	const text = "\ufeffSPEAKER b 1 0 1 <NA> <NA> Bob <NA> <NA>\r\n;; comment\nSPKR-INFO a 1 <NA> <NA> <NA> unknown Bob <NA>\n" +
		"SPEAKER a 1 2.5 1 <NA> <NA> Bob <NA> <NA>\nSPEAKER a 1 0.25 0.5 <NA> <NA> Zoë <NA> <NA>\n\n" +
		"SPEAKER b 1 1 1 <NA> <NA> Bob <NA> <NA>\n"
	turns, names, err := ReadRTTM(strings.NewReader(text))
	want := map[string][]Turn{"a": {{0.25, 0.75, 2}, {2.5, 3.5, 1}}, "b": {{0, 1, 1}, {1, 2, 1}}}
	if err != nil || !reflect.DeepEqual(turns, want) || !slices.Equal(names, []string{"Bob", "Zoë"}) {
		t.Errorf("got %v, %v, error %v", turns, names, err)
	}
	for _, bad := range []string{
		"SPEAKER a 1 2.5", "SPEAKER a 1 x 1 <NA> <NA> Bob", "SPEAKER a 1 1 NaN <NA> <NA> Bob", "SPEAKER a 1 -1 1 <NA> <NA> Bob",
		"SPEAKER a 1 1 -1 <NA> <NA> Bob", "SPEAKER a 1 1 Inf <NA> <NA> Bob", strings.Repeat("x", 1<<17),
		"\xff\xfeS\x00P\x00", "a,0.5,1.5\n",
	} {
		if _, _, err := ReadRTTM(strings.NewReader(bad)); err == nil {
			t.Errorf("%.60q: no error", bad)
		}
	}
}

// TestAssign compares with every pairing.
func TestAssign(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		rows, columns := 1+r.IntN(5), 1+r.IntN(5)
		gain := make([][]float64, rows)
		for i := range gain {
			for range columns {
				gain[i] = append(gain[i], float64(r.IntN(6)))
			}
		}
		var best func(row int, used []bool) float64
		best = func(row int, used []bool) float64 {
			if row == rows {
				return 0
			}
			most := best(row+1, used)
			for c := range used {
				if !used[c] {
					used[c] = true
					most = max(most, gain[row][c]+best(row+1, used))
					used[c] = false
				}
			}
			return most
		}
		got, seen := 0.0, map[int]bool{}
		for i, c := range Assign(gain) {
			if c >= 0 {
				if seen[c] {
					t.Fatalf("%v: column %d twice", gain, c)
				}
				seen[c] = true
				got += gain[i][c]
			}
		}
		if want := best(0, make([]bool, columns)); got != want {
			t.Errorf("%v: gain %v, want %v", gain, got, want)
		}
	}
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	gowav "github.com/go-audio/audio"
	"github.com/go-audio/wav"

	"verity/audio"
	"verity/tools/must"
)

// An item is a recording of a set, a line of the manifest.
type item struct {
	Set   string `json:"set"`
	Audio string `json:"audio_filepath"` // relative to the manifest
	Text  string `json:"text"`
	Lang  string `json:"lang"`

	Words []timedWord `json:"words,omitempty"` // if their times are known
}

// An utterance is speech with its text.
type utterance struct {
	id, text, lang, speaker string
	pcm                     []float32
	words                   []timedWord // nil if their times are unknown
}

type timedWord struct {
	Word       string  `json:"word"`
	Start      float64 `json:"start"`
	End        float64 `json:"end"`
	AfterPause bool    `json:"after_pause,omitempty"`
}

// A builder makes the sets of one seed.
type builder struct {
	options
	items []item

	english, reader, dutch []utterance // several speakers; one whose word times are known
	dishes, music          []float32
}

// build writes every set and the manifest.
func (b *builder) build() {
	b.readSources()
	for _, s := range distortions {
		n := 0
		for i, u := range b.english {
			if n >= b.words {
				break
			}
			rate, pcm := audio.SampleRate, s.change(b, b.random(s.name, i), i, slices.Clone(u.pcm))
			if s.rate > 0 {
				rate = s.rate
			}
			b.add(s.name, u.id, u.text, u.lang, pcm, rate)
			n += len(strings.Fields(u.text))
		}
	}
	for _, make := range []func(){b.short, b.pauses, b.gaps, b.cuts, b.languages, b.noSpeech} {
		make()
	}
	var lines strings.Builder
	for _, i := range slices.DeleteFunc(b.items, func(i item) bool { return !b.wanted(i.Set) }) {
		must.Do(json.NewEncoder(&lines).Encode(i))
	}
	must.Do(os.WriteFile(filepath.Join(b.dir, "manifest.jsonl"), []byte(lines.String()), 0o644))
}

// random returns the numbers of a recording of a set. They depend on nothing else.
func (b *builder) random(set string, i int) *rand.Rand {
	h := b.seed
	for _, c := range set {
		h = h*31 + uint64(c)
	}
	return rand.New(rand.NewPCG(h, uint64(i)))
}

// readSources reads the recordings that the sets are made of.
func (b *builder) readSources() {
	rows := must.Get(readLines[struct {
		Audio   string   `json:"audio_filepath"`
		Text    string   `json:"text"`
		Lang    string   `json:"lang"`
		Speaker string   `json:"speaker"`
		Quality string   `json:"text_quality"`
		Tags    []string `json:"tags"`
	}](filepath.Join(b.data, "speech", "manifest.jsonl")))
	seen := map[string]bool{}
	for _, r := range rows {
		folder, name := filepath.Split(r.Audio)
		folder = strings.TrimSuffix(folder, "/")
		id := strings.TrimSuffix(name, filepath.Ext(name))
		if seen[r.Text] && (folder == "librispeech" || folder == "nl") || r.Text == "" && folder != "nospeech" {
			continue // the same words in another format, or no text to compare with
		}
		u := utterance{id: id, text: r.Text, lang: r.Lang, speaker: r.Speaker}
		set := folder
		switch {
		case folder == "nospeech", folder == "de", folder == "speeches", folder == "silence", folder == "noisy",
			folder == "longform" && r.Lang == "en":
		case (folder == "librispeech" || folder == "nl") && r.Quality == "reference":
		case folder == "longform":
			set = "nl"
		default:
			continue
		}
		u.pcm = samples(filepath.Join(b.data, "speech", r.Audio))
		switch seen[r.Text] = true; {
		case folder == "librispeech":
			b.english = append(b.english, u)
		case folder == "nl":
			b.dutch = append(b.dutch, u)
		case name == "doing_the_dishes_35s.flac":
			b.dishes = u.pcm
		case name == "brahms.ogg":
			b.music = u.pcm
		}
		if folder != "librispeech" {
			b.add(set, id, u.text, u.lang, u.pcm, audio.SampleRate)
		}
	}
	for _, lang := range []string{"de", "nl"} {
		b.readSentences(lang)
	}
	// Speakers take turns, so that a few recordings hold many of them.
	slices.SortStableFunc(b.english, func(x, y utterance) int { return b.turn(x) - b.turn(y) })
	b.readTimed()
}

// readSentences adds read sentences to the set of a language, every thirtieth of a long list and then those after them.
func (b *builder) readSentences(lang string) {
	folder := filepath.Join(b.data, "training", lang)
	list := must.Get(os.ReadFile(filepath.Join(folder, "transcripts.csv")))
	lines := strings.Split(strings.TrimSpace(string(list)), "\n")
	n := 0
	for _, i := range b.items {
		if i.Set == lang {
			n += len(strings.Fields(i.Text))
		}
	}
	for at := 0; n < b.words && at < len(lines); at++ {
		const stride = 30
		rows := (len(lines) + stride - 1) / stride
		k := at%rows*stride + at/rows
		if k >= len(lines) {
			continue
		}
		u := utterance{lang: lang}
		u.id, u.text, _ = strings.Cut(lines[k], "|")
		u.pcm = samples(filepath.Join(folder, u.id+".opus"))
		b.add(lang, u.id, u.text, lang, u.pcm, audio.SampleRate)
		if lang == "nl" {
			b.dutch = append(b.dutch, u)
		}
		n += len(strings.Fields(u.text))
	}
}

// turn returns how many utterances of the same speaker come before u.
func (b *builder) turn(u utterance) (n int) {
	for _, v := range b.english {
		if v.id == u.id {
			return n
		}
		if v.speaker == u.speaker {
			n++
		}
	}
	return n
}

// readTimed reads the utterances whose words have times.
func (b *builder) readTimed() {
	rows := must.Get(readLines[struct {
		ID    string
		Words [][3]any
	}](filepath.Join(b.data, "librispeech", "words.jsonl")))
	for _, r := range rows {
		parts := strings.Split(r.ID, "-")
		files, _ := filepath.Glob(filepath.Join(b.data, "librispeech", "LibriSpeech", "*", parts[0], parts[1], r.ID+".flac"))
		if len(files) != 1 {
			continue
		}
		u := utterance{id: r.ID, lang: "en"}
		for _, w := range r.Words {
			word, _ := w[0].(string)
			start, _ := w[1].(float64)
			end, _ := w[2].(float64)
			u.words = append(u.words, timedWord{Word: word, Start: start, End: end})
			u.text += " " + word
		}
		u.pcm = samples(files[0])
		b.reader = append(b.reader, u)
	}
}

// short makes the first three seconds or so of utterances, cut between words.
func (b *builder) short() {
	for i, n := 0, 0; i < len(b.reader) && n < b.words; i++ {
		p := b.reader[i].until(3)
		n += b.add("3 s", p.id, p.text, p.lang, p.pcm, audio.SampleRate)
	}
}

// until returns the start of u, cut in the middle of the last pause between words before a time.
func (u utterance) until(seconds float64) utterance {
	n := 0
	for n < len(u.words) && u.words[n].End <= seconds {
		n++
	}
	if n == len(u.words) || n == 0 {
		return u
	}
	cut := (u.words[n-1].End + u.words[n].Start) / 2
	u.words, u.pcm, u.text = u.words[:n], u.pcm[:int(cut*audio.SampleRate)], ""
	for _, w := range u.words {
		u.text += " " + w.Word
	}
	return u
}

// pauses joins utterances with pauses of 0.6 to 7 s: silence in every other file, else the sound before the speech.
func (b *builder) pauses() {
	const each = 8
	r := b.random("pauses", 0)
	for k := 0; k < 5 && (k+1)*each <= len(b.reader); k++ {
		var pcm []float32
		i := item{Set: "pauses", Lang: "en"}
		for _, u := range b.reader[k*each : (k+1)*each] {
			const margin = 0.1 // s
			first, last := u.words[0].Start-margin, u.words[len(u.words)-1].End+margin
			from, to := int(max(0, first)*audio.SampleRate), min(len(u.pcm), int(last*audio.SampleRate))
			pause := make([]float32, int([]float64{0.6, 1, 2, 4, 7}[r.IntN(5)]*audio.SampleRate))
			if k%2 == 1 && from > 0 {
				mix(pause, u.pcm[:from], 0, 1)
			}
			pcm = append(pcm, pause...)
			by := seconds(pcm) - float64(from)/audio.SampleRate
			for n, w := range u.words {
				i.Words = append(i.Words, timedWord{w.Word, w.Start + by, w.End + by, n == 0})
			}
			pcm, i.Text = append(pcm, u.pcm[from:to]...), i.Text+" "+u.text
		}
		i.Audio, i.Text = filepath.Join("pauses", fmt.Sprint(k, ".wav")), strings.TrimSpace(i.Text)
		b.items = append(b.items, i)
		writeWAV(filepath.Join(b.dir, i.Audio), pcm, audio.SampleRate)
	}
}

// gaps puts two minutes of silence after the first of three utterances, in files of half as many words as wanted.
func (b *builder) gaps() {
	for i, n := 0, 0; n < b.words/2 && 3*i+3 <= len(b.english); i++ {
		u := b.english[3*i : 3*i+3]
		pcm := slices.Concat(u[0].pcm, make([]float32, 120*audio.SampleRate), u[1].pcm, u[2].pcm)
		text := u[0].text + " " + u[1].text + " " + u[2].text
		n += b.add("2 min of silence", fmt.Sprint(i), text, "en", pcm, audio.SampleRate)
	}
}

// cuts joins pieces of at most 22 s by different speakers, without pauses. A piece may end amid a
// sentence.
func (b *builder) cuts() {
	const piece = 22.0
	timed, others := b.reader, b.english
	for k, n := 0, 0; n < b.words && len(timed) > 8 && len(others) > 8; k++ {
		var pcm []float32
		text := ""
		for range 4 {
			var u utterance
			for left := piece; left > 4; left = piece - seconds(u.pcm) {
				var next utterance
				next, timed = timed[0].until(left), timed[1:]
				u.pcm, u.text = append(u.pcm, trim(next.pcm)...), u.text+" "+next.text
			}
			speaker := others[0].speaker
			pcm, text = append(pcm, u.pcm...), text+u.text
			for left := piece; ; {
				i := slices.IndexFunc(others, func(o utterance) bool { return o.speaker == speaker && seconds(o.pcm) < left })
				if i < 0 {
					break
				}
				left -= seconds(others[i].pcm)
				pcm, text = append(pcm, trim(others[i].pcm)...), text+" "+others[i].text
				others = slices.Delete(slices.Clone(others), i, i+1)
			}
			if len(timed) < 8 || len(others) < 8 {
				break
			}
		}
		n += b.add("hard cuts", fmt.Sprint(k), text, "en", pcm, audio.SampleRate)
	}
}

// languages joins English and Dutch speech: long and short stretches, either first.
func (b *builder) languages() {
	english, dutch := slices.Concat(b.english, b.reader), b.dutch
	stretch := func(from *[]utterance, least float64) (pcm []float32, text string) {
		for seconds(pcm) < least && len(*from) > 0 {
			pcm, text = append(pcm, trim((*from)[0].pcm)...), text+" "+(*from)[0].text
			*from = (*from)[1:]
		}
		return pcm, text
	}
	patterns := [][]float64{{11, 12}, {40, 12}, {16, 6, 10}, {25, 8, 10}}
	for i, n := 0, 0; n < b.words && len(english) > 0 && len(dutch) > 0; i++ {
		var pcm []float32
		text := ""
		for k, least := range patterns[i%4] {
			from := &english
			if (k+i%4/2)%2 == 1 {
				from = &dutch
			}
			p, words := stretch(from, least)
			pcm, text = append(pcm, p...), text+words
		}
		n += b.add("two languages", fmt.Sprint(i), text, "en nl", pcm, audio.SampleRate)
	}
}

// noSpeech adds noise and music as loud as speech, and silence with a click.
func (b *builder) noSpeech() {
	r := b.random("nospeech", 0)
	white := make([]float32, 40*audio.SampleRate)
	for i := range white {
		white[i] = float32(0.05 * r.NormFloat64())
	}
	click := make([]float32, 35*audio.SampleRate)
	click[12*audio.SampleRate] = 1
	for name, pcm := range map[string][]float32{"white": white, "click": click} {
		b.add("nospeech", name, "", "zxx", pcm, audio.SampleRate)
	}
}

// add writes a recording of a set, and returns how many words it has.
func (b *builder) add(set, id, text, lang string, pcm []float32, rate int) (words int) {
	folder := strings.NewReplacer(" ", "_", ".", "_").Replace(set)
	name := filepath.Join(folder, id+".wav")
	b.items = append(b.items, item{Set: set, Audio: name, Text: strings.TrimSpace(text), Lang: lang})
	if b.wanted(set) {
		writeWAV(filepath.Join(b.dir, name), pcm, rate)
	}
	return len(strings.Fields(text))
}

func writeWAV(name string, pcm []float32, rate int) {
	must.Do(os.MkdirAll(filepath.Dir(name), 0o755))
	f := must.Get(os.Create(name))
	e := wav.NewEncoder(f, rate, 16, 1, 1)
	data := make([]int, len(pcm))
	for i, v := range pcm {
		data[i] = int(math.Round(float64(max(-1, min(v, 1))) * 32767))
	}
	buffer := &gowav.IntBuffer{Data: data, SourceBitDepth: 16,
		Format: &gowav.Format{NumChannels: 1, SampleRate: rate}}
	must.Do(e.Write(buffer))
	must.Do(e.Close())
	must.Do(f.Close())
}

// samples reads a whole file at 16 kHz.
func samples(name string) []float32 {
	clip := must.Get(audio.Open(context.Background(), name))
	defer clip.Close()
	return must.Get(clip.Samples(math.MaxInt))
}

// readLines reads a file of JSON Lines.
func readLines[T any](name string) (rows []T, err error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		var row T
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", name, i+1, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func seconds(pcm []float32) float64 { return float64(len(pcm)) / audio.SampleRate }

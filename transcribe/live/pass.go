package live

import (
	"context"
	"slices"
	"strings"
	"time"

	"verity/diarize"
	"verity/tokenizer"
	"verity/transcribe"
	"verity/transcript"
)

// A Result is what one pass over an utterance found.
type Result struct {
	Start     float64           // of the utterance, in seconds of the sound
	Last      bool              // the last pass over the utterance
	Confirmed []transcript.Word // newly confirmed words; those of all results, concatenated, are the transcript
	Tentative string            // text that may still change
	SoundEnd  float64           // end of the transcribed sound, in seconds from the start of the utterance
	Language  string            // a code, such as "en"
	Elapsed   time.Duration     // of the pass, including the wait for its turn
	Audio     float64           // seconds of sound transcribed
	Stats     transcript.Stats

	// If speakers are identified (transcribe.Options.Speakers): in the last result of an utterance all its words,
	// with the names of their speakers, as far as they are known by then.
	Words []transcript.Word

	// And in one more result of Listen, after the sound has ended: who speaks in all of it, found anew. Label
	// corrects a transcript.
	Speakers *diarize.Diarization
}

// A pass transcribes sound. draft is the result of the previous pass. It returns the draft for the next pass, too.
type pass func(ctx context.Context, pcm []float32, p transcribe.Pass, draft []transcript.Cue) (
	*transcript.Transcript, []transcript.Cue, error)

// Pass transcribes the sound added so far. The last pass confirms all words. Only one pass over
// the utterances of a stream may run at a time.
func (u *Utterance) Pass(ctx context.Context, last bool) (Result, error) {
	if u.passes++; u.passes == 1 {
		u.earlierText, u.stream.previousText = lastBytes(u.stream.previousText, contextBytes), ""
	}
	u.mu.Lock()
	pcm, from := slices.Clone(u.pcm), seconds(u.cut)
	u.mu.Unlock()
	r := Result{Start: seconds(u.Start), Last: last, SoundEnd: from + seconds(int64(len(pcm)))}
	tr, draft, err := u.transcribe(ctx, pcm, last, shiftTimes(u.draft, -from))
	if err != nil {
		return r, err
	}
	u.draft = shiftTimes(draft, from)
	r.Language, r.Stats = tr.Language, tr.Stats
	unsure := slices.ContainsFunc(tr.Segments, func(g transcript.Segment) bool { return g.Temperature > 0.5 })
	words, ends := wordsOf(tr, from, last)
	if last {
		r.Confirmed = u.agreed.finish(words)
	} else {
		r.Confirmed = u.agreed.add(words)
		if r.SoundEnd-from > maxSound {
			r.Confirmed = append(slices.Clone(r.Confirmed), u.agreed.confirmBefore(r.SoundEnd-forceAfter)...)
		}
		u.dropOldSound(r, from, ends)
	}
	if len(r.Confirmed) > 0 {
		u.language = tr.Language // a few more words would not improve the detection
		u.stream.previousLanguage = tr.Language
	}
	if u.stream.previousText += transcript.JoinWords(r.Confirmed); unsure { // later prompts omit it, as in upstream
		u.stream.previousText = ""
	}
	r.Tentative = transcript.JoinWords(u.agreed.tentative)
	if u.tracker != nil {
		err = u.track(ctx, &r)
	}
	return r, err
}

// minHeard is how much sound, in seconds, without a word makes a pass be made again without the text before.
const minHeard = 2.0

// transcribe makes a pass. Text of another language is not part of its prompt, since the model would go on in
// that language; and an utterance whose language is not sure has that of the one before.
func (u *Utterance) transcribe(
	ctx context.Context, pcm []float32, last bool, draft []transcript.Cue,
) (tr *transcript.Transcript, next []transcript.Cue, err error) {
	makePass := func(language string, draft []transcript.Cue) {
		before := tr
		p := transcribe.Pass{Language: language, Prompt: u.passPrompt(), Spoken: u.spoken, Provisional: !last}
		if tr, next, err = u.onePass(ctx, pcm, p, draft); err == nil && before != nil {
			tr.Stats.Add(before.Stats)
		}
	}
	makePass(u.language, draft)
	if err == nil && u.earlierText != "" && seconds(int64(len(pcm))) > minHeard {
		if words, _ := wordsOf(tr, 0, last); len(words) == 0 {
			u.earlierText = "" // which may keep the model silent, or make it repeat
			makePass(u.language, draft)
		}
	}
	former := u.stream.previousLanguage
	if err != nil || u.upstream || u.language != "" || former == "" || tr.Language == former || tr.LanguageProb == 0 {
		return tr, next, err
	}
	if tr.LanguageProb < transcribe.MinLanguageProbability {
		makePass(former, next)
	} else if u.earlierText != "" {
		u.earlierText = ""
		makePass(u.language, next)
	}
	return tr, next, err
}

// passPrompt returns the prompt of a pass: the user's, and the end of the text before the sound.
func (u *Utterance) passPrompt() string {
	if u.earlierText == "" {
		return u.prompt
	}
	return strings.TrimSpace(u.prompt + " " + tokenizer.Strip(u.earlierText))
}

// shiftTimes returns the cues with all times shifted, in seconds. Cues that would end before
// time 0 are left out: their sound has been dropped.
func shiftTimes(lines []transcript.Cue, by float64) (list []transcript.Cue) {
	for _, l := range lines {
		if l.Start, l.End = l.Start+by, l.End+by; l.End > 0 {
			l.Start = max(0, l.Start)
			list = append(list, l)
		}
	}
	return list
}

const inventedTime = 0.05 // s, in which nobody says three words

// wordsOf returns the words of a transcript and the ends of its segments, shifted by from seconds.
// Except in the last pass, it stops at the first segment that the gates for repetition and
// improbable text would reject.
func wordsOf(tr *transcript.Transcript, from float64, last bool) (words []transcript.Word, ends []float64) {
	usual := transcribe.Options{}.WithDefaults()
	for _, s := range tr.Segments {
		if !last && (s.CompressionRatio > usual.MaxCompressionRatio || s.AvgLogProb < usual.MinLogProb) {
			break
		}
		for i, w := range s.Words {
			if !last && i+2 < len(s.Words) && s.Words[i+2].End-w.Start < inventedTime {
				return words, ends // mostly a repetition
			}
			w.Start, w.End = w.Start+from, w.End+from
			words = append(words, w)
		}
		ends = append(ends, s.End+from)
	}
	return words, ends
}

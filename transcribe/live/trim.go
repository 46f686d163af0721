package live

import (
	"slices"
	"strings"

	"verity/audio"
	"verity/transcript"
)

// Bounds on the sound that a pass transcribes, in seconds. Above trimAbove, sound before the end of
// a confirmed segment is dropped, as in whisper_streaming. Above maxSound, sound before the last
// confirmed word is dropped too, and words that ended more than forceAfter ago are confirmed even if
// no two passes agree on them.
const (
	trimAbove  = 15.0
	maxSound   = 25.0
	forceAfter = 4.0

	contextBytes   = 200  // bytes of earlier text in the prompt of a pass
	maxPromptBytes = 4096 // bytes: the model sees 223 tokens of a prompt
)

const maxPauseKept = 0.3 // s after the last word whose sound is dropped, which are dropped too

// dropOldSound drops sound that later passes do not need once it exceeds the bounds.
func (u *Utterance) dropOldSound(r Result, from float64, ends []float64) {
	to := from
	if r.SoundEnd-from > trimAbove {
		for _, end := range ends {
			if end <= u.agreed.end {
				to = max(to, end)
			}
		}
		if to > from { // in the pause after the word: what is left of its sound would be transcribed as another word
			next := r.SoundEnd
			all := slices.Concat(u.agreed.confirmed, u.agreed.tentative)
			if i := countEndingBy(all, to); i < len(all) {
				next = all[i].Start
			}
			to += min(maxPauseKept, max(0, next-to)/2)
		}
	}
	if r.SoundEnd-to > maxSound {
		to = max(to, u.agreed.end)
	}
	if r.SoundEnd-to > maxSound { // no words, or none that two passes agree on
		to = r.SoundEnd - forceAfter
	}
	if to <= from {
		return
	}
	dropped := u.agreed.confirmed[:countEndingBy(u.agreed.confirmed, to)]
	u.earlierText = lastBytes(u.earlierText+transcript.JoinWords(dropped), contextBytes)
	u.agreed.dropBefore(to)
	u.mu.Lock()
	defer u.mu.Unlock()
	drop := min(int64((to-from)*audio.SampleRate), int64(len(u.pcm)))
	u.pcm = slices.Clone(u.pcm[drop:])
	u.cut += drop
}

// lastBytes returns at most the last n bytes of a text, cut between words.
func lastBytes(text string, n int) string {
	drop := len(text) - n
	if drop <= 0 {
		return text
	}
	if space := strings.IndexByte(text[drop:], ' '); space >= 0 {
		drop += space
	}
	return strings.ToValidUTF8(text[drop:], "")
}

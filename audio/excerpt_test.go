package audio

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestExcerptWindows: every window that an excerpt holds has the bits of the
// spectrogram's, also at the end of the clip; any other is refused.
func TestExcerptWindows(t *testing.T) {
	const bins, window = 80, 50
	rapid.Check(t, func(rt *rapid.T) {
		o := Options{Bins: bins, Window: window, Pad: Pad(rapid.IntRange(0, 1).Draw(rt, "pad"))}
		s := newTestSpectrogram(t, testSignal("bursts", rapid.IntRange(0, 5*SampleRate).Draw(rt, "samples")), o)
		s.head = s.head.cut(0, min(s.head.frames, rapid.IntRange(0, 600).Draw(rt, "kept")))
		from, n := rapid.IntRange(0, 520).Draw(rt, "from"), rapid.IntRange(0, 600).Draw(rt, "frames")
		e, err := s.Excerpt(t.Context(), from, n)
		if err != nil {
			rt.Fatal(err)
		}
		if e.Frames() != s.Frames() || e.Seconds() != s.Seconds() || e.Hash() != s.Hash() || e.Silence() != s.Silence() {
			rt.Fatalf("the excerpt describes another clip: %d frames, want %d", e.Frames(), s.Frames())
		}
		for range rapid.IntRange(1, 6).Draw(rt, "windows") {
			at := rapid.IntRange(0, 600).Draw(rt, "start")
			for _, silent := range []bool{false, true} {
				get, want, end := e.Window, s.Window, s.Frames()
				if silent {
					get, want = e.SilentWindow, s.SilentWindow
				}
				if silent || o.Pad == PadAudio {
					end = int(soundFrames(s.in.n))
				}
				decoded := min(at+window, end)
				got, err := get(t.Context(), at)
				if at < from || decoded > from+n && decoded > at {
					if err == nil {
						rt.Fatalf("excerpt of %d frames from %d gives a window at %d", n, from, at)
					}
					continue
				}
				if err != nil {
					rt.Fatal(err)
				}
				mel, err := want(t.Context(), at)
				if err != nil {
					rt.Fatal(err)
				}
				for i := range mel.Data {
					if math.Float32bits(got.Data[i]) != math.Float32bits(mel.Data[i]) {
						rt.Fatalf("window at %d, cell %d: got %v, want %v", at, i, got.Data[i], mel.Data[i])
					}
				}
			}
		}
	})
	s := newTestSpectrogram(t, testSignal("bursts", SampleRate), Options{})
	for _, bad := range [][2]int{{-1, 5}, {0, -1}} {
		if _, err := s.Excerpt(t.Context(), bad[0], bad[1]); err == nil {
			t.Errorf("an excerpt of %v was made", bad)
		}
	}
}

// TestQuietest finds the pause in a loud clip, where it may look for it.
func TestQuietest(t *testing.T) {
	pcm := testSignal("noise", 20*SampleRate)
	for i := range pcm {
		at := float64(i) / SampleRate
		if at > 7 && at < 7.6 {
			pcm[i] /= 1000
		}
		if at > 12 && at < 12.2 { // quieter, but short
			pcm[i] /= 5000
		}
	}
	s := newTestSpectrogram(t, pcm, Options{})
	e, err := s.Excerpt(t.Context(), 100, 1400)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ from, to, least, most int }{
		{200, 1400, 720, 740},
		{200, 715, 710, 715},
		{0, 5000, 720, 740},
		{1150, 1400, 1185, 1235},
		{600, 600, 600, 600},
	} {
		if got := e.Quietest(tt.from, tt.to, 50); got < tt.least || got > tt.most {
			t.Errorf("from %d to %d: got %d, want %d to %d", tt.from, tt.to, got, tt.least, tt.most)
		}
	}
}

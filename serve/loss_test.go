package serve

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"verity/transcribe/live"
)

// TestLossReported: in every format, the answer reports that sound is damaged or missing.
func TestLossReported(t *testing.T) {
	h, _ := newServer(t, Options{})
	whole, err := os.ReadFile("../audio/testdata/golden/stereo16.flac")
	if err != nil {
		t.Fatal(err)
	}
	damaged := slices.Clone(whole)
	damaged[len(damaged)/2] ^= 1
	for want, sound := range map[string][]byte{
		"": whole, `"damaged":[{"start":0,"end":0.256}]`: damaged, `"truncated":true`: whole[:len(whole)-100],
	} {
		for _, as := range []field{
			{"response_format", "json"}, {"response_format", "verbose_json"}, {"stream", "true"},
			{"response_format", "text"}, {"response_format", "srt"}, {"response_format", "vtt"},
		} {
			r, body := post(t, h.URL+transcriptions, field{"file", string(sound)}, as)
			fields := as.value == "true" || strings.HasSuffix(as.value, "json")
			says := strings.Contains(body, `"damaged"`) || strings.Contains(body, `"truncated"`)
			if r.StatusCode != 200 || fields && (says != (want != "") || !strings.Contains(body, want)) {
				t.Errorf("%s: %s %s, want %s", as, r.Status, body, want)
			}
			if got := r.Header.Get(warningHeader); as.name != "stream" && (got != "no speech was found") != (want != "") {
				t.Errorf("%s: %s: %q; want a warning: %t", as, warningHeader, got, want != "")
			}
		}
	}
}

// absurd are numbers that no option accepts.
var absurd = []string{"1000000000000", "9223372036854775807", "-1000000", "1e300"}

// TestNumbersOfForms: every form field refuses absurd numbers, except texts. The command tests those of Options.Fields.
func TestNumbersOfForms(t *testing.T) {
	texts := []string{ // bounded by maxField and maxDraft
		"model", "language", "prompt", "draft", "align", "include", "keywords", "initial_prompt", "known_speaker_names",
	}
	_, s := newServer(t, Options{})
	for _, d := range []*dialect{openAI, whisperASR, whisperCPP} {
		names := slices.Concat(slices.Collect(maps.Keys(formFields)), slices.Collect(maps.Keys(listFields)),
			slices.Collect(maps.Keys(d.fields)))
		for name, other := range d.others {
			if formFields[other] != nil {
				names = append(names, name)
			}
		}
		for _, member := range []string{"type", "threshold", "prefix_padding_ms", "silence_duration_ms"} {
			names = append(names, "chunking_strategy["+member+"]")
		}
		for _, name := range names {
			for _, value := range absurd {
				if !slices.Contains(texts, name) && s.setField(&request{api: d}, name, value) == nil {
					t.Errorf("%s=%s is accepted: a number needs a limit", name, value)
				}
			}
		}
	}
}

// TestNumbersOfUpdates: no member of a session.update accepts an absurd number.
func TestNumbersOfUpdates(t *testing.T) {
	for path := range members {
		for _, value := range absurd {
			update, at := value, strings.Split(path, ".")
			for _, name := range slices.Backward(at[1:]) {
				update = `{"` + name + `":` + update + `}`
			}
			c := sessionConfig{rate: 24000, turns: live.DefaultTurns()}
			if c.apply(at[0], []byte(update)) == nil {
				t.Errorf("%s: %s is accepted: a number needs a limit", path, value)
			}
		}
	}
}

package serve

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"verity/audio"
	"verity/model"
	"verity/model/base"
	"verity/precision"
	"verity/transcribe"
)

// BenchmarkClips posts clips of 1 to 10 s, which are parts of the recordings of the repository, to a server of the model
// inside, with short and with whole windows. It reports the median and the 95th percentile of the time from request to
// text over all clips.
func BenchmarkClips(b *testing.B) {
	files := base.Base()
	if files == nil {
		b.Skip("needs the model inside: built with -tags nomodel")
	}
	c := must(model.OpenFS(files, "base"))
	defer c.Close()
	m := must(transcribe.Load(b.Context(), c, transcribe.LoadOptions{Threads: runtime.GOMAXPROCS(0), Precision: precision.Of(precision.Int8)}))
	defer m.Close()
	for _, seconds := range []int{1, 3, 5, 10} {
		clips := partsOf(b, seconds)
		for _, w := range []struct {
			name    string
			context int
		}{{"fit", 0}, {"all", transcribe.WholeWindows}} {
			s := must(New(m, Options{Decoding: transcribe.Options{Language: "en", AudioContext: w.context}}))
			h := httptest.NewServer(s)
			b.Run(fmt.Sprintf("%ds/%s", seconds, w.name), func(b *testing.B) {
				var times []time.Duration
				for b.Loop() {
					for _, clip := range clips {
						begin := time.Now()
						postClip(b, h.URL, clip)
						times = append(times, time.Since(begin))
					}
				}
				slices.Sort(times)
				b.ReportMetric(times[len(times)/2].Seconds(), "p50-s")
				b.ReportMetric(times[len(times)*95/100].Seconds(), "p95-s")
			})
			h.Close()
		}
	}
}

// partsOf cuts all recordings of the repository into clips of some seconds, as WAV. What is left at an end is not used.
func partsOf(b *testing.B, seconds int) (clips [][]byte) {
	for _, name := range append(must(filepath.Glob("../model/base/librispeech/*.flac")), "../model/base/jfk.flac") {
		clip := must(audio.Open(b.Context(), name))
		pcm := must(clip.Samples(1 << 30))
		clip.Close()
		for part := range slices.Chunk(pcm, seconds*audio.SampleRate) {
			if len(part) == seconds*audio.SampleRate {
				clips = append(clips, wavOf(part))
			}
		}
	}
	return clips
}

func postClip(b *testing.B, url string, sound []byte) {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	must(must(w.CreateFormFile("file", "clip.wav")).Write(sound))
	w.Close()
	r := must(http.Post(url+transcriptions, w.FormDataContentType(), &body))
	defer r.Body.Close()
	if text := must(io.ReadAll(r.Body)); r.StatusCode != 200 {
		b.Fatalf("%s: %s", r.Status, text)
	}
}

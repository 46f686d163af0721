package bench

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"verity/transcript"
)

// ladder is two rungs that never were, the second twice as fast.
func ladder() *Ladder {
	plain := transcript.Stats{
		Work: transcript.Work{Tokens: 100}, Drafts: transcript.Drafts{Rounds: 100, Kept: 100}, Seconds: transcript.Seconds{Decode: 2},
		Passes: transcript.Traffic{Bytes: 8e9, Seconds: 1.6},
	}
	assisted := plain
	assisted.Seconds.Decode, assisted.Passes = 1, transcript.Traffic{Bytes: 3e9, Seconds: 0.6}
	assisted.DraftPasses = transcript.Traffic{Bytes: 1e9, Seconds: 0.2}
	assisted.Drafts = transcript.Drafts{Rounds: 40, Drafted: 80, Accepted: 60, Kept: 100}
	narrow := plain
	narrow.Seconds.Decode, narrow.Passes = 1, transcript.Traffic{Bytes: 4e9, Seconds: 0.8}
	a := SpeedOf(assisted, 10e9, 0)
	return &Ladder{
		Schema: LadderSchema, Model: "base", Assistant: "self", Dataset: "speech", Utterances: 3, Audio: 30, Threads: 2, CPU: "some", Kernels: "ref",
		Rungs: []Rung{
			{
				Precision: "f16", GBPS: 10, Plain: SpeedOf(plain, 10e9, 200e6), Assisted: &a, Verdict: "identical",
				Speedup: &Speedup{2, &[2]float64{1.9, 2.1}}, WER: &Rate{0.028, 0.021, 0.036},
			},
			{Precision: "int8", GBPS: 10, Plain: SpeedOf(narrow, 10e9, 100e6)},
		},
	}
}

// TestSpeed: bytes a token are those of model and assistant, and MBU is of both.
func TestSpeed(t *testing.T) {
	r := ladder().Rungs[0]
	if p := r.Plain; p.Rate != 50 || p.BytesPerToken != 80e6 || p.MBU != 0.5 || p.PerRound != 1 {
		t.Errorf("plain %+v, want 50 tokens/s, 80 MB a token, half of the bandwidth", p)
	}
	if a := r.Assisted; a.Rate != 100 || a.BytesPerToken != 40e6 || a.MBU != 0.5 || a.Accepted != 0.75 || a.PerRound != 2.5 {
		t.Errorf("assisted %+v, want 100 tokens/s, 40 MB a token, half of the bandwidth, three in four accepted", a)
	}
}

func TestLadderTable(t *testing.T) {
	var b bytes.Buffer
	if err := ladder().Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"base, assistant self on 2 threads", "f16        plain", "2.80 %", "2.00× by drafts (1.90× to 2.10×)", "int8       plain           100     2.00×",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	for _, tt := range []struct {
		interval *[2]float64
		want     string
	}{
		{nil, "2.00× by drafts, of too few pairs for an interval"},
		{&[2]float64{0.9, 4}, "2.00× by drafts (0.90× to 4.00×), inconclusive: the interval contains 1"},
	} {
		l := ladder()
		l.Rungs[0].Speedup.Interval = tt.interval
		b.Reset()
		if err := l.Write(&b); err != nil || !strings.Contains(b.String(), tt.want) {
			t.Errorf("%v: no %q in\n%s", err, tt.want, b.String())
		}
	}
	l := ladder()
	l.Rungs[0].Verdict = "different"
	b.Reset()
	if err := l.Write(&b); err != nil || strings.Contains(b.String(), "by drafts") || !strings.Contains(b.String(), "different") {
		t.Errorf("%v: a rung that differs must not boast of its speed:\n%s", err, b.String())
	}
}

// TestLadderChart: the chart is well-formed XML with the numbers in it.
func TestLadderChart(t *testing.T) {
	for _, assistant := range []string{"", "self"} {
		l := ladder()
		if l.Assistant = assistant; assistant == "" {
			l.Rungs[0].Assisted = nil
		}
		var b bytes.Buffer
		if err := l.Draw(&b); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		for d := xml.NewDecoder(&b); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []string{"<svg", ">f16<", "80.0 MB", "WER 2.80 %", ">int8<", ">50.0<"} {
			if !strings.Contains(text, want) {
				t.Errorf("assistant %q: no %q in the chart", assistant, want)
			}
		}
		if strings.Contains(text, "with assistant") != (assistant != "") {
			t.Errorf("assistant %q: the legend says otherwise", assistant)
		}
	}
}

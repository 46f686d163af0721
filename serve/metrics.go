package serve

import (
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"verity/transcript"
)

// metrics are the values of /metrics.
type metrics struct {
	handler  http.Handler
	requests *prometheus.CounterVec
	took     *prometheus.HistogramVec
	waited   *prometheus.HistogramVec
	audio    *prometheus.CounterVec
	tokens   *prometheus.CounterVec
	drafted  *prometheus.CounterVec
	accepted *prometheus.CounterVec
	stages   *prometheus.CounterVec
	batch    prometheus.Histogram
	delay    prometheus.Histogram
	first    prometheus.Histogram
	late     prometheus.Counter
	rejected *prometheus.CounterVec
}

func newMetrics(s *Server) *metrics {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	auto := promauto.With(registry)
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return auto.NewCounterVec(prometheus.CounterOpts{Name: "verity_" + name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Name: "verity_" + name, Help: help, Buckets: buckets}
	}
	o := s.opt
	auto.NewGauge(prometheus.GaugeOpts{
		Name: "verity_build_info", Help: "The program and what it serves.",
		ConstLabels: prometheus.Labels{"version": o.Version, "model": o.Name, "goversion": runtime.Version()},
	}).Set(1)
	for _, g := range []struct {
		name, help string
		value      func() int
	}{
		{"turns_limit", "Limit of requests and live passes that are transcribed at the same time.",
			func() int { return o.Turns }},
		{"waiting_limit", "Limit of requests that wait.", func() int { return o.Waiting }},
		{"live_sessions_limit", "Limit of realtime sessions.", func() int { return o.Sessions }},
		{"uploads_limit_bytes", "Limit of the bytes of all uploads.", func() int { return int(s.uploads.limit) }},
		{"uploads_bytes", "Bytes of uploads in storage.", func() int { return int(s.uploads.used.Load()) }},
		{"live_sessions", "Realtime sessions that are open.", s.sessions.open},
		{"working", "Requests and live passes being transcribed.", s.queue.working},
		{"waiting", "Requests and live passes that wait for a turn.", s.queue.waiting},
	} {
		value := func() float64 { return float64(g.value()) }
		auto.NewGaugeFunc(prometheus.GaugeOpts{Name: "verity_" + g.name, Help: g.help}, value)
	}
	return &metrics{
		handler:  promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
		requests: counters("requests_total", "Requests answered. Code 499: the client had gone.", "method", "route", "code"),
		took: auto.NewHistogramVec(histogram("request_seconds", "Time of a request, including its wait.",
			prometheus.ExponentialBuckets(0.05, 2, 16)), []string{"method", "route"}),
		rejected: counters("rejected_total", "Requests refused because there was no room, by reason.", "reason"),
		waited: auto.NewHistogramVec(histogram("waiting_seconds",
			"Time until a file's first turn, by model. Zero for those that need not wait.",
			prometheus.ExponentialBuckets(0.05, 2, 16)), []string{"model"}),
		audio:    counters("audio_seconds_total", "Seconds of audio transcribed.", "model"),
		tokens:   counters("tokens_total", "Tokens decoded, including those of rejected attempts.", "model"),
		drafted:  counters("drafted_tokens_total", "Tokens the assistant drafted.", "model"),
		accepted: counters("accepted_tokens_total", "Drafted tokens the model accepted.", "model"),
		late: auto.NewCounter(prometheus.CounterOpts{Name: "verity_live_late_passes_total",
			Help: "Live passes that took longer, including their wait, than the sound between two passes lasts."}),
		stages: counters("stage_seconds_total", "Time of transcription, by stage.", "model", "stage"),
		batch: auto.NewHistogram(histogram("batch_size", "Sequences that share a pass of the model.",
			prometheus.ExponentialBuckets(1, 2, 7))),
		first: auto.NewHistogram(histogram("first_token_seconds",
			"Time from the start of a window to its first token, a mean for each transcription.",
			prometheus.ExponentialBuckets(0.05, 2, 12))),
		delay: auto.NewHistogram(histogram("live_delay_seconds",
			"Time from the arrival of a word's end to its text, in realtime sessions.",
			[]float64{0.1, 0.15, 0.25, 0.35, 0.5, 0.75, 1, 1.5, 2.5, 4, 6, 10, 15, 20, 30, 45})),
	}
}

var knownMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// countRequest counts a request. All unknown paths share one label, and so do unknown methods: clients can invent any
// number of them.
func (m *metrics) countRequest(r *http.Request, status int, took time.Duration) {
	method, route := r.Method, "other"
	if _, known, ok := strings.Cut(r.Pattern, " "); ok {
		route = known
	}
	if !slices.Contains(knownMethods, method) {
		method = "other"
	}
	route = strings.TrimSuffix(route, "{$}")
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	m.took.WithLabelValues(method, route).Observe(took.Seconds())
}

// addTranscript counts a transcription.
func (m *metrics) addTranscript(model string, tr *transcript.Transcript) {
	m.audio.WithLabelValues(model).Add(tr.Duration)
	m.addStats(model, tr.Stats)
}

// addStats adds the tokens and the times of a transcription.
func (m *metrics) addStats(model string, t transcript.Stats) {
	m.tokens.WithLabelValues(model).Add(float64(t.Tokens))
	m.drafted.WithLabelValues(model).Add(float64(t.Drafts.Drafted))
	m.accepted.WithLabelValues(model).Add(float64(t.Drafts.Accepted))
	if first := t.Seconds.FirstToken(t.Work); first > 0 {
		m.first.Observe(first)
	}
	for stage, seconds := range map[string]float64{
		"mel": t.Seconds.Mel, "encode": t.Seconds.Encode, "cross_kv": t.Seconds.CrossKV, "prefill": t.Seconds.Prefill, "decode": t.Seconds.Decode - t.Seconds.Prefill,
	} {
		m.stages.WithLabelValues(model, stage).Add(seconds)
	}
}

package serve

import (
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"verity/transcript"
)

// metrics are the values of /metrics.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	took     *prometheus.HistogramVec
	audio    prometheus.Counter
	tokens   prometheus.Counter
	drafted  prometheus.Counter
	accepted prometheus.Counter
	stages   *prometheus.CounterVec
	batch    prometheus.Histogram
	delay    prometheus.Histogram
	late     prometheus.Counter
	shares   *prometheus.CounterVec
	rejected *prometheus.CounterVec
}

func newMetrics(s *Server) *metrics {
	l, o := s.line, s.opt
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "verity_" + name, Help: help})
	}
	gauge := func(name, help string, f func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "verity_" + name, Help: help}, func() float64 { return float64(f()) })
	}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "verity_requests_total", Help: "Requests answered; 499 is a client that had gone.",
		}, []string{"method", "route", "code"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "verity_request_seconds", Help: "Time of a request, waiting included.", Buckets: prometheus.ExponentialBuckets(0.05, 2, 16),
		}, []string{"method", "route"}),
		rejected: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "verity_rejected_total", Help: "Requests refused because there was no room, by reason.",
		}, []string{"reason"}),
		audio:    counter("audio_seconds_total", "Seconds of audio transcribed."),
		tokens:   counter("tokens_total", "Tokens decoded, those of refused attempts included."),
		drafted:  counter("drafted_tokens_total", "Tokens the assistant drafted."),
		accepted: counter("accepted_tokens_total", "Drafted tokens the model accepted."),
		late: counter("live_late_passes_total",
			"Passes over live sound that took, their wait included, longer than the sound between two passes should."),
		stages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "verity_stage_seconds_total", Help: "Time of transcription, by stage.",
		}, []string{"stage"}),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "verity_batch_size", Help: "Sequences that share a pass of the model.", Buckets: prometheus.ExponentialBuckets(1, 2, 7),
		}),
		delay: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "verity_live_delay_seconds", Help: "Time from the arrival of a word's end to its text, in realtime sessions.",
			Buckets: []float64{0.1, 0.15, 0.25, 0.35, 0.5, 0.75, 1, 1.5, 2.5, 4, 6, 10, 15, 20, 30, 45},
		}),
		shares: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "verity_live_delay_share_seconds_total",
			Help: "Delay of all words: listening for what follows them, waiting for a turn, transcribing.",
		}, []string{"part"}),
	}
	m.registry.MustRegister(m.requests, m.took, m.audio, m.tokens, m.drafted, m.accepted, m.stages, m.batch, m.delay, m.late, m.shares,
		m.rejected, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "verity_build_info", Help: "The program and what it serves.",
			ConstLabels: prometheus.Labels{"version": o.Version, "model": o.Name, "goversion": runtime.Version()},
		}, func() float64 { return 1 }),
		gauge("turns_limit", "Requests that are transcribed at the same time at most.", func() int { return o.Turns }),
		gauge("waiting_limit", "Requests that may wait.", func() int { return o.Waiting }),
		gauge("live_sessions_limit", "Realtime sessions at most.", func() int { return o.Sessions }),
		gauge("spool_limit_bytes", "Bytes of uploads at most.", func() int { return int(o.MaxSpool) }),
		gauge("spool_bytes", "Bytes of uploads that are worked on.", func() int { return int(s.spool.used.Load()) }),
		gauge("uploading", "Uploads that are being read.", s.intake.size),
		gauge("live_sessions", "Realtime sessions that are open.", s.sockets.open),
		gauge("working", "Requests being transcribed: those that share passes.", l.working),
		gauge("models_loaded", "Models in memory.", func() int { return s.models.loaded() }),
		gauge("waiting", "Requests that wait for a turn.", l.waiting))
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// answered counts a request. All unknown paths share one label, since clients can
// invent any number of them, and so do methods.
func (m *metrics) answered(r *http.Request, status int, took time.Duration) {
	method, route, ok := strings.Cut(r.Pattern, " ")
	if !ok {
		method, route = "other", "other"
	}
	route = strings.TrimSuffix(route, "{$}")
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	m.took.WithLabelValues(method, route).Observe(took.Seconds())
}

// passed counts a pass of the model.
func (m *metrics) passed(sequences, _ int) { m.batch.Observe(float64(sequences)) }

// heard counts a transcript and its work.
func (m *metrics) heard(t *transcript.Transcript) {
	m.audio.Add(t.Duration)
	m.worked(t.Stats)
}

// worked counts work.
func (m *metrics) worked(w transcript.Stats) {
	m.tokens.Add(float64(w.Tokens))
	m.drafted.Add(float64(w.Drafts.Drafted))
	m.accepted.Add(float64(w.Drafts.Accepted))
	s := w.Seconds
	for stage, seconds := range map[string]float64{"mel": s.Mel, "encode": s.Encode, "cross_kv": s.CrossKV, "decode": s.Decode} {
		m.stages.WithLabelValues(stage).Add(seconds)
	}
}

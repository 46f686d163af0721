package serve

import (
	"slices"
	"sort"
	"time"
)

// A clock records when samples arrived.
type clock struct{ ticks []tick }

type tick struct {
	at   int64 // samples received by then
	when time.Time
}

// mostKept ticks cover at least 80 s, in pieces of 20 ms: earlier samples get the oldest time
// that is known. So many delays of the latest words are kept, too.
const mostKept = 4096

// kept appends to a list that loses its older half when it is full.
func kept[T any](list []T, v T) []T {
	if len(list) == mostKept {
		list = list[:copy(list, list[mostKept/2:])]
	}
	return append(list, v)
}

// tick records that samples up to at have arrived.
func (c *clock) tick(at int64) {
	now := time.Now()
	if n := len(c.ticks); n > 1 && now.Sub(c.ticks[n-2].when) < 20*time.Millisecond {
		c.ticks[n-1] = tick{at, now}
		return
	}
	c.ticks = kept(c.ticks, tick{at, now})
}

// when returns when a sample arrived.
func (c *clock) when(sample int64) time.Time {
	i := sort.Search(len(c.ticks), func(i int) bool { return c.ticks[i].at >= sample })
	if i == len(c.ticks) {
		return time.Now() // the time lies behind the end of the sound
	}
	return c.ticks[i].when
}

// A tally collects the delays of words.
type tally struct {
	words  int
	delays []time.Duration // of the latest words
}

func (t *tally) add(d time.Duration) {
	t.delays = kept(t.delays, d)
	t.words++
}

// quantile returns a quantile of the delays, of q from 0 to 1.
func (t *tally) quantile(q float64) time.Duration {
	if len(t.delays) == 0 {
		return 0
	}
	d := slices.Sorted(slices.Values(t.delays))
	return d[min(int(q*float64(len(d))), len(d)-1)]
}

// A latency is the field of a completed event that holds delays. OpenAI has no such
// field.
type latency struct {
	Words  int   `json:"words"`
	Median int64 `json:"median_ms"`
	P95    int64 `json:"p95_ms"`
}

func (t *tally) report() latency {
	return latency{t.words, t.quantile(0.5).Milliseconds(), t.quantile(0.95).Milliseconds()}
}

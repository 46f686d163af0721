package serve

import (
	"slices"
	"sort"
	"time"
)

// A clock records when samples arrived.
type arrivals struct{ list []arrival }

type arrival struct {
	at   int64 // samples received by then
	when time.Time
}

// mostKept ticks cover at least 80 s, in pieces of 20 ms: earlier samples get the oldest time
// that is known. So many delays of the latest words are kept, too.
const maxRecent = 4096

// kept appends to a list that loses its older half when it is full.
func appendRecent[T any](list []T, v T) []T {
	if len(list) == maxRecent {
		list = list[:copy(list, list[maxRecent/2:])]
	}
	return append(list, v)
}

// tick records that samples up to at have arrived.
func (c *arrivals) add(at int64) {
	now := time.Now()
	if n := len(c.list); n > 1 && now.Sub(c.list[n-2].when) < 20*time.Millisecond {
		c.list[n-1] = arrival{at, now}
		return
	}
	c.list = appendRecent(c.list, arrival{at, now})
}

// when returns when a sample arrived.
func (c *arrivals) when(sample int64) time.Time {
	i := sort.Search(len(c.list), func(i int) bool { return c.list[i].at >= sample })
	if i == len(c.list) {
		return time.Now() // the time lies behind the end of the sound
	}
	return c.list[i].when
}

// A tally collects the delays of words.
type wordDelays struct {
	words  int
	delays []time.Duration // of the latest words
}

func (t *wordDelays) add(d time.Duration) {
	t.delays = appendRecent(t.delays, d)
	t.words++
}

// quantile returns a quantile of the delays, of q from 0 to 1.
func (t *wordDelays) quantile(q float64) time.Duration {
	if len(t.delays) == 0 {
		return 0
	}
	d := slices.Sorted(slices.Values(t.delays))
	return d[min(int(q*float64(len(d))), len(d)-1)]
}

// A latency is the field of a completed event that holds delays. OpenAI has no such
// field.
type latencyReport struct {
	Words  int   `json:"words"`
	Median int64 `json:"median_ms"`
	P95    int64 `json:"p95_ms"`
}

func (t *wordDelays) report() latencyReport {
	return latencyReport{t.words, t.quantile(0.5).Milliseconds(), t.quantile(0.95).Milliseconds()}
}

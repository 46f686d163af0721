package serve

import (
	"slices"
	"sort"
	"time"
)

// maxRecent is the length of lists of arrivals and delays. As arrivals it covers at least 80 s, in pieces of 20 ms.
const maxRecent = 4096

// appendRecent appends v to a list, which loses its older half when it is full.
func appendRecent[T any](list []T, v T) []T {
	if len(list) == maxRecent {
		list = list[:copy(list, list[maxRecent/2:])]
	}
	return append(list, v)
}

// arrivals records when the samples of a session arrived.
type arrivals struct{ list []arrival }

type arrival struct {
	at   int64 // samples received by then
	when time.Time
}

// add records that the samples before at have arrived.
func (a *arrivals) add(at int64) {
	now := time.Now()
	if n := len(a.list); n > 1 && now.Sub(a.list[n-2].when) < 20*time.Millisecond {
		a.list[n-1] = arrival{at, now}
		return
	}
	a.list = appendRecent(a.list, arrival{at, now})
}

// when returns when a sample arrived: for one long ago, the oldest known time.
func (a *arrivals) when(sample int64) time.Time {
	i := sort.Search(len(a.list), func(i int) bool { return a.list[i].at >= sample })
	if i == len(a.list) {
		return time.Now() // the sample lies after the end of the sound
	}
	return a.list[i].when
}

// wordDelays collects the times from the arrival of words to their text.
type wordDelays struct {
	words  int
	recent []time.Duration
}

func (d *wordDelays) add(delay time.Duration) {
	d.recent = appendRecent(d.recent, delay)
	d.words++
}

// quantile returns the quantile q, from 0 to 1, of recent delays.
func (d *wordDelays) quantile(q float64) time.Duration {
	if len(d.recent) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d.recent))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// A latencyReport is the field latency of a completed event. OpenAI has no such field.
type latencyReport struct {
	Words  int   `json:"words"`
	Median int64 `json:"median_ms"`
	P95    int64 `json:"p95_ms"`
}

func (d *wordDelays) report() latencyReport {
	return latencyReport{d.words, d.quantile(0.5).Milliseconds(), d.quantile(0.95).Milliseconds()}
}

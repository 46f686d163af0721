package serve

import (
	"slices"
	"sort"
	"time"
)

// maxArrivals is the length of the list of arrivals. An entry and the next but one are at least 20 ms apart, so a full
// list covers at least 40 s, and its newer half 20 s.
const maxArrivals = 4096

// arrivals records when the samples of a session arrived.
type arrivals struct{ list []arrival }

type arrival struct {
	at   int64 // samples received by then
	when time.Time
}

// add records that the samples before at have arrived. A full list loses its older half.
func (a *arrivals) add(at int64) {
	now := time.Now()
	if n := len(a.list); n > 1 && now.Sub(a.list[n-2].when) < 20*time.Millisecond {
		a.list[n-1] = arrival{at, now}
		return
	}
	if len(a.list) == maxArrivals {
		a.list = a.list[:copy(a.list, a.list[maxArrivals/2:])]
	}
	a.list = append(a.list, arrival{at, now})
}

// when returns when a sample arrived: for one long ago, the oldest known time.
func (a *arrivals) when(sample int64) time.Time {
	i := sort.Search(len(a.list), func(i int) bool { return a.list[i].at >= sample })
	if i == len(a.list) {
		return time.Now() // the sample lies after the end of the sound
	}
	return a.list[i].when
}

// A latencyReport is the field latency of a completed event: the times from the arrival of words to their text. OpenAI
// has no such field.
type latencyReport struct {
	Words  int   `json:"words"`
	Median int64 `json:"median_ms"`
	P95    int64 `json:"p95_ms"`
}

// newLatencyReport sorts the delays of words and returns their report.
func newLatencyReport(delays []time.Duration) latencyReport {
	if len(delays) == 0 {
		return latencyReport{}
	}
	slices.Sort(delays)
	quantile := func(q float64) int64 {
		return delays[min(int(q*float64(len(delays))), len(delays)-1)].Milliseconds()
	}
	return latencyReport{len(delays), quantile(0.5), quantile(0.95)}
}

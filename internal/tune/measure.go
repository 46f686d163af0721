package tune

import (
	"slices"
	"time"

	"verity/internal/kernel"
	"verity/parallel"
)

const (
	budget     = 50 * time.Millisecond // of the first start
	mostTurns  = 16
	leastTurns = 10 // with fewer, noise would choose

	// margin is how much less time than the default a value must take.
	margin = 0.05
)

// A timing holds what the trials of a knob took: [value][trial][turn], the default first.
type timing [][][]time.Duration

// measure tries every value of every knob in turn until the deadline. It returns the
// defaults and false if that is too soon.
func measure(p *parallel.Pool, knobs []kernel.Knob, deadline time.Time) (t kernel.Tuning, ok bool) {
	trials := kernel.NewTrials(p)
	times := make([]timing, len(knobs))
	for k, knob := range knobs {
		times[k] = make(timing, len(knob.Values))
		for v := range knob.Values {
			times[k][v] = make([][]time.Duration, len(knob.Trials))
		}
	}
	turns := 0
	for last := time.Duration(0); turns < mostTurns && time.Now().Add(last).Before(deadline); turns++ {
		begin := time.Now()
		turn(trials, knobs, times, turns)
		last = time.Since(begin)
	}
	if turns < leastTurns {
		return t, false
	}
	for k, knob := range knobs {
		knob.Set(&t, knob.Values[times[k].choose()])
	}
	return t, true
}

// turn runs every trial with every value once, in each turn beginning with another value.
func turn(trials *kernel.Trials, knobs []kernel.Knob, times []timing, n int) {
	for k, knob := range knobs {
		for i := range knob.Values {
			v := (n + i) % len(knob.Values)
			var t kernel.Tuning
			knob.Set(&t, knob.Values[v])
			if err := kernel.SetTuning(t); err != nil {
				panic(err) // knobs list their own values
			}
			for i, trial := range knob.Trials {
				times[k][v][i] = append(times[k][v][i], trials.Time(trial))
			}
		}
	}
}

// choose returns the value that is fastest. One beside the default must beat it by the
// margin in both halves of the turns: neighbours on the machine seldom favour one twice.
func (t timing) choose() (best int) {
	least := 1 - margin
	for v := 1; v < len(t); v++ {
		if c := max(t.cost(v, 0), t.cost(v, 1)); c < least {
			best, least = v, c
		}
	}
	return best
}

// cost returns the time of a value over that of the default, in one half of the turns, the
// mean over the trials. The least time of a trial counts: noise only ever adds.
func (t timing) cost(v, half int) float64 {
	sum := 0.0
	for i, turns := range t[v] {
		n := len(turns)
		lo, hi := half*n/2, (half+1)*n/2
		usual, took := slices.Min(t[0][i][lo:hi]), slices.Min(turns[lo:hi])
		if usual <= 0 { // a clock too coarse to tell
			usual, took = 1, 1
		}
		sum += float64(took) / float64(usual)
	}
	return sum / float64(len(t[v]))
}

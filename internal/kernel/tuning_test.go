package kernel

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"verity/parallel"
	"verity/precision"
)

// withTuning sets a tuning until the test ends.
func withTuning(t *testing.T, tuning Tuning) {
	t.Helper()
	saved := tuned.Load()
	if err := SetTuning(tuning); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tuned.Store(saved) })
}

// TestTuning holds products against their definition with every value of every knob, on
// every implementation.
func TestTuning(t *testing.T) {
	pool := parallel.New(2)
	defer pool.Close()
	for _, k := range Knobs() {
		for _, v := range k.Values {
			t.Run(k.String(v), func(t *testing.T) {
				var set Tuning
				k.Set(&set, v)
				withTuning(t, set)
				rng := rand.New(rand.NewPCG(41, 42))
				rows := []int{1, 2, 4, 5, 6, 7, 8, 12, 15, 16, 17, 23, 24, 37, 41}
				forAllTiles(t, func(t *testing.T) {
					for i, n := range rows {
						p := newProduct(t, rng, uniform(rng), n, 130, 65, floatTypes[i%len(floatTypes)])
						checkSame(t, p.run(t, pool, 0, n), p.want(), p.String())
					}
				})
				forAllInt8s(t, func(t *testing.T) {
					for _, n := range rows {
						p := newProduct(t, rng, uniform(rng), n, 200, 65, precision.Int8)
						checkSame(t, p.run(t, pool, 0, n), p.want(), p.String())
					}
				})
				for _, im := range fewBitsImpls {
					t.Run(im.name, func(t *testing.T) {
						useFewBits(t, im)
						for i, n := range rows {
							testFewBits(t, pool, rng, groupedTypes[i%len(groupedTypes)], n, 160, 66)
						}
					})
				}
			})
		}
	}
}

// TestKnobs: the default comes first, what is set can be read, and nothing else may be set.
func TestKnobs(t *testing.T) {
	if len(tileArch()) > 0 && len(Knobs()) == 0 && tiles.name != "ref" {
		t.Fatal("assembly is in use, and there is no choice")
	}
	for _, k := range Knobs() {
		if k.Values[0] != k.Of(defaults) || len(k.Values) < 2 || len(k.Trials) == 0 {
			t.Errorf("%s: values %v, %d trials; the default is %d", k.Name, k.Values, len(k.Trials), k.Of(defaults))
		}
		for _, v := range k.Values {
			var set Tuning
			k.Set(&set, v)
			withTuning(t, set)
			if got := k.Of(CurrentTuning()); got != v {
				t.Errorf("%s is %d after setting %d", k.Name, got, v)
			}
			if b, err := json.Marshal(set); err != nil || string(b) != fmt.Sprintf(`{"%s":%d}`, k.Name, v) {
				t.Errorf("%s: JSON %s, %v", k.String(v), b, err)
			}
		}
		before := CurrentTuning()
		bad := before
		k.Set(&bad, 7777)
		if err := SetTuning(bad); err == nil || !strings.Contains(err.Error(), k.Name+" is 7777: want one of") {
			t.Errorf("%s of 7777: error %v", k.Name, err)
		}
		if CurrentTuning() != before {
			t.Errorf("a bad tuning changed %v to %v", before, CurrentTuning())
		}
	}
}

// TestTrials: a trial goes through other weights than the one before, and takes time.
func TestTrials(t *testing.T) {
	trials := NewTrials(nil)
	for _, k := range Knobs() {
		for _, trial := range k.Trials {
			at := trials.next
			if took := trials.Time(trial); took <= 0 || trials.next == at {
				t.Errorf("%s: %v from %d to %d", k.Name, took, at, trials.next)
			}
		}
	}
}

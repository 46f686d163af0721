package scale

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of docs/CLUSTER.md anew")

// Measured: see docs/CLUSTER.md.
const (
	secondOfAudio = 28_226_955 / 1510.84 // bytes, 118 FLAC files of LibriSpeech
	indexRow      = 25e-6                // s
	recordBytes   = 2_200.0
)

// plans are the two ends of what workers are: large-v2 in int8 on two cores, and base.
var plans = []struct {
	name string
	Plan
}{
	{"large-v2, int8, 2 cores a worker", Plan{Rate: 5.9, Load: 3.9, ModelBytes: 3.09e9, AudioBytes: secondOfAudio, Store: 1e9, Index: indexRow, Record: recordBytes, Write: 100e6, Shards: 16}},
	{"a model 30 × as fast, 2 cores a worker", Plan{Rate: 177, Load: 0.4, ModelBytes: 145e6, AudioBytes: secondOfAudio, Store: 1e9, Index: indexRow, Record: recordBytes, Write: 100e6, Shards: 16}},
}

// thousandHours are utterances of LibriSpeech's spread: 2.4 to 16.8 s, most near 14 s.
func thousandHours() []float64 {
	rng := rand.New(rand.NewPCG(1, 2))
	var all []float64
	for total := 0.0; total < 1000*3600; {
		l := 16.8 - min(14.4, rng.ExpFloat64()*4)
		all, total = append(all, l), total+l
	}
	return all
}

// TestSimulate holds the simulation against what is known without it: never sooner than
// the work divided evenly or than the longest chunk, never later than both together
// (Graham's bound for a list schedule), and one worker takes the sum.
func TestSimulate(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		p := Plan{Rate: 1 + 9*rng.Float64(), Store: 1e12, AudioBytes: 1, ModelBytes: 1, Write: 1e9, Chunk: 1 + rng.IntN(8)}
		lengths := make([]float64, 1+rng.IntN(300))
		for i := range lengths {
			lengths[i] = rng.ExpFloat64() * 10
		}
		n := 1 + rng.IntN(50)
		o := p.Simulate(n, lengths)
		work, longest := sum(lengths)/p.Rate, slices.Max(p.chunks(lengths))/p.Rate
		low := max(work/float64(n), longest)
		if o.Transcribe < low*(1-1e-9) || o.Transcribe > (work/float64(n)+longest)*(1+1e-9) {
			t.Fatalf("%d workers take %v s, want %v to %v", n, o.Transcribe, low, work/float64(n)+longest)
		}
		if one := p.Simulate(1, lengths); math.Abs(one.Transcribe-work) > 1e-9*work || math.Abs(one.Busy-1) > 1e-9 {
			t.Fatalf("one worker takes %v s and is busy for %v of them, want %v and all", one.Transcribe, one.Busy, work)
		}
	}
	if o := (Plan{Rate: 1, Store: 1, Write: 1}).Simulate(3, nil); o.Transcribe != 0 || math.IsNaN(o.Total) {
		t.Errorf("nothing takes %+v", o)
	}
}

// TestBounds checks the formulas by the simulation: at the bound of reading, of the index
// and of the slowest chunk, that stage takes as long as transcribing should.
func TestBounds(t *testing.T) {
	lengths := thousandHours()
	for _, p := range plans {
		b := p.Bounds(lengths)
		work := sum(lengths) / p.Rate
		n := int(b.Read)
		fine := p.Plan
		fine.Chunk = 1 // far more chunks than workers
		if o := fine.Simulate(2*n, lengths); math.Abs(o.Transcribe-work/b.Read) > 0.15*work/b.Read {
			t.Errorf("%s: twice the workers that the store feeds take %.0f s, want the %.0f s of the store", p.name, o.Transcribe, work/b.Read)
		}
		if o := p.Simulate(int(b.Index), lengths); math.Abs(o.Index-work/b.Index) > 0.01*o.Index {
			t.Errorf("%s: the index takes %v s, the workers %v", p.name, o.Index, work/b.Index)
		}
		free := p.Plan
		free.Store, free.ModelBytes = 1e15, 1
		many := int(4 * b.Slowest)
		longest := slices.Max(free.defaults().chunks(lengths)) / free.Rate
		if o := free.Simulate(many, lengths); math.Abs(o.Transcribe-longest) > 1e-6*longest {
			t.Errorf("%s: with a worker for each chunk it takes %v s, want the longest chunk's %v", p.name, o.Transcribe, longest)
		}
	}
}

// table is that of docs/CLUSTER.md.
func table() string {
	lengths := thousandHours()
	var b strings.Builder
	for _, p := range plans {
		fmt.Fprintf(&b, "\n%s:\n\n| workers | hours | of these, index | models | transcribing | writing | workers busy |\n|---:|---:|---:|---:|---:|---:|---:|\n", p.name)
		for _, n := range []int{1, 8, 64, 256, 1024, 4096} {
			o := p.Simulate(n, lengths)
			fmt.Fprintf(&b, "| %d | %.3g | %.2g s | %.3g s | %.4g s | %.2g s | %.0f %% |\n", n, o.Total/3600, o.Index, o.Ready, o.Transcribe, o.Write, 100*o.Busy*o.Transcribe/o.Total)
		}
		x := p.Bounds(lengths)
		fmt.Fprintf(&b, "\nBounds, in workers: reading %.0f, the slowest chunk %.0f, the index %.0f, fetching the model %.0f, writing %.0f. The first is %s.\n",
			x.Read, x.Slowest, x.Index, x.Model, x.Write, x.First)
	}
	return b.String()
}

// TestTable checks that docs/CLUSTER.md has the table of this simulation; -update writes it.
func TestTable(t *testing.T) {
	const begin, end = "<!-- simulated -->\n", "<!-- end -->"
	name := filepath.Join("..", "..", "docs", "CLUSTER.md")
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(raw), begin)
	was, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no %q and %q", name, begin, end)
	}
	want := table() + "\n"
	if *update {
		if err := os.WriteFile(name, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if was != want {
		t.Errorf("%s is not current: go test ./scale -update. Want:\n%s", name, want)
	}
}

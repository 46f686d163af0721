package kernel

import (
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"verity/parallel"
)

func TestCeilings(t *testing.T) {
	pool := parallel.New(2)
	defer pool.Close()
	forSets(t, func(t *testing.T) {
		for _, p := range []*parallel.Pool{nil, pool} {
			const d = 2 * time.Millisecond
			fma, dot, vector, read := PeakFMA(p, d), PeakVNNI(p, d), PeakVector(p, d), ReadBandwidth(p, d)
			t.Logf("%d threads: %.1f GFLOP/s, %.1f GOP/s int8, %.1f GOP/s of vectors, %.1f GB/s", p.Threads(), fma/1e9, dot/1e9, vector/1e9, read/1e9)
			if !(min(fma, dot, vector, read) > 0) { // how much, the load of the machine decides
				t.Errorf("%g FLOP/s, %g int8 operations/s, %g of vectors, %g bytes/s: want all above 0", fma, dot, vector, read)
			}
		}
	})
}

// TestCeilingCounts measures kernels that only count how often they are called: what
// is reported is their work, two operations for each product, over the time.
func TestCeilingCounts(t *testing.T) {
	var work atomic.Int64
	count := func(n int) {
		work.Add(int64(n))
		time.Sleep(time.Millisecond)
	}
	defer func(saved set) { use = saved }(use)
	use.ceilings = ceilingKernels{fma: count, fmaPerRound: 3, dot: count, dotPerRound: 5, vector: count, vectorPerRound: 7, read: func(b []byte) { count(len(b)) }}
	for name, tt := range map[string]struct {
		measure func(*parallel.Pool, time.Duration) float64
		each    float64 // of what the kernel was asked for
	}{"PeakFMA": {PeakFMA, 2 * 3}, "PeakVNNI": {PeakVNNI, 2 * 5}, "PeakVector": {PeakVector, 7}, "ReadBandwidth": {ReadBandwidth, 1}} {
		const d = 30 * time.Millisecond // the calls take so long at least
		work.Store(0)
		began := time.Now()
		got := tt.measure(nil, d)
		took := time.Since(began)
		n := tt.each * float64(work.Load())
		if most, least := n/d.Seconds(), n/took.Seconds(); !(got <= most) || !(got >= least) {
			t.Errorf("%s: %g a second; want %g to %g, for %g in %v to %v", name, got, least, most, n, d, took)
		}
	}
}

// TestCeilingRounds counts the products of a round in the assembly: multiplying
// instructions, times the lanes of their vectors; and all instructions of vectors, of
// which half multiply.
func TestCeilingRounds(t *testing.T) {
	if runtime.GOARCH == "arm64" {
		ceilingRoundsARM(t)
		return
	}
	var source []byte
	for _, name := range []string{"kernels_amd64.s"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, text...)
	}
	products := map[string]float64{}
	step := regexp.MustCompile(`(?m)^\t(VFMADD231PS|VADDPS|VMAXPS|VPDPBUSD|VPMADDWD) +([YZ])`)
	for _, f := range strings.Split(string(source), "\nTEXT ·")[1:] {
		name, body, _ := strings.Cut(f, "(SB)")
		for _, m := range step.FindAllStringSubmatch(body, -1) {
			n := map[string]float64{"VFMADD231PS": 8, "VADDPS": 8, "VMAXPS": 8, "VPDPBUSD": 32, "VPMADDWD": 16}[m[1]] // of 256 bits
			if m[2] == "Z" {
				n *= 2
			}
			products[name] += n
		}
		products[name] += float64(strings.Count(body, "// TDPBUSD")*16*16*64 + strings.Count(body, "// VPDPBUSD Y")*32)
	}
	roundsAre(t, products, map[string][3]string{
		"amx":     {"fmaPeakAVX512", "dotPeakAMX", "vectorPeakAVX512"},
		"avx512":  {"fmaPeakAVX512", "dotPeakAVX512", "vectorPeakAVX512"},
		"avxvnni": {"fmaPeakAVX2", "dotPeakVNNI", "vectorPeakAVX2"},
		"avx2":    {"fmaPeakAVX2", "dotPeakAVX2", "vectorPeakAVX2"},
	})
}

// ceilingRoundsARM does so for arm64, whose instructions are words with their text.
func ceilingRoundsARM(t *testing.T) {
	text, err := os.ReadFile("ceiling_arm64.s")
	if err != nil {
		t.Fatal(err)
	}
	products := map[string]float64{}
	for _, f := range strings.Split(string(text), "\nTEXT ·")[1:] {
		name, body, _ := strings.Cut(f, "(SB)")
		for instruction, each := range map[string]int{"fmla": 4, "fadd": 4, "smlal": 8, "sdot": 16, "smmla": 32} {
			products[name] += float64(each * strings.Count(body, "// "+instruction+" "))
		}
	}
	roundsAre(t, products, map[string][3]string{
		"neon":    {"fmaPeakNEON", "dotPeakNEON", "vectorPeakNEON"},
		"dotprod": {"fmaPeakNEON", "dotPeakDot", "vectorPeakNEON"},
		"i8mm":    {"fmaPeakNEON", "dotPeakI8MM", "vectorPeakNEON"},
	})
}

// roundsAre compares what rounds count as with the products of the functions that sets measure.
func roundsAre(t *testing.T, products map[string]float64, functions map[string][3]string) {
	for _, s := range sets {
		f, ok := functions[s.name]
		if !ok || s.name == "avx512" && !s.ok { // that may lack VNNI
			continue
		}
		got, want := [3]float64{s.ceilings.fmaPerRound, s.ceilings.dotPerRound, s.ceilings.vectorPerRound}, [3]float64{products[f[0]], products[f[1]], products[f[2]]}
		if got != want {
			t.Errorf("%s: a round counts as %v, the assembly has %v", s.name, got, want)
		}
	}
}

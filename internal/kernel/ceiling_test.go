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
	for _, im := range ceilingImpls {
		t.Run(im.name, func(t *testing.T) {
			if !im.ok {
				skipOrRequire(t, im.name)
			}
			saved := ceilings
			ceilings = im
			defer func() { ceilings = saved }()
			for _, p := range []*parallel.Pool{nil, pool} {
				const d = 2 * time.Millisecond
				fma, dot, vector, read := PeakFMA(p, d), PeakVNNI(p, d), PeakVector(p, d), ReadBandwidth(p, d)
				t.Logf("%d threads: %.1f GFLOP/s, %.1f GOP/s int8, %.1f GOP/s of vectors, %.1f GB/s", p.Threads(), fma/1e9, dot/1e9, vector/1e9, read/1e9)
				if !(fma > 1e7) || !(dot > 1e7) || !(vector > 1e7) || !(read > 1e7) {
					t.Errorf("%g FLOP/s, %g int8 operations/s, %g of vectors, %g bytes/s: too little to be true", fma, dot, vector, read)
				}
			}
		})
	}
}

// TestCeilingCounts measures kernels that only count how often they are called: what
// is reported is their work, two operations for each product, over the time.
func TestCeilingCounts(t *testing.T) {
	var work atomic.Int64
	count := func(n int) {
		work.Add(int64(n))
		time.Sleep(time.Millisecond)
	}
	defer func(saved impl[ceilingKernels]) { ceilings = saved }(ceilings)
	ceilings.fn = ceilingKernels{fma: count, fmaPerRound: 3, dot: count, dotPerRound: 5, vector: count, vectorPerRound: 7, read: func(b []byte) { count(len(b)) }}
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
	for i, im := range ceilingImpls {
		fma, dot, vector := "fmaPeakAVX512", "dotPeakAVX512", "vectorPeakAVX512"
		switch {
		case im.name == "ref":
			continue
		case im.name == "amx":
			dot = "dotPeakAMX"
		case im.name == "avx2":
			fma, dot, vector = "fmaPeakAVX2", "dotPeakAVX2", "vectorPeakAVX2"
			if ceilingImpls[i+1].name == im.name {
				dot = "dotPeakVNNI"
			}
		case i > 0 && ceilingImpls[i-1].name == im.name: // without VNNI
			dot = "dotPeakAVX2"
		}
		if im.fn.fmaPerRound != products[fma] || im.fn.dotPerRound != products[dot] || im.fn.vectorPerRound != products[vector] {
			t.Errorf("%s: a round counts as %v, %v and %v, the assembly has %v, %v and %v", im.name,
				im.fn.fmaPerRound, im.fn.dotPerRound, im.fn.vectorPerRound, products[fma], products[dot], products[vector])
		}
	}
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
	dots := map[string]string{"neon": "dotPeakNEON", "dotprod": "dotPeakDot", "i8mm": "dotPeakI8MM"}
	for _, im := range ceilingImpls {
		if im.name == "ref" {
			continue
		}
		if fma, dot, vector := products["fmaPeakNEON"], products[dots[im.name]], products["vectorPeakNEON"]; im.fn.fmaPerRound != fma ||
			im.fn.dotPerRound != dot || im.fn.vectorPerRound != vector {
			t.Errorf("%s: a round counts as %v, %v and %v, the assembly has %v, %v and %v", im.name,
				im.fn.fmaPerRound, im.fn.dotPerRound, im.fn.vectorPerRound, fma, dot, vector)
		}
	}
}

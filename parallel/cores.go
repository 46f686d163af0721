package parallel

import "runtime"

// fastCores returns how many threads a pool has by default: as many as Go may run at the same time,
// without slow cores (Apple's efficiency cores, the small ones of big.LITTLE). Threads steal parts
// from each other, so a slow core delays a job by one part at most. But a step of the decoder is a
// hundred jobs of few parts, and each of them would wait for that part.
func fastCores() int {
	procs := runtime.GOMAXPROCS(0)
	if n := systemFastCores(); n > 0 {
		return min(n, procs)
	}
	return procs
}

// countFast returns how many of the cores have at least half of the largest capacity.
func countFast(capacities []int) (n int) {
	most := 0
	for _, c := range capacities {
		most = max(most, c)
	}
	for _, c := range capacities {
		if 2*c >= most {
			n++
		}
	}
	return n
}

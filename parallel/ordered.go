package parallel

import "iter"

// maxWorkers is the maximum number of jobs that Ordered runs at the same time. It replaces any
// larger number.
const maxWorkers = 1 << 12

// Ordered runs do for each job, at most workers jobs at the same time (below 1
// means 1), and yields the results in the order of the jobs. do also gets the index
// of its worker, from 0, so that it can reuse that worker's memory: no two jobs
// have the same worker at the same time. A result must not use that memory: the worker's next
// job may run before the caller sees it.
//
// A result waits for its turn. ahead is how many results may wait in addition to those of the
// workers: no job starts further ahead of the oldest one that runs.
//
// When the caller leaves the loop, even by a panic, no further job starts, and Ordered
// returns once the running ones have ended.
func Ordered[J, R any](workers, ahead int, jobs iter.Seq[J], do func(worker int, job J) R) iter.Seq[R] {
	workers, ahead = min(max(workers, 1), maxWorkers), max(ahead, 0)
	return func(yield func(R) bool) {
		queue := make(chan chan R, workers-1+ahead) // results in order; one more is being waited for
		free := make(chan int, workers)
		for i := range workers {
			free <- i
		}
		stop, fed := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(fed)
			defer close(queue)
			for job := range jobs {
				var worker int
				select {
				case worker = <-free:
				case <-stop:
					return
				}
				out := make(chan R, 1)
				select {
				case queue <- out:
				case <-stop:
					return
				}
				go func() {
					r := do(worker, job)
					free <- worker
					out <- r
				}()
			}
		}()
		defer func() { // also after a panic in the loop
			close(stop)
			for out := range queue {
				<-out
			}
			<-fed
		}()
		for out := range queue {
			if !yield(<-out) {
				return
			}
		}
	}
}

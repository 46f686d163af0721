package eval

// inOrder runs jobs, at most workers at a time (0 means 1), and yields their
// results in the order of the jobs. When the caller wants no more, jobs that have
// begun are waited for.
func inOrder[T any](workers int, jobs func(yield func(func() T) bool)) func(yield func(T) bool) {
	return func(yield func(T) bool) {
		queue := make(chan chan T, max(1, workers)-1) // and the one being waited for
		stop, fed := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(fed)
			defer close(queue)
			for job := range jobs {
				out := make(chan T, 1)
				select {
				case queue <- out:
				case <-stop:
					return
				}
				go func() { out <- job() }()
			}
		}()
		more := true
		for out := range queue {
			if v := <-out; more && !yield(v) {
				more = false
				close(stop)
			}
		}
		<-fed
	}
}

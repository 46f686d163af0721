package text

import (
	"sync"

	"verity/transcript"
)

// A job is a file to transcribe. Its segments wait until they may be printed, after the files
// before it.
type job struct {
	index int
	name  string

	mu      sync.Mutex
	waiting []transcript.Segment
	print   func(transcript.Segment) // nil while they wait

	ended  chan struct{}
	result *transcript.Transcript
	err    error
}

// begin prints the segments that wait; from then on add prints.
func (j *job) begin(print func(transcript.Segment)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, s := range j.waiting {
		print(s)
	}
	j.print = print
}

// add prints a new segment, or queues it until begin.
func (j *job) add(s transcript.Segment) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.print != nil {
		j.print(s)
	} else {
		j.waiting = append(j.waiting, s)
	}
}

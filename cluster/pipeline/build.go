package pipeline

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// Build returns the pipeline of a job.
func Build(s Spec) *beam.Pipeline {
	p, root := beam.NewPipelineWithRoot()
	chunks, marks := beam.ParDo2(root.Scope("index"), &indexFn{Spec: s}, beam.Impulse(root))
	// Without this, one worker would do it all: a runner keeps what follows a read
	// together with it.
	chunks = beam.Reshuffle(root, chunks)
	records := beam.ParDo(root.Scope("transcribe"), &transcribeFn{Spec: s}, chunks)
	shards := beam.GroupByKey(root, beam.Flatten(root, marks, records))
	tallies := beam.ParDo(root.Scope("write"), &writeFn{Spec: s}, shards)
	sum := beam.Combine(root.Scope("score"), &sumFn{}, tallies)
	beam.ParDo0(root.Scope("save"), &saveFn{Spec: s}, sum)
	return p
}

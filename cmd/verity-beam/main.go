package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
	"verity/cmd/internal/measure"
	"verity/eval/report"

	"verity/cmd/verity-beam/pipeline"
	"verity/cmd/verity-beam/store"
)

const help = `Verity-beam is "verity eval" as a pipeline of Apache Beam. Without more flags it runs
in this process; with --runner it runs on a cluster: flink, spark, dataflow, or
universal with --endpoint for any job server. docs/CLUSTER.md says how.

The records are those of verity eval: the same bytes, times aside, whatever runs them.
They go to --out as records.jsonl, or with --shards N as the files of verity eval
--shard, for "verity report". A job that is started again with the same --out continues
where it stopped, and retries what failed.

  verity-beam --dataset LibriSpeech/test-clean --model ~/whisper-small --out out
  verity-beam --dataset 'gs://bucket/test-*.parquet' --model /models/small --out gs://bucket/out \
      --runner universal --endpoint job-server:8099 --shards 16

The program is its own worker. As a service that starts workers, and as a job server:

  verity-beam --worker_pool [--host localhost] [--port 50000]
  verity-beam --job_server [--port 8073]

Exit status: 0 done, 1 some utterance failed or the job did, 2 wrong usage, 130 interrupted.`

// A program is what the user asked for.
type program struct {
	job      *measure.Job
	spec     pipeline.Spec
	attempts int
	level    string
}

// version is set by the linker (see Makefile). Records name it, as those of verity do.
var version string

func main() {
	cli.Version = cmp.Or(version, cli.Version)
	args := os.Args[1:]
	if r := roleOf(args); r != nil {
		if err := r.run(args); err != nil {
			fmt.Fprintln(os.Stderr, "verity-beam:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, args)
	stop()
	os.Exit(code)
}

// run does what the user asked for and returns the exit status.
func run(ctx context.Context, args []string) int {
	p := &program{}
	root := &cobra.Command{
		Use: "verity-beam --dataset PATH --out DIR [flags]", Short: "Evaluate on a cluster", Long: help, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.runPipeline(cmd.Context()) },
	}
	p.job = measure.NewJob(root, os.Stdout, os.Stderr, "Cluster", p.register)
	root.SetArgs(args)
	err := cli.Repeated(root.Flags(), args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	return p.job.Fail(ctx, "verity-beam", err)
}

// hidden are flags of Beam that this program sets itself or that only workers need.
var hidden = []string{"worker", "id", "logging_endpoint", "control_endpoint", "semi_persist_dir", "options", "async", "execute_async"}

func (p *program) register(f *pflag.FlagSet) {
	f.StringVarP(&p.spec.Out, "out", "o", "", "`directory` for records and score; or a path in an object store")
	f.IntVar(&p.spec.Shards, "shards", 1, "`number` of record files; each is sorted in memory")
	f.IntVar(&p.spec.Chunk, "chunk", 16, "`number` of utterances that are transcribed, stored and retried together")
	f.IntVar(&p.attempts, "attempts", 3, "`number` of times the job is started; runners such as prism do not retry by themselves")
	f.StringVar(&p.level, "beam-log", "error", "`level` of Beam's log: debug, info, warn or error")
	flag.CommandLine.VisitAll(func(g *flag.Flag) {
		if !slices.Contains(hidden, g.Name) && !strings.HasPrefix(g.Name, "test.") {
			f.AddGoFlag(g)
		}
	})
}

// check reports the first flag with an unusable value.
func (p *program) check() error {
	switch {
	case p.spec.Out == "":
		return cli.Usagef("--out DIR is missing: records are the result of the job")
	case p.job.Dataset() == "":
		return cli.Usagef("--dataset PATH is missing")
	case p.spec.Shards < 1 || p.spec.Shards > 1<<16:
		return cli.Usagef("--shards %d: must be from 1 to %d", p.spec.Shards, 1<<16)
	case p.spec.Chunk < 1 || p.spec.Chunk > 1<<12:
		return cli.Usagef("--chunk %d: must be from 1 to %d", p.spec.Chunk, 1<<12)
	case p.attempts < 1:
		return cli.Usagef("--attempts %d: must be 1 or more", p.attempts)
	case !slices.Contains([]string{"debug", "info", "warn", "error"}, p.level):
		return cli.Usagef("--beam-log %q: want debug, info, warn or error", p.level)
	}
	return p.job.Check()
}

func (p *program) runPipeline(ctx context.Context) (err error) {
	if err := p.check(); err != nil {
		return err
	}
	p.spec.Args = p.job.Args()
	if p.spec.Data, err = files(ctx, p.job.Dataset()); err != nil {
		return err
	}
	beamlog.LogLevel = p.level
	if err := flag.CommandLine.Parse(nil); err != nil {
		return err
	}
	if self, err := os.Executable(); err == nil && *jobopts.WorkerBinary == "" {
		*jobopts.WorkerBinary = self // otherwise Beam would compile one
	}
	if !beam.Initialized() {
		beam.Init()
	}
	if err := p.attempt(ctx); err != nil {
		return err
	}
	return p.report(ctx)
}

// files returns the files that match a pattern or lie below a path in an object store. A local
// path has none: the job opens it by itself.
func files(ctx context.Context, path string) ([]string, error) {
	switch {
	case store.Pattern(path):
		return store.List(ctx, path)
	case store.Remote(path) && !strings.HasSuffix(path, ".parquet"):
		return store.List(ctx, store.Join(path, "*.parquet"))
	case store.Remote(path):
		return store.List(ctx, path)
	}
	return nil, nil
}

// attempt runs the pipeline until it succeeds. Finished chunks stay, so the next attempt does
// only the rest.
func (p *program) attempt(ctx context.Context) (err error) {
	endpoint := *jobopts.Endpoint
	for n := range p.attempts {
		if n > 0 {
			fmt.Fprintf(os.Stderr, "verity-beam: attempt %d of %d failed: %v\nverity-beam: continuing with the rest\n", n, p.attempts, err)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
		*jobopts.Endpoint = endpoint // prism writes its own there
		if err = beamx.Run(ctx, pipeline.Build(p.spec)); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return fmt.Errorf("the job failed %d times: %w", p.attempts, err)
}

// report scores the records of the job.
func (p *program) report(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "verity-beam")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	paths, err := store.Fetch(ctx, dir, p.spec.Files())
	if err != nil {
		return err
	}
	return p.job.Report(ctx, report.Files{Name: p.spec.Out, Paths: paths})
}

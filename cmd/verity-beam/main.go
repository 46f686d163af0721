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
--shard, for "verity report". A job that is started again over the same --out goes on
where it was, and tries what failed again.

  verity-beam --dataset LibriSpeech/test-clean --model ~/whisper-small --out out
  verity-beam --dataset 'gs://bucket/test-*.parquet' --model /models/small --out gs://bucket/out \
      --runner universal --endpoint job-server:8099 --shards 16

It is its own worker. For runners that ask a service for workers, and as a job server:

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

// version is set by the linker, as in Makefile: records name it, as those of verity do.
var version string

func main() {
	cli.Version = cmp.Or(version, cli.Version)
	args := os.Args[1:]
	var err error
	switch role(args) {
	case roleWorker:
		err = work(args)
	case roleBoot:
		err = boot(args)
	case rolePool:
		err = servePool(args)
	case roleServer:
		err = serveJobs(args)
	default:
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		context.AfterFunc(ctx, stop) // a second signal ends the process at once
		code := run(ctx, args)
		stop()
		os.Exit(code)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "verity-beam:", err)
		os.Exit(1)
	}
}

// run does what the user asked for and returns the exit status.
func run(ctx context.Context, args []string) int {
	p := &program{}
	root := &cobra.Command{
		Use: "verity-beam --dataset PATH --out DIR [flags]", Short: "Evaluate on a cluster", Long: help, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.run(cmd.Context()) },
	}
	p.job = measure.NewJob(root, os.Stdout, os.Stderr, "Cluster", p.register)
	root.SetArgs(args)
	return p.job.Fail(ctx, "verity-beam", args, root.ExecuteContext(ctx))
}

// ours are the flags of Beam that are set by this program or for workers alone.
var ours = []string{"worker", "id", "logging_endpoint", "control_endpoint", "semi_persist_dir", "options", "async", "execute_async"}

func (p *program) register(f *pflag.FlagSet) {
	f.StringVarP(&p.spec.Out, "out", "o", "", "`directory` for records and score; a path of an object store will do")
	f.IntVar(&p.spec.Shards, "shards", 1, "`number` of record files: each is held in memory while it is sorted")
	f.IntVar(&p.spec.Chunk, "chunk", 16, "`number` of utterances that are handed out, kept and tried again together")
	f.IntVar(&p.attempts, "attempts", 3, "`number` of times the job is started before it has failed: runners such as prism do not retry")
	f.StringVar(&p.level, "beam-log", "error", "`level` of Beam's log: debug, info, warn or error")
	flag.CommandLine.VisitAll(func(g *flag.Flag) {
		if !slices.Contains(ours, g.Name) && !strings.HasPrefix(g.Name, "test.") {
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

func (p *program) run(ctx context.Context) (err error) {
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
		*jobopts.WorkerBinary = self // or Beam would compile another
	}
	if !beam.Initialized() {
		beam.Init()
	}
	if err := p.attempt(ctx); err != nil {
		return err
	}
	return p.report(ctx)
}

// files returns the files that a pattern names, or a path of an object store; nothing
// for a path here.
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

// attempt runs the pipeline until it is done. What an attempt has finished is kept, so
// the next one does the rest.
func (p *program) attempt(ctx context.Context) (err error) {
	endpoint := *jobopts.Endpoint
	for n := range p.attempts {
		if n > 0 {
			fmt.Fprintf(os.Stderr, "verity-beam: attempt %d of %d has failed: %v\nverity-beam: going on with what it has not done\n", n, p.attempts, err)
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
	return fmt.Errorf("the job has failed %d times: %w", p.attempts, err)
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

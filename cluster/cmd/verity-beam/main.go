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

	"verity/eval"
	"verity/internal/command"
	"verity/internal/measure"
	"verity/report"

	"verity/cluster/pipeline"
	"verity/cluster/store"
)

const help = `Verity-beam is "verity eval" as a pipeline of Apache Beam. Without more flags it runs
in this process; with --runner it runs on a cluster: flink, spark, dataflow, or
universal with --endpoint for any job server. docs/CLUSTER.md says how.

The records are those of verity eval: the same bytes, times aside, whatever runs them.
They go to --out as records.jsonl, or with --shards N as the files of verity eval
--shard, for "verity report". A job that is started again over the same --out goes on
where it was, and tries what failed again.

With --compare every row is run plain and assisted on the same worker, and the records
are held against each other to the bit, as verity compare does.

  verity-beam --dataset LibriSpeech/test-clean --model ~/whisper-small --out out
  verity-beam --dataset 'gs://bucket/test-*.parquet' --model /models/small --out gs://bucket/out \
      --runner universal --endpoint job-server:8099 --shards 16

It is its own worker. For runners that ask a service for workers, and as a job server:

  verity-beam --worker_pool [--host localhost] [--port 50000]
  verity-beam --job_server [--port 8073]

Exit status: 0 done, 1 some utterance failed or the job did, 2 wrong usage, 3 both arms
differ, 130 interrupted.`

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
	command.Version = cmp.Or(version, command.Version)
	args := os.Args[1:]
	var err error
	switch role(args) {
	case "worker":
		err = work(args)
	case "boot":
		err = boot(args)
	case "pool":
		err = servePool(args)
	case "server":
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
	c := &program{}
	root := &cobra.Command{
		Use: "verity-beam --dataset PATH --out DIR [flags]", Short: "Evaluate on a cluster", Long: help, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	c.job = measure.NewJob(root, os.Stdout, os.Stderr, "Cluster", c.register)
	root.SetArgs(args)
	return c.job.Fail(ctx, "verity-beam", args, root.ExecuteContext(ctx))
}

// ours are the flags of Beam that are set by this program or for workers alone.
var ours = []string{"worker", "id", "logging_endpoint", "control_endpoint", "semi_persist_dir", "options", "async", "execute_async"}

func (c *program) register(f *pflag.FlagSet) {
	f.StringVarP(&c.spec.Out, "out", "o", "", "`directory` for records and score; a path of an object store will do")
	f.IntVar(&c.spec.Shards, "shards", 1, "`number` of record files: each is held in memory while it is sorted")
	f.IntVar(&c.spec.Chunk, "chunk", 16, "`number` of utterances that are handed out, kept and tried again together")
	f.IntVar(&c.attempts, "attempts", 3, "`number` of times the job is started before it has failed: runners such as prism do not retry")
	f.StringVar(&c.level, "beam-log", "error", "`level` of Beam's log: debug, info, warn or error")
	flag.CommandLine.VisitAll(func(g *flag.Flag) {
		if !slices.Contains(ours, g.Name) && !strings.HasPrefix(g.Name, "test.") {
			f.AddGoFlag(g)
		}
	})
}

// check reports the first flag with an unusable value.
func (c *program) check() error {
	switch {
	case c.spec.Out == "":
		return command.Usagef("--out DIR is missing: records are the result of the job")
	case c.job.Dataset() == "":
		return command.Usagef("--dataset PATH is missing")
	case c.spec.Shards < 1 || c.spec.Shards > 1<<16:
		return command.Usagef("--shards %d: must be from 1 to %d", c.spec.Shards, 1<<16)
	case c.spec.Chunk < 1 || c.spec.Chunk > 1<<12:
		return command.Usagef("--chunk %d: must be from 1 to %d", c.spec.Chunk, 1<<12)
	case c.attempts < 1:
		return command.Usagef("--attempts %d: must be 1 or more", c.attempts)
	case !slices.Contains([]string{"debug", "info", "warn", "error"}, c.level):
		return command.Usagef("--beam-log %q: want debug, info, warn or error", c.level)
	}
	return c.job.Check()
}

func (c *program) run(ctx context.Context) (err error) {
	if err := c.check(); err != nil {
		return err
	}
	c.spec.Args = c.job.Args()
	if c.spec.Files, err = files(ctx, c.job.Dataset()); err != nil {
		return err
	}
	beamlog.LogLevel = c.level
	if err := flag.CommandLine.Parse(nil); err != nil {
		return err
	}
	if self, err := os.Executable(); err == nil && *jobopts.WorkerBinary == "" {
		*jobopts.WorkerBinary = self // or Beam would compile another
	}
	if !beam.Initialized() {
		beam.Init()
	}
	if err := c.attempt(ctx); err != nil {
		return err
	}
	return c.report(ctx)
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
func (c *program) attempt(ctx context.Context) (err error) {
	endpoint := *jobopts.Endpoint
	for n := range c.attempts {
		if n > 0 {
			fmt.Fprintf(os.Stderr, "verity-beam: attempt %d of %d has failed: %v\nverity-beam: going on with what it has not done\n", n, c.attempts, err)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
		*jobopts.Endpoint = endpoint // prism writes its own there
		if err = beamx.Run(ctx, pipeline.Build(c.spec)); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return fmt.Errorf("the job has failed %d times: %w", c.attempts, err)
}

// report writes the report of what the job came to.
func (c *program) report(ctx context.Context) error {
	raw, err := store.Read(ctx, store.Join(c.spec.Out, pipeline.ScoreFile))
	if err != nil {
		return err
	}
	sum, err := pipeline.DecodeSum(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", store.Join(c.spec.Out, pipeline.ScoreFile), err)
	}
	arms := c.job.ArmNames()
	var sets []report.Files
	for _, arm := range arms {
		s := sum.Arms[arm]
		if s == nil || s.Empty() {
			return fmt.Errorf("dataset %s holds no utterance: there is nothing to report", c.job.Dataset())
		}
		if len(arms) == 1 {
			return c.job.Conclude(ctx, &report.Document{Scores: []*report.Score{s.Score(c.spec.Out)}}, "")
		}
		dir, err := os.MkdirTemp("", "verity-beam")
		if err != nil {
			return err
		}
		paths, err := store.Fetch(ctx, dir, c.spec.Names(arm))
		if err != nil {
			return err
		}
		sets = append(sets, report.Files{Name: arm, Paths: paths})
	}
	d, err := report.Load(ctx, sets, c.job.Normalizer())
	if err != nil {
		return err
	}
	eval.Predict(d)
	return c.job.Conclude(ctx, d, "")
}

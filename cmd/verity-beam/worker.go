package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/container/tools"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
)

// A role is what a process is if it has a flag. Without such a flag it is a user's, and starts a job.
type role struct {
	flag string
	run  func(args []string) error
}

var roles = []role{
	{"worker", work},             // runs bundles
	{"worker_pool", servePool},   // starts workers
	{"job_server", serveJobs},    // accepts jobs
	{"provision_endpoint", boot}, // becomes a worker
}

// roleOf returns the role that the arguments ask for; nil for a user's.
func roleOf(args []string) *role {
	for i, r := range roles {
		if slices.ContainsFunc(args, func(a string) bool {
			name, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
			return name == r.flag && strings.HasPrefix(a, "-")
		}) {
			return &roles[i]
		}
	}
	return nil
}

// work runs bundles until the runner ends the process. Beam does that inside Init.
func work(args []string) error {
	if err := flag.CommandLine.Parse(args); err != nil {
		return err
	}
	beam.Init()
	return errors.New("the worker has ended")
}

// boot does what Beam's container boot program does, without downloading a worker: this program is
// the worker. The runner or the pool names the endpoints.
func boot(args []string) error {
	f := flag.NewFlagSet("boot", flag.ContinueOnError)
	id := f.String("id", "", "name of this worker")
	logging := f.String("logging_endpoint", "", "where logs go")
	control := f.String("control_endpoint", "", "where work comes from")
	provision := f.String("provision_endpoint", "", "where the options of the job are")
	f.String("artifact_endpoint", "", "where the runner stores files; not used")
	f.String("semi_persist_dir", "", "folder of this worker; not used")
	if err := f.Parse(args); err != nil {
		return err
	}
	ctx := grpcx.WriteWorkerID(context.Background(), *id)
	info, err := tools.ProvisionInfo(ctx, *provision)
	if err != nil {
		return fmt.Errorf("asking %s for the options of the job: %w", *provision, err)
	}
	if url := info.GetLoggingEndpoint().GetUrl(); url != "" {
		*logging = url
	}
	if url := info.GetControlEndpoint().GetUrl(); url != "" {
		*control = url
	}
	if *logging == "" || *control == "" {
		return errors.New("the runner names no endpoint for control or logs")
	}
	raw, err := tools.ProtoToJSON(info.GetPipelineOptions())
	if err != nil {
		return err
	}
	var options runtime.RawOptionsWrapper
	if err := json.Unmarshal([]byte(raw), &options); err != nil {
		return fmt.Errorf("the options of the job: %w", err)
	}
	runtime.GlobalOptions.Import(options.Options)
	// Beam's own hook reads the options from a file, which workers in one folder share, and waits
	// to be killed when the runner is done.
	beam.Init()
	return harness.MainWithOptions(ctx, *logging, *control, harness.Options{
		StatusEndpoint: info.GetStatusEndpoint().GetUrl(), RunnerCapabilities: info.GetRunnerCapabilities(),
	})
}

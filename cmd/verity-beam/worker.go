package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/apache/beam/sdks/v2/go/container/tools"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
)

// The roles of a process.
const (
	roleUser   = "user"   // starts a job
	roleWorker = "worker" // runs bundles
	roleBoot   = "boot"   // becomes a worker
	rolePool   = "pool"   // starts workers
	roleServer = "server" // accepts jobs
)

// roleOf returns the role that the arguments ask for.
func roleOf(args []string) string {
	has := func(name string) bool {
		for _, a := range args {
			if got, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "="); got == name && strings.HasPrefix(a, "-") {
				return true
			}
		}
		return false
	}
	switch {
	case has("worker"):
		return roleWorker
	case has("worker_pool"):
		return rolePool
	case has("job_server"):
		return roleServer
	case has("provision_endpoint"):
		return roleBoot
	}
	return roleUser
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

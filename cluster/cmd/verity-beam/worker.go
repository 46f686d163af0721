package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/apache/beam/sdks/v2/go/container/pool"
	"github.com/apache/beam/sdks/v2/go/container/tools"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
)

// defaultPool is where runners expect the workers of a pod.
const defaultPool = 50000

// role says what the arguments ask this process to be.
func role(args []string) string {
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
		return "worker"
	case has("worker_pool"):
		return "pool"
	case has("job_server"):
		return "server"
	case has("provision_endpoint"):
		return "boot"
	}
	return "user"
}

// work runs bundles until the runner ends it. Beam's own hook does so inside of Init.
func work(args []string) error {
	if err := flag.CommandLine.Parse(args); err != nil {
		return err
	}
	beam.Init()
	return errors.New("the worker has come to an end")
}

// boot is what Beam's container boot program does, but for the download of a worker:
// this program is the worker. A runner, or the pool, says where everything is.
func boot(args []string) error {
	f := flag.NewFlagSet("boot", flag.ContinueOnError)
	id := f.String("id", "", "name of this worker")
	logging := f.String("logging_endpoint", "", "where logs go")
	control := f.String("control_endpoint", "", "where work comes from")
	provision := f.String("provision_endpoint", "", "where the options of the job are")
	f.String("artifact_endpoint", "", "where the runner keeps files; none are needed")
	dir := f.String("semi_persist_dir", os.TempDir(), "folder of this worker")
	if err := f.Parse(args); err != nil {
		return err
	}
	ctx := grpcx.WriteWorkerID(context.Background(), *id)
	info, err := tools.ProvisionInfo(ctx, *provision)
	if err != nil {
		return fmt.Errorf("asking %s what to do: %w", *provision, err)
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
	options, err := tools.ProtoToJSON(info.GetPipelineOptions())
	if err != nil {
		return err
	}
	if err := tools.MakePipelineOptionsFileAndEnvVar(options); err != nil {
		return err
	}
	if status := info.GetStatusEndpoint(); status != nil {
		os.Setenv("STATUS_ENDPOINT", status.GetUrl())
	}
	os.Setenv("RUNNER_CAPABILITIES", strings.Join(info.GetRunnerCapabilities(), " "))
	return work([]string{"--worker=true", "--id=" + *id, "--logging_endpoint=" + *logging, "--control_endpoint=" + *control, "--semi_persist_dir=" + *dir})
}

// servePool starts a worker, a process of its own, for each that a runner asks for.
func servePool(args []string) error {
	f := flag.NewFlagSet("pool", flag.ContinueOnError)
	f.Bool("worker_pool", true, "be a pool of workers")
	port := f.Int("port", defaultPool, "TCP port to listen on")
	if err := f.Parse(args); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	p, err := pool.New(context.Background(), *port, self)
	if err != nil {
		return fmt.Errorf("port %s: %w", net.JoinHostPort("", strconv.Itoa(*port)), err)
	}
	return p.ServeAndWait()
}

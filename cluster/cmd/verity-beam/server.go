package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
)

// serveJobs is prism, the runner that otherwise runs inside of this program, as a service
// of its own: workers are then processes, too. It does not survive the loss of one; the
// program that waits for its job starts it again.
func serveJobs(args []string) error {
	f := flag.NewFlagSet("job server", flag.ContinueOnError)
	f.Bool("job_server", true, "be a job server")
	port := f.Int("port", 8073, "TCP port to listen on")
	if err := f.Parse(args); err != nil {
		return err
	}
	ctx := context.Background()
	if _, err := prism.CreateJobServer(ctx, prism.Options{Port: *port}); err != nil {
		return fmt.Errorf("port %d: %w", *port, err)
	}
	select {} // until a signal
}

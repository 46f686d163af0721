package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"sync"
	"syscall"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
)

// defaultPool is where runners expect the workers of a pod.
const defaultPool = 50000

// servePool serves as a pool until a signal arrives.
func servePool(args []string) error {
	f := flag.NewFlagSet("pool", flag.ContinueOnError)
	f.Bool("worker_pool", true, "be a pool of workers")
	host := f.String("host", "localhost", "address to listen on; everyone who can reach it can start workers")
	port := f.Int("port", defaultPool, "TCP port to listen on")
	if err := f.Parse(args); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(*host, strconv.Itoa(*port)))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	slog.Info("pool of workers", "address", l.Addr())
	return (&pool{program: self}).serve(ctx, l)
}

// A pool starts a worker process for each request of a runner. Beam's own pool identifies a worker
// by its name alone and refuses a second one with that name, but task managers and jobs that share
// a pool use the same names.
type pool struct {
	fnpb.UnimplementedBeamFnExternalWorkerPoolServer
	program string

	mu      sync.Mutex
	workers []*worker
	closed  bool
}

// A worker is a process. It belongs to the connection that requested it.
type worker struct {
	name, from string
	process    *os.Process
}

// serve answers runners until the context ends, then ends all workers.
func (p *pool) serve(ctx context.Context, l net.Listener) error {
	s := grpc.NewServer()
	fnpb.RegisterBeamFnExternalWorkerPoolServer(s, p)
	defer context.AfterFunc(ctx, s.Stop)()
	err := s.Serve(l)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, w := range p.workers {
		w.process.Kill()
	}
	return err
}

// StartWorker starts a worker for a runner. Errors go into the response, where runners look for
// them.
func (p *pool) StartWorker(ctx context.Context, r *fnpb.StartWorkerRequest) (*fnpb.StartWorkerResponse, error) {
	w := &worker{name: r.GetWorkerId(), from: from(ctx)}
	if err := p.start(w, r); err != nil {
		slog.Error("no worker", "name", w.name, "for", w.from, "error", err)
		return &fnpb.StartWorkerResponse{Error: fmt.Sprintf("worker %s: %v", w.name, err)}, nil
	}
	slog.Info("worker", "name", w.name, "for", w.from, "process", w.process.Pid)
	return &fnpb.StartWorkerResponse{}, nil
}

func (p *pool) start(w *worker, r *fnpb.StartWorkerRequest) error {
	if r.GetProvisionEndpoint().GetUrl() == "" {
		return errors.New("the runner names no endpoint for its options")
	}
	if r.GetControlEndpoint().GetAuthentication() != nil || r.GetLoggingEndpoint().GetAuthentication() != nil {
		return errors.New("endpoints that want credentials are not supported")
	}
	c := exec.Command(p.program, "--id="+w.name, "--provision_endpoint="+r.GetProvisionEndpoint().GetUrl(),
		"--control_endpoint="+r.GetControlEndpoint().GetUrl(), "--logging_endpoint="+r.GetLoggingEndpoint().GetUrl(),
		"--artifact_endpoint="+r.GetArtifactEndpoint().GetUrl())
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errors.New("the pool is shutting down")
	}
	if err := c.Start(); err != nil {
		return err
	}
	w.process = c.Process
	p.workers = append(p.workers, w)
	go func() {
		err := c.Wait()
		slog.Info("worker has ended", "name", w.name, "process", w.process.Pid, "error", err)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.workers = slices.DeleteFunc(p.workers, func(x *worker) bool { return x == w })
	}()
	return nil
}

// StopWorker ends a worker that is still running. Most end by themselves when their runner is done.
func (p *pool) StopWorker(ctx context.Context, r *fnpb.StopWorkerRequest) (*fnpb.StopWorkerResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var named, own []*worker
	for _, w := range p.workers {
		if w.name != r.GetWorkerId() {
			continue
		}
		named = append(named, w)
		if w.from == from(ctx) {
			own = append(own, w)
		}
	}
	// After a long silence a runner comes back on another connection. If several workers have the
	// name, it is unknown which one is meant, and none is stopped.
	if len(own) == 0 && len(named) == 1 {
		own = named
	}
	for _, w := range own {
		w.process.Kill()
	}
	return &fnpb.StopWorkerResponse{}, nil
}

// from returns the address of the caller.
func from(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok {
		return p.Addr.String()
	}
	return ""
}

// serveJobs runs prism, the runner that otherwise runs inside this program, as a service: workers
// are then processes, too. A job fails when it loses a worker; the program that started it retries.
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

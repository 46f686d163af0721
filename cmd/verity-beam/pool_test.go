package main

import (
	"context"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// asWorker makes the test program be a worker that waits to be killed.
const asWorker = "VERITY_BEAM_TEST_AS_WORKER"

// A runner starts and stops workers on a connection of its own.
type runner struct {
	t      *testing.T
	client fnpb.BeamFnExternalWorkerPoolClient
}

func runnerOf(t *testing.T, address string) runner {
	t.Helper()
	c, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return runner{t, fnpb.NewBeamFnExternalWorkerPoolClient(c)}
}

func (r runner) start(name string) {
	r.t.Helper()
	at := &pipepb.ApiServiceDescriptor{Url: "localhost:1"}
	request := &fnpb.StartWorkerRequest{WorkerId: name, ControlEndpoint: at, ProvisionEndpoint: at}
	got, err := r.client.StartWorker(r.t.Context(), request)
	if err != nil || got.GetError() != "" {
		r.t.Fatalf("worker %s: %v %v", name, err, got)
	}
}

func (r runner) stop(name string) {
	r.t.Helper()
	got, err := r.client.StopWorker(r.t.Context(), &fnpb.StopWorkerRequest{WorkerId: name})
	if err != nil || got.GetError() != "" {
		r.t.Fatalf("stopping worker %s: %v %v", name, err, got)
	}
}

// pids are the processes of a pool, when there are as many as that.
func (p *pool) pids(t *testing.T, want int) (pids []int) {
	t.Helper()
	for range 12_000 {
		p.mu.Lock()
		pids = nil
		for _, w := range p.workers {
			pids = append(pids, w.process.Pid)
		}
		p.mu.Unlock()
		if len(pids) == want {
			return pids
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%d workers, want %d", len(pids), want)
	return nil
}

// TestPool lets two runners have a worker of one name each: each stops its own. One that
// was killed can be started again under its name, and none outlives the pool.
func TestPool(t *testing.T) {
	t.Setenv(asWorker, "1")
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &pool{program: os.Args[0]}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- p.serve(ctx, l) }()
	a, b := runnerOf(t, l.Addr().String()), runnerOf(t, l.Addr().String())
	a.start("1-1")
	first := p.pids(t, 1)
	b.start("1-1")
	second := p.pids(t, 2)
	a.stop("1-1")
	if left := p.pids(t, 1); slices.Contains(left, first[0]) || !slices.Contains(second, left[0]) {
		t.Errorf("workers %v, then %v; after the first runner has stopped its own: %v", first, second, left)
	}
	dead, err := os.FindProcess(p.pids(t, 1)[0])
	if err == nil {
		err = dead.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.pids(t, 0)
	b.stop("1-1") // as runners do when they have lost it
	b.start("1-1")
	b.start("1-2")
	b.stop("1-2")
	p.pids(t, 1)
	a.stop("1-1") // as a runner that has come back on another connection
	p.pids(t, 0)
	a.start("2-1")
	b.start("2-1")
	runnerOf(t, l.Addr().String()).stop("2-1") // of whom?
	time.Sleep(20 * time.Millisecond)
	p.pids(t, 2)
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	p.pids(t, 0)
	late := &fnpb.StartWorkerRequest{ProvisionEndpoint: &pipepb.ApiServiceDescriptor{Url: "x"}}
	if err := p.start(&worker{name: "x"}, late); err == nil {
		t.Error("a pool that is over starts a worker")
	}
}

// TestPoolRefuses checks that what is wrong is in the answer: runners look for it there.
func TestPoolRefuses(t *testing.T) {
	at := &pipepb.ApiServiceDescriptor{Url: "localhost:1"}
	secret := &pipepb.ApiServiceDescriptor{Url: "localhost:1", Authentication: &pipepb.AuthenticationSpec{}}
	for name, r := range map[string]*fnpb.StartWorkerRequest{
		"no options":  {WorkerId: "w"},
		"credentials": {WorkerId: "w", ProvisionEndpoint: at, ControlEndpoint: secret},
		"no program":  {WorkerId: "w", ProvisionEndpoint: at, ControlEndpoint: at},
	} {
		p := &pool{program: "/nowhere"}
		if got, err := p.StartWorker(t.Context(), r); err != nil || got.GetError() == "" {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		p.pids(t, 0)
	}
}

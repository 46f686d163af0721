package serve

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// begin waits for a turn.
func (q *queue) begin(ctx context.Context, t *ticket) error {
	q.requestTurn(&q.files, t)
	return q.wait(ctx, t)
}

// A simulation is a queue with one turn whose time is counted in windows.
type simulation struct {
	t     *testing.T
	queue *queue
	live  bool // a live session requests every turn that it can get
	all   sync.WaitGroup

	mu    sync.Mutex
	now   int   // windows done
	ended []int // clients in the order of their answers
	at    []int // when each was answered
}

func newSimulation(t *testing.T, clients int) *simulation {
	return &simulation{t: t, queue: newQueue(1, 100), at: make([]int, clients)}
}

// add appends a client with some windows to the queue.
func (s *simulation) add(client, windows int) {
	p, err := s.queue.join(30 * float64(windows))
	if err != nil {
		s.t.Fatal(err)
	}
	before := s.queue.waiting()
	s.all.Go(func() {
		ctx := context.Background()
		if s.queue.begin(ctx, p) != nil {
			return
		}
		for left := windows; left > 0; {
			s.tick()
			for s.live && !s.sessionWaits() {
				time.Sleep(time.Millisecond) // a session requests its next turn within a window
			}
			left--
			if s.queue.yield(ctx, p, 30*float64(left)+0.005) != nil {
				return
			}
		}
		s.mu.Lock()
		s.ended = append(s.ended, client)
		s.at[client] = s.now
		s.mu.Unlock()
		s.queue.leave(p)
	})
	for s.queue.waiting() == before {
		time.Sleep(time.Millisecond)
	}
}

func (s *simulation) sessionWaits() bool {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return len(s.queue.live) > 0
}

func (s *simulation) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now++
}

// run queues n clients with some windows each while the turn is in use, then ends that turn and waits for all clients,
// with or without a live session. It returns the number of live passes.
func (s *simulation) run(n, windows int, live bool) (passes int) {
	first, err := s.queue.join(0)
	if err != nil {
		s.t.Fatal(err)
	}
	s.queue.begin(context.Background(), first)
	for i := range n {
		s.add(i, windows)
	}
	ctx, stop := context.WithCancel(context.Background())
	var session sync.WaitGroup
	if s.live = live; live {
		session.Go(func() {
			for {
				end, err := s.queue.liveTurn(ctx)
				if err != nil {
					return
				}
				s.tick()
				passes++
				end()
			}
		})
		for s.queue.waiting() <= n {
			time.Sleep(time.Millisecond)
		}
	}
	s.queue.leave(first)
	s.all.Wait()
	stop()
	session.Wait()
	return passes
}

// TestQueueOrder: equal requests are answered in order of arrival, each as soon as its last window is done. If each
// let the others go first, all would be answered at the end. A live session gets every other turn and changes nothing
// else.
func TestQueueOrder(t *testing.T) {
	for _, n := range []int{6, 16} {
		for _, windows := range []int{1, 3} {
			for _, live := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d of %d, live %t", n, windows, live), func(t *testing.T) {
					s := newSimulation(t, n)
					passes := s.run(n, windows, live)
					if !slices.IsSorted(s.ended) || len(s.ended) != n {
						t.Errorf("answered in the order %v", s.ended)
					}
					sum := 0
					for i, at := range s.at {
						most := (i + 1) * windows
						if live {
							most = 2*most + 1
						}
						if at > most {
							t.Errorf("client %d was answered after %d windows, want %d", i, at, most)
						}
						sum += at
					}
					if last := s.at[n-1]; float64(sum) > 0.6*float64(n*last) {
						t.Errorf("mean %d of %d windows", sum/n, last)
					}
					if live && passes < n*windows/2 {
						t.Errorf("%d live passes among %d windows", passes, n*windows)
					}
				})
			}
		}
	}
}

// TestShortFirst: a long file yields to short ones, also to those that arrive later, and ends before long ones that
// arrived after it.
func TestShortFirst(t *testing.T) {
	s := newSimulation(t, 5)
	first, _ := s.queue.join(0)
	s.queue.begin(t.Context(), first)
	s.add(0, 40)
	s.add(1, 40)
	s.add(2, 1)
	s.add(3, 2)
	s.add(4, 19)
	s.queue.leave(first)
	s.all.Wait()
	if want := []int{2, 3, 4, 0, 1}; !slices.Equal(s.ended, want) {
		t.Errorf("answered in the order %v, want %v", s.ended, want)
	}
	if s.at[2] != 2 || s.at[0] != 40+1+2+19 {
		t.Errorf("answered after %v windows", s.at)
	}
}

// TestQueueCancel: a cancelled request that waits, at first or between two windows, has neither place nor turn.
func TestQueueCancel(t *testing.T) {
	l := newQueue(1, 10)
	a, _ := l.join(300)
	b, _ := l.join(30)
	l.begin(t.Context(), a)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- l.begin(ctx, b) }()
	for l.waiting() == 0 {
		time.Sleep(time.Millisecond)
	}
	go func() { ended <- l.yield(ctx, a, 270) }() // b has the turn now
	if err := <-ended; err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("the cancelled request got a turn")
	}
	l.leave(a)
	l.leave(b)
	if l.working() != 0 || l.waiting() != 0 || l.tickets != 0 {
		t.Errorf("left in the queue: %+v", l)
	}
}

// TestFirstAnswer: the first of several requests over HTTP is answered while the others wait, streamed or not. If it
// yielded at its end, or before its only window, the second, which is shorter and keeps its turn, would block its answer.
func TestFirstAnswer(t *testing.T) {
	const n = 6
	for _, stream := range []string{"false", "true"} {
		h, s := newServer(t, Options{Turns: 1})
		free := occupy(t, s)
		answered := make(chan int, n)
		var second *ticket
		for i := range n {
			body, kind := form(t, wav(t), field{"stream", stream})
			switch i {
			case 1:
				second, _ = s.queue.join(1)
				s.queue.requestTurn(&s.queue.files, second)
			default:
				go func() {
					if r, err := http.Post(h.URL+transcriptions, kind, body); err != nil {
						t.Error(err)
					} else {
						io.Copy(io.Discard, r.Body)
						r.Body.Close()
					}
					answered <- i
				}()
			}
			for s.queue.waiting() <= i {
				time.Sleep(time.Millisecond)
			}
		}
		free()
		if first := <-answered; first != 0 || s.queue.waiting() != n-2 {
			t.Errorf("stream %s: request %d is answered first, and %d of %d wait, want %d",
				stream, first, s.queue.waiting(), n, n-2)
		}
		s.queue.leave(second)
		for range n - 2 {
			<-answered
		}
	}
}

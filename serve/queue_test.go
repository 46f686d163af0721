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
func (l *queue) begin(ctx context.Context, p *ticket) error {
	l.requestTurn(&l.files, p)
	return l.wait(ctx, p)
}

// A shift is a line of one turn in which time is counted in windows.
type shift struct {
	t    *testing.T
	line *queue
	live bool // a live session wants every turn that it can have
	all  sync.WaitGroup

	mu    sync.Mutex
	now   int   // windows done
	ended []int // clients in the order of their answers
	at    []int // when each was answered
}

func newShift(t *testing.T, clients int) *shift {
	return &shift{t: t, line: newQueue(1, 100), at: make([]int, clients)}
}

// come queues a client with n windows, after all that are queued.
func (s *shift) come(client, windows int) {
	p, err := s.line.join(30 * float64(windows))
	if err != nil {
		s.t.Fatal(err)
	}
	before := s.line.waiting()
	s.all.Go(func() {
		ctx := context.Background()
		if s.line.begin(ctx, p) != nil {
			return
		}
		for left := windows; left > 0; {
			s.tick()
			for s.live && !s.sessionWaits() {
				time.Sleep(time.Millisecond) // a window is longer than a session takes to want the next turn
			}
			left--
			if s.line.yield(ctx, p, 30*float64(left)+0.005) != nil {
				return
			}
		}
		s.mu.Lock()
		s.ended = append(s.ended, client)
		s.at[client] = s.now
		s.mu.Unlock()
		s.line.leave(p)
	})
	for s.line.waiting() == before {
		time.Sleep(time.Millisecond)
	}
}

func (s *shift) sessionWaits() bool {
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	return len(s.line.live) > 0
}

func (s *shift) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now++
}

// run lets n clients of so many windows come while the turn is taken, and then work,
// beside a live session or not. It returns what the live session did meanwhile.
func (s *shift) run(n, windows int, live bool) (passes int) {
	hold, err := s.line.join(0)
	if err != nil {
		s.t.Fatal(err)
	}
	s.line.begin(context.Background(), hold)
	for i := range n {
		s.come(i, windows)
	}
	ctx, stop := context.WithCancel(context.Background())
	var session sync.WaitGroup
	if s.live = live; live {
		session.Go(func() {
			for {
				end, err := s.line.liveTurn(ctx)
				if err != nil {
					return
				}
				s.tick()
				passes++
				end()
			}
		})
		for s.line.waiting() <= n {
			time.Sleep(time.Millisecond)
		}
	}
	s.line.leave(hold)
	s.all.Wait()
	stop()
	session.Wait()
	return passes
}

// TestOrder: equal requests are answered in the order in which they came, each as soon
// as its last window is done: sixteen in 0.6 of the mean time, at most, that they took
// when each let the others go first. A live session gets every other turn and changes
// nothing else.
func TestOrder(t *testing.T) {
	for _, n := range []int{6, 16} {
		for _, windows := range []int{1, 3} {
			for _, live := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d of %d, live %t", n, windows, live), func(t *testing.T) {
					s := newShift(t, n)
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

// TestShortFirst: a long file lets short ones go first, also those that come later, and
// ends nevertheless, before long ones that came after it.
func TestShortFirst(t *testing.T) {
	s := newShift(t, 5)
	hold, _ := s.line.join(0)
	s.line.begin(t.Context(), hold)
	s.come(0, 40)
	s.come(1, 40)
	s.come(2, 1)
	s.come(3, 2)
	s.come(4, 19)
	s.line.leave(hold)
	s.all.Wait()
	if want := []int{2, 3, 4, 0, 1}; !slices.Equal(s.ended, want) {
		t.Errorf("answered in the order %v, want %v", s.ended, want)
	}
	if s.at[2] != 2 || s.at[0] != 40+1+2+19 {
		t.Errorf("answered after %v windows", s.at)
	}
}

// TestGiveUp: who goes away while it waits, or between two windows, leaves its place and
// its turn.
func TestGiveUp(t *testing.T) {
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
		t.Error("a has a turn that nobody gave it")
	}
	l.leave(a)
	l.leave(b)
	if l.working() != 0 || l.waiting() != 0 || l.tickets != 0 {
		t.Errorf("left in the line: %+v", l)
	}
}

// TestFirstAnswer: over HTTP, the first of several requests is answered while the others
// wait, in every form. Were it to let them go first, the second, which holds its turn until
// then, would keep it from its end.
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
				second, _ = s.queue.join(10)
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
			t.Errorf("stream %s: request %d is answered first, and %d of %d wait, want %d", stream, first, s.queue.waiting(), n, n-2)
		}
		s.queue.leave(second)
		for range n - 2 {
			<-answered
		}
	}
}

package serve

import (
	"fmt"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// TestThroughput times eight requests one after the other and eight at once, in turn,
// VERITY_LOAD_TURNS times, with the checkpoint that VERITY_LOAD_MODEL names. make
// throughput runs it. Every answer must be the same; how long they take is printed, not
// judged.
func TestThroughput(t *testing.T) {
	turns, err := strconv.Atoi(os.Getenv("VERITY_LOAD_TURNS"))
	if err != nil {
		t.Skip("VERITY_LOAD_TURNS is not set: make throughput runs this")
	}
	const requests = 8
	s, err := New(loadModel(t), Options{Turns: requests, Waiting: requests, Spool: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	defer server.Close()
	wave, err := os.ReadFile(sound)
	if err != nil {
		t.Fatal(err)
	}
	body, kind := form(t, field{"response_format", "verbose_json"}, field{"language", "en"}, field{"file", string(wave)})
	run := &load{url: server.URL + transcriptions}
	w := work{form: body.Bytes(), kind: kind}
	if w.answer, _, err = run.ask(t.Context(), w); err != nil { // warms up
		t.Fatal(err)
	}
	ask := func() {
		if got, status, err := run.ask(t.Context(), w); err != nil || !reflect.DeepEqual(got, w.answer) {
			t.Errorf("status %d, %v: got %+v\nwant %+v", status, err, got, w.answer)
		}
	}
	alone := func() {
		for range requests {
			ask()
		}
	}
	together := func() {
		var all sync.WaitGroup
		for range requests {
			all.Go(ask)
		}
		all.Wait()
	}
	var ratios []float64
	for range turns {
		one, all := timed(alone), timed(together)
		ratios = append(ratios, one.Seconds()/all.Seconds())
		fmt.Printf("%d requests one after the other %.2f s, at once %.2f s: throughput %.2f times that of one\n",
			requests, one.Seconds(), all.Seconds(), ratios[len(ratios)-1])
	}
	slices.Sort(ratios)
	fmt.Printf("median of %d turns: %.2f\n", turns, ratios[len(ratios)/2])
	run.transport.CloseIdleConnections()
}

func timed(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

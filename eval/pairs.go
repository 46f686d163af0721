package eval

import (
	"errors"
	"fmt"
	"iter"
	"path/filepath"

	"verity/report"
)

// pairLogs are the records of both arms of a comparison: record i of one belongs to
// record i of the other.
type pairLogs struct{ baseline, assisted *log }

// openPairLogs opens baseline.jsonl and assisted.jsonl in a folder as openLog does its
// file, and passes the pairs that are there to found. A record that only one arm has,
// because the run was killed between the two, is taken out, and so are both records of
// an utterance that failed in one of them.
func openPairLogs(dir string, runs report.Pair[report.Run], found func(a, b *report.Record) error) (p pairLogs, err error) {
	for _, x := range []struct {
		log  **log
		file string
	}{{&p.baseline, "baseline.jsonl"}, {&p.assisted, "assisted.jsonl"}} {
		l := &log{done: map[string]entry{}}
		if *x.log = l; dir == "" {
			continue
		}
		l.name = filepath.Join(dir, x.file)
		if l.path = l.name; err == nil {
			err = l.open()
		}
	}
	if err == nil && dir != "" {
		err = p.load(runs, found)
	}
	if err != nil {
		p.close()
	}
	return p, err
}

// load reads both files side by side.
func (p pairLogs) load(runs report.Pair[report.Run], found func(a, b *report.Record) error) error {
	nextA, stopA := iter.Pull2(p.baseline.records(runs.Baseline))
	defer stopA()
	nextB, stopB := iter.Pull2(p.assisted.records(runs.Assisted))
	defer stopB()
	dropped := false
	for {
		a, errA, okA := nextA()
		b, errB, okB := nextB()
		switch err := errors.Join(errA, errB); {
		case err != nil:
			return err
		case !okA && !okB:
			if dropped || p.baseline.torn || p.assisted.torn {
				return errors.Join(p.baseline.rewrite(p.baseline.names(), false), p.assisted.rewrite(p.baseline.names(), false))
			}
			return nil
		case okA != okB:
			dropped = true
			continue // to the end of the longer one: its records must be of this run, too
		case a.ID != b.ID:
			return fmt.Errorf("%s and %s are not of one comparison: utterance %s is paired with %s", p.baseline.name, p.assisted.name, a.ID, b.ID)
		case a.Error != "" || b.Error != "":
			dropped = true
			continue
		}
		if err := errors.Join(p.baseline.add(a), p.assisted.add(b)); err != nil {
			return err
		}
		if err := found(a, b); err != nil {
			return err
		}
	}
}

func (p pairLogs) append(a, b *report.Record) error {
	if err := p.baseline.append(a); err != nil {
		return err
	}
	return p.assisted.append(b)
}

func (p pairLogs) sync() error { return errors.Join(p.baseline.sync(), p.assisted.sync()) }

func (p pairLogs) close() {
	p.baseline.close()
	p.assisted.close()
}

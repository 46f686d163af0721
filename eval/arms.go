package eval

import (
	"errors"
	"fmt"
	"iter"
	"path/filepath"

	"verity/report"
)

// armLogs are the records of the arms of a comparison: record i of every arm is of the
// same utterance.
type armLogs []*log

// openArmLogs opens NAME.jsonl of each arm in a folder, as openLog does, and passes the
// utterances that all arms have to found. If an arm lacks a record because the run was
// killed, or if the utterance failed in one arm, the utterance's records are removed
// from all.
func openArmLogs(dir string, arms []Arm, found func([]*report.Record) error) (all armLogs, err error) {
	for _, arm := range arms {
		l := &log{done: map[string]entry{}}
		if all = append(all, l); dir == "" {
			continue
		}
		l.name = filepath.Join(dir, arm.Name+".jsonl")
		if l.path = l.name; err == nil {
			err = l.open()
		}
	}
	if err == nil && dir != "" {
		err = all.load(arms, found)
	}
	if err != nil {
		all.close()
	}
	return all, err
}

// load reads all files in parallel.
func (p armLogs) load(arms []Arm, found func([]*report.Record) error) error {
	next := make([]func() (*report.Record, error, bool), len(p))
	for i, l := range p {
		var stop func()
		next[i], stop = iter.Pull2(l.records(arms[i].Run))
		defer stop()
	}
	dropped := false
	for {
		records, had, err := p.row(next)
		switch {
		case err != nil:
			return err
		case had == 0:
			return p.mend(dropped)
		case had < len(p):
			dropped = true
			continue // check the rest of the longer files: it must be of this run, too
		}
		failed := false
		for i, r := range records {
			if r.ID != records[0].ID {
				return fmt.Errorf("%s and %s are not of one comparison: utterance %s is paired with %s",
					p[0].name, p[i].name, records[0].ID, r.ID)
			}
			failed = failed || r.Error != ""
		}
		if failed {
			dropped = true
			continue
		}
		for i, r := range records {
			err = errors.Join(err, p[i].add(r))
		}
		if err == nil {
			err = found(records)
		}
		if err != nil {
			return err
		}
	}
}

// row returns the next record of each file, and how many files had one.
func (p armLogs) row(next []func() (*report.Record, error, bool)) (records []*report.Record, had int, err error) {
	records = make([]*report.Record, len(p))
	for i, pull := range next {
		r, problem, ok := pull()
		if records[i], err = r, errors.Join(err, problem); ok {
			had++
		}
	}
	return records, had, err
}

// mend removes records that are not in every file.
func (p armLogs) mend(dropped bool) (err error) {
	for _, l := range p {
		dropped = dropped || l.torn
	}
	if !dropped {
		return nil
	}
	names := p[0].names()
	for _, l := range p {
		err = errors.Join(err, l.rewrite(names, false))
	}
	return err
}

func (p armLogs) append(records []*report.Record) error {
	for i, l := range p {
		if err := l.append(records[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p armLogs) sync() (err error) {
	for _, l := range p {
		err = errors.Join(err, l.sync())
	}
	return err
}

func (p armLogs) close() {
	for _, l := range p {
		l.close()
	}
}

package report

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Shards says which shards of a run a set holds, according to the names of its files.
type Shards struct {
	Of      int   `json:"of"`      // number of shards
	Present []int `json:"present"` // numbers, from 1
	Missing []int `json:"missing"` // shards without a file
	Short   []int `json:"short"`   // with fewer records than other shards for as many rows: unfinished

	parts map[int]int // shard number to index among the set's files
}

var shardName = regexp.MustCompile(`^records-([1-9][0-9]{0,8})-of-([1-9][0-9]{0,8})\.jsonl$`)

// shardsOf returns the shards that file names state; nil if none has a shard's name. Shards
// of different divisions, and a shard that occurs twice, are errors.
func shardsOf(paths []string) (*Shards, error) {
	var s *Shards
	first := ""
	for at, path := range paths {
		m := shardName.FindStringSubmatch(filepath.Base(path))
		if m == nil {
			continue
		}
		i, _ := strconv.Atoi(m[1]) // at most nine digits
		of, _ := strconv.Atoi(m[2])
		if s == nil {
			s, first = &Shards{Of: of, parts: map[int]int{}}, path
		}
		if i > of || of > MaxShards {
			return nil, fmt.Errorf("%s: its name is not that of a shard", path)
		}
		if of != s.Of {
			return nil, fmt.Errorf("%s is one of %d shards, %s one of %d: a set is one run, or all shards of one",
				first, s.Of, path, of)
		}
		if other, twice := s.parts[i]; twice {
			return nil, fmt.Errorf("shard %d/%d occurs twice: %s and %s", i, of, paths[other], path)
		}
		s.parts[i] = at
	}
	return s, nil
}

// MaxShards is the most shards of a run, which a report lists.
const MaxShards = 1 << 16

// shards finds unfinished shards by their numbers of rows. Rows are dealt round-robin, so
// an earlier shard has as many rows as a later one, or one more. Any other count means an
// unfinished shard.
func (s *Set) shards() *Shards {
	if s.score.Shards == nil {
		return nil
	}
	sh := *s.score.Shards
	sh.Present, sh.Missing, sh.Short = []int{}, []int{}, []int{}
	rows, most, last := make([]int, sh.Of+1), 0, 0 // of each shard; the most, and the last shard with that many
	for i := 1; i <= sh.Of; i++ {
		at, ok := sh.parts[i]
		if !ok {
			sh.Missing = append(sh.Missing, i)
			continue
		}
		sh.Present = append(sh.Present, i)
		if at < len(s.rows) {
			rows[i] = s.rows[at]
		}
		if rows[i] >= most {
			most, last = rows[i], i
		}
	}
	for _, i := range sh.Present {
		if n := rows[i]; n < most-1 || n < most && i < last {
			sh.Short = append(sh.Short, i)
		}
	}
	return &sh
}

// Incomplete says which shards are missing or unfinished; empty if none is known to be.
func (s *Shards) Incomplete() string {
	if s == nil {
		return ""
	}
	missing := textIf(len(s.Missing) > 0, s.list(s.Missing)+" missing")
	short := textIf(len(s.Short) > 0, s.list(s.Short)+" not finished (fewer records than in the others)")
	return missing + textIf(missing != "" && short != "", ", ") + short
}

// list formats shards: "shards 2/4, 4/4 are".
func (s *Shards) list(is []int) string {
	const most = 10
	names := make([]string, min(len(is), most))
	for i := range names {
		names[i] = fmt.Sprintf("%d/%d", is[i], s.Of)
	}
	more := textIf(len(is) > most, fmt.Sprintf(", and %d more", len(is)-most))
	if len(is) == 1 {
		return "shard " + names[0] + " is"
	}
	return "shards " + strings.Join(names, ", ") + more + " are"
}

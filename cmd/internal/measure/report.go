package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
	"verity/eval"
	"verity/eval/report"
	"verity/internal/output"
	"verity/internal/show"
)

const reportHelp = `Report scores records and compares them; it needs no model. An argument is a records
file, or a directory written by "verity eval" or "verity compare", with all its shards.
Each further argument is a set of its own, which is compared with the first.

All records of a set must come from one run: shards with a different model, assistant,
dataset, code version or options are rejected. If shards are missing or unfinished, the
report scores the records that exist and lists those shards, and the exit status is 1.

--normalizer selects how texts are normalized before scoring; auto means english for
English and basic for every other language. The english normalizer writes numbers as
digits, so that "one two three" becomes one word.

Texts of another program are scored as well: a file with a line {"id": "a.wav",
"reference": "what was said", "hypothesis": "what it wrote"} for each utterance. If the
ids are those of a run, the two are compared.

  verity report out
  verity report --html report.html out/plain out/assisted
  verity report --by lang out
  verity report --table base16 tiny

Exit status: 0 done, 1 some utterance failed or a shard is missing, 2 wrong usage,
3 records with the same model, dataset and options differ.`

// reportFlags say how to score and where to write.
type reportFlags struct {
	normalizer string
	json       bool
	table      bool
	html       string
}

func (r *reportFlags) register(f *pflag.FlagSet) {
	cli.Bind(f, "normalizer", &r.normalizer)
	cli.Bind(f, "json", &r.json)
	cli.Bind(f, "html", &r.html)
	f.BoolVar(&r.table, "table", false, "print a table in Markdown: a row for each run, and each group of --by")
	cli.Title(f, "Report")
}

// check reports why the files that the flags name could not be written.
func (r *reportFlags) check() error {
	if r.table && r.json {
		return cli.Usagef("--table cannot be combined with --json; choose one")
	}
	if err := cmp.Or(output.Check(r.html), replacesPage(r.html)); err != nil {
		return fmt.Errorf("--html %w", err)
	}
	return nil
}

// replacesPage refuses to write a page over a file that does not begin as one: it may be
// a recording or a reference of the dataset.
func replacesPage(name string) error {
	const begin = "<!doctype html>"
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil
	}
	head := make([]byte, len(begin))
	file, err := os.Open(name)
	if err == nil {
		_, err = io.ReadFull(file, head)
		file.Close()
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) || strings.EqualFold(string(head), begin) {
		return nil // output.Check has reported a file that cannot be written
	}
	return &output.Error{Name: name, Err: errors.New("the file there is not a page; choose another name or remove it"), Unfit: true}
}

// write writes d where the flags say: a page, and to standard output a table or JSON,
// unless the page goes there. The page comes first, since a closed pipe ends the program.
func (r *reportFlags) write(e cli.Env, d *report.Document) error {
	var page error
	if r.html != "" {
		page = output.Write(r.html, e.Out, d.HTML)
	}
	switch {
	case r.html == output.Stdout:
		return page
	case r.json:
		return errors.Join(page, d.JSON(e.Out))
	case r.table:
		return errors.Join(page, d.Table(e.Out))
	}
	return errors.Join(page, d.Text(e.Out, e.Color()))
}

// A reportCommand is the report command with its flags.
type reportCommand struct {
	cli.Env
	report reportFlags
	by     string
}

func Report(e cli.Env) *cobra.Command {
	r := &reportCommand{Env: e}
	c := cli.New("report [flags] RECORDS...", "Score and compare records", reportHelp, r.score)
	c.Annotations = map[string]string{"": "; use --table for Markdown, --json for programs, --html for a page"}
	c.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cli.Usagef("no records are named: want directories that verity eval --out or compare --out have " +
				"written, or files of records")
		}
		return nil
	}
	r.report.register(c.Flags())
	cli.Bind(c.Flags(), "by", &r.by)
	return c
}

func (r *reportCommand) score(ctx context.Context, args []string) error {
	var files []report.Files
	for _, arg := range args {
		f, err := report.Find(arg)
		if err != nil {
			return cli.Unusable(err)
		}
		for i := range f {
			if len(args) > 1 && len(f) > 1 { // the variants of two comparisons may have the same names
				f[i].Name = filepath.Join(arg, f[i].Name)
			}
		}
		files = append(files, f...)
	}
	if err := r.report.check(); err != nil {
		return err
	}
	d, err := report.Load(ctx, files, r.report.normalizer, r.by)
	if err != nil {
		return cli.Unusable(cli.InFlag(err))
	}
	eval.Predict(d)
	if !slices.ContainsFunc(d.Scores, func(s *report.Score) bool { return s.Utterances+s.Failed > 0 }) {
		return cli.Usagef("no record in %s: there is nothing to report", strings.Join(args, ", "))
	}
	if err := r.report.write(r.Env, d); err != nil {
		return err
	}
	if len(d.Comparisons) > 0 {
		for _, s := range d.Scores {
			if s.Overlaps() {
				fmt.Fprintf(r.Err, "verity report: %s was made with --batch: times of its utterances overlap, so speed-ups "+
					"of pairs mean nothing; compare RTFx, or use verity compare --batch\n", show.Name(s.Name))
			}
		}
	}
	return verdict(d)
}

// differText says how many utterances differ, and names the first.
func differText(c *report.Comparison) string {
	ids := make([]string, 0, 5)
	for _, f := range c.Differences[:min(len(c.Differences), 5)] {
		ids = append(ids, show.Name(f.ID))
	}
	text := show.Count(c.Different) + " utterances differ: "
	if c.Different == 1 {
		text = "1 utterance differs: "
	}
	return text + strings.Join(ids, ", ")
}

// verdict returns the error that decides the exit status of a document: 3 before 1. It is no error
// if nothing was drafted: two plain runs may be compared for their scores.
func verdict(d *report.Document) error {
	var faults []string
	differ := false
	for _, c := range d.Comparisons {
		if c.Verdict == report.Different {
			faults, differ = append(faults, differText(c)), true
			break
		}
	}
	for _, c := range d.Comparisons {
		if n := c.Missing; n > 0 && c.Utterances == 0 {
			faults = append(faults, fmt.Sprintf("%s and %s have no id in common: give an utterance the same id in both, that of records.jsonl, or report each alone",
				c.Names.Baseline, c.Names.Assisted))
		} else if n > 0 {
			faults = append(faults, fmt.Sprintf("%s in only one of %s and %s",
				show.Some(n, "utterance"), c.Names.Baseline, c.Names.Assisted))
		}
	}
	if len(d.Scores) > 0 {
		if s := slices.MaxFunc(d.Scores, func(a, b *report.Score) int { return a.Failed - b.Failed }); s.Failed > 0 {
			faults = append(faults, show.Some(s.Failed, "utterance")+" failed; the report says why")
		}
	}
	for _, s := range d.Scores {
		if lacking := s.Shards.Incomplete(); lacking != "" {
			faults = append(faults, "INCOMPLETE: "+s.Name+": "+lacking)
		}
	}
	switch err := errors.New(strings.Join(faults, "; ")); {
	case len(faults) == 0:
		return nil
	case differ:
		return cli.DiffersError{Err: err}
	default:
		return err
	}
}

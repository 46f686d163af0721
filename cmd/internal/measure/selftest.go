package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity/cmd/internal/cli"
	"verity/cmd/internal/setup"
	"verity/decoder"
	"verity/eval/selftest"
	"verity/internal/kernel"
	"verity/internal/show"
	"verity/parallel"
	"verity/tokenizer"
	"verity/transcribe"
)

const selftestHelp = `Selftest checks on one model what Verity promises for every model: bit-identical results
whatever rows share a pass, on any number of threads, in any batch of streams, with any
draft at any temperature, and on every instruction set that this machine supports (it
runs itself again with the better ones disabled). It prints what it compared, and how
many values.

Plain Go is slow. For models of more than 20 million weights, selftest checks plain Go
on only one encoder layer, half a second of audio and two tokens. For models of more
than 500 million weights, it checks the other instruction sets on three encoder layers.

  verity selftest
  verity selftest --model ~/whisper-large-v2 --assistant ~/distil-large-v2

Exit status: 0 every promise holds, 1 something failed, 2 wrong usage, 3 bits differ,
130 interrupted.`

// A selftestCommand is the selftest command with its flags.
type selftestCommand struct {
	cli.Env
	model  setup.ModelFlags
	json   bool
	digest string // a part: print its digest and nothing else
}

func Selftest(e cli.Env) *cobra.Command {
	t := &selftestCommand{Env: e}
	c := cli.New("selftest [flags]", "Check that a model's results are bit-identical", selftestHelp, t.run)
	cli.AddFlags(c, t.model.Register, func(f *pflag.FlagSet) {
		cli.Bind(f, "json", &t.json)
		f.StringVar(&t.digest, "digest", "", "")
	})
	cli.Must(c.Flags().MarkHidden("digest"))
	return c
}

func (t *selftestCommand) run(ctx context.Context, _ []string) error {
	if err := t.model.Assistant.Comparable(); err != nil {
		return err
	}
	if t.digest != "" {
		return t.printDigest(ctx)
	}
	m, err := t.model.Load(ctx, transcribe.Options{})
	if err != nil {
		return err
	}
	defer m.Close()
	s := selftest.Subject{
		Checkpoint: m.Checkpoint, Tokenizer: m.Tokenizer, Encoder: m.Encoder, Decoder: m.Decoder,
		Pool: m.Pool, Assistant: m.Assistant,
	}
	var all []selftest.Check
	var failed []error
	note := func(c selftest.Check) {
		if c.Err != nil {
			c.Error = c.Err.Error()
			failed = append(failed, fmt.Errorf("%s: %w", c.Name, c.Err))
		}
		all = append(all, c)
		if t.ClearStage(); !t.json {
			t.print(c)
		}
	}
	t.Stage("decoding one token at a time")
	known, err := selftest.Run(ctx, s, note)
	if err != nil {
		t.ClearStage()
		return err
	}
	t.Stage("the same on other instruction sets: they are slower")
	note(t.instructionSets(ctx, s, known))
	if t.json {
		return errors.Join(t.write(all), promise(failed))
	}
	if len(failed) > 0 {
		return promise(failed)
	}
	_, err = fmt.Fprintf(t.Out, "Every promise holds: threads, batches, drafts and processor change no bit.\n")
	return err
}

// promise returns the failures; those of bits make the exit status 3.
func promise(failed []error) error {
	err := errors.Join(failed...)
	if errors.Is(err, selftest.ErrDiffers) {
		return cli.DiffersError{Err: err}
	}
	return err
}

func (t *selftestCommand) write(all []selftest.Check) error {
	enc := json.NewEncoder(t.Out)
	enc.SetIndent("", "  ")
	return enc.Encode(checksJSON{"verity.selftest/1", t.model.Name, all})
}

// A checksJSON is the JSON of a selftest; docs/reference/JSON.md is made from it.
type checksJSON struct {
	Schema string           `json:"schema"`
	Model  string           `json:"model"`
	Checks []selftest.Check `json:"checks"` // in the order they were made
}

func (t *selftestCommand) print(c selftest.Check) {
	verdict := "ok    "
	text := fmt.Sprintf("%s: %s (%s values, %s)", c.Name, c.What,
		show.Count(int(c.Values)), show.Seconds(c.Seconds))
	if c.Error != "" {
		verdict, text = "FAIL  ", c.Name+": "+c.Error
	}
	for _, line := range cli.Fold(text, cli.HelpWidth-len(verdict)) {
		fmt.Fprintf(t.Out, "%s%s\n", verdict, line)
		verdict = "      "
	}
}

// instructionSets compares the digests of every instruction set of the machine with those of the
// best one, whose digest of the full model is known.
func (t *selftestCommand) instructionSets(
	ctx context.Context, s selftest.Subject, known selftest.Digest,
) selftest.Check {
	begin, names := time.Now(), kernel.Implementations()
	c := selftest.Check{Name: "instruction sets"}
	others := strings.ReplaceAll(strings.Join(names[1:], ", "), "ref", "plain Go")
	c.What = "features and logits by " + names[0] + " against " + others
	if len(names) == 1 {
		c.What = "nothing: this machine has only plain Go"
		return c
	}
	digests := map[selftest.Part]selftest.Digest{selftest.Full: known}
	for i := 1; i < len(names) && c.Err == nil; i++ {
		part := selftest.PartOn(names[i], s.Checkpoint)
		here, have := digests[part]
		if !have {
			if here, c.Err = s.Digest(ctx, part); c.Err != nil {
				break
			}
			digests[part] = here
		}
		there, err := t.elsewhere(ctx, part, names[:i])
		c.Values += here.Values
		if err == nil && there != here {
			err = fmt.Errorf("%w: %s digest %+v on %s, %+v on %s",
				selftest.ErrDiffers, part, here, names[0], there, names[i])
		}
		c.Err = err
	}
	c.Seconds = time.Since(begin).Seconds()
	return c
}

// elsewhere runs this program again without some instruction sets.
func (t *selftestCommand) elsewhere(
	ctx context.Context, part selftest.Part, without []string,
) (d selftest.Digest, err error) {
	self, err := os.Executable()
	if err != nil {
		return d, err
	}
	cmd := exec.CommandContext(ctx, self, "selftest", "--digest", string(part), "--assistant", "none",
		"--model", t.model.Name, "--precision", t.model.Precision.String(), fmt.Sprintf("--threads=%d", t.model.Threads),
		fmt.Sprintf("--offline=%t", t.model.Offline))
	const disable = "VERITY_DISABLE"
	cmd.Env = append(os.Environ(), disable+"="+strings.Join(slices.Concat(without, []string{os.Getenv(disable)}), ","))
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return d, fmt.Errorf("without %s: %w: %s", strings.Join(without, ", "), err, problem.String())
	}
	return d, json.Unmarshal(out.Bytes(), &d)
}

// printDigest prints the digest of a part. It loads no more than that needs.
func (t *selftestCommand) printDigest(ctx context.Context) error {
	c, err := setup.OpenCheckpoint(ctx, t.model.Name, t.model.Offline)
	if err != nil {
		return err
	}
	defer c.Close()
	pool := parallel.New(t.model.Threads)
	defer pool.Close()
	s := selftest.Subject{Checkpoint: c, Pool: pool}
	if s.Tokenizer, err = tokenizer.Load(c.FS(), c.Name, c.Dims.Vocab); err != nil {
		return err
	}
	if s.Decoder, err = decoder.New(c, decoder.Options{Pool: pool, Precision: t.model.Precision}); err != nil {
		return err
	}
	d, err := s.Digest(ctx, selftest.Part(t.digest))
	if err != nil {
		return err
	}
	return json.NewEncoder(t.Out).Encode(d)
}

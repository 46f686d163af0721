// Package models has the commands about models: [Models], [Info], [Quantize] and [Synth].
package models

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"verity/cmd/internal/cli"
	"verity/internal/input"
	"verity/internal/show"
	"verity/model/hub"
	"verity/wer"
)

// completeCached completes the names of cached models.
func completeCached(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	if list, err := hub.FromEnv().List(); err == nil && len(args) == 0 {
		for _, m := range list {
			names = append(names, m.Repo)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// exitHelp ends the help of commands that read no sound.
const exitHelp = "\n\nExit status: 0 done, 1 it could not be done, 2 wrong usage"

const modelsHelp = `Models lists the Whisper models in the cache shared by all Hugging Face programs, with
their sizes. --model finds them there by name:

  verity models pull small
  verity transcribe --model small talk.wav
  verity models rm small

A name is a size (tiny, base, small, medium, large-v2, large-v3, turbo, with .en for
English only, distil-large-v3, …) or owner/name. HF_HOME or HF_HUB_CACHE sets the cache
directory, HF_TOKEN an access token and HF_ENDPOINT another hub; HF_HUB_OFFLINE=1
disables the network.`

// Models returns the models command.
func Models(e cli.Env) *cobra.Command {
	c := cli.New("models", "List, download and remove models", modelsHelp+exitHelp+".",
		func(context.Context, []string) error { return listModels(e, hub.FromEnv()) })
	c.SuggestFor = []string{"list", "ls"}
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 1 && (args[0] == "list" || args[0] == "ls") { // what the command alone does
			return nil
		}
		return cli.NoArgs(c, args)
	}
	oneName := func(c *cobra.Command, args []string) error {
		if err := cli.OneArg("the name of one model, such as small")(c, args); err != nil {
			return err
		}
		if _, ok := hub.Repo(args[0]); !ok {
			return cli.Usagef("%s is not the name of a model: want owner/name, or a size such as small%s",
				strconv.Quote(args[0]), cli.DidYouMean(wer.Nearest(args[0], hub.Names())))
		}
		return nil
	}
	pull := cli.New("pull NAME", "Download a model, or its missing files",
		"Pull downloads the newest version of a model into the cache."+exitHelp+", 130 interrupted.",
		func(ctx context.Context, args []string) error {
			h := cli.NewHub(false)
			if h.Offline {
				return cli.Usagef("pull needs the network: leave out HF_HUB_OFFLINE; verity models lists what is here")
			}
			dir, err := h.Pull(ctx, args[0])
			if err = cli.OfHub(err); err == nil {
				_, err = fmt.Fprintln(e.Out, dir)
			}
			return err
		})
	pull.ValidArgsFunction = cobra.FixedCompletions(hub.Names(), cobra.ShellCompDirectiveNoFileComp)
	rm := cli.New("rm NAME", "Remove a model from the cache",
		"Rm removes all files of a model from the cache."+exitHelp+".",
		func(_ context.Context, args []string) error {
			n, err := hub.FromEnv().Remove(args[0])
			if errors.Is(err, fs.ErrNotExist) {
				repo, _ := hub.Repo(args[0])
				if repo == "openai/whisper-base" {
					return cli.Usagef("base is part of this program, and not in the cache %s", show.Name(hub.FromEnv().Cache))
				}
				return cli.Usagef("%s is not in the cache %s; verity models lists those that are", repo, hub.FromEnv().Cache)
			}
			if err == nil {
				_, err = fmt.Fprintf(e.Out, "removed %s\n", show.Bytes(n))
			}
			return err
		})
	rm.ValidArgsFunction = completeCached
	pull.Annotations = map[string]string{"offline": ": pull needs the network; verity models lists what is here"}
	pull.Args, rm.Args = oneName, oneName
	pull.SuggestFor, rm.SuggestFor = []string{"download", "get", "install", "add"}, []string{"remove", "delete", "uninstall"}
	c.AddCommand(pull, rm)
	return c
}

func listModels(e cli.Env, h *hub.Client) error {
	list, err := h.List()
	if errors.Is(err, hub.ErrNoCache) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%s: %w; HF_HUB_CACHE or HF_HOME names the directory", show.Name(h.Cache), input.Cause(err))
	}
	if len(list) == 0 {
		missing := ""
		if _, err := os.Stat(h.Cache); err != nil {
			missing = ", which does not exist yet"
		}
		_, err := fmt.Fprintf(e.Out, "no Whisper model in %s%s; base is part of this program. verity models pull small downloads one\n",
			show.Name(h.Cache), missing)
		return err
	}
	t := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', 0)
	for _, m := range list {
		state := m.Dir
		if state == "" {
			state = "not whole: verity models pull " + m.Repo
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", show.Name(m.Repo), show.Bytes(m.Bytes), show.Line(state))
	}
	return t.Flush()
}

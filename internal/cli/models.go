package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"verity/internal/show"
	"verity/model/hub"
)

const modelsHelp = `Models lists the Whisper models in the cache that all programs of Hugging Face
share, and what each takes. --model finds them there by name:

  verity models pull small
  verity transcribe --model small talk.wav
  verity models rm small

A name is a size (tiny, base, small, medium, large-v2, large-v3, turbo, with .en
for English, distil-large-v3, …) or owner/name. HF_HOME or HF_HUB_CACHE name the
cache, HF_TOKEN a token, HF_ENDPOINT another hub; HF_HUB_OFFLINE=1 forbids
the network.`

func modelsCommand(e env) *cobra.Command {
	c := &cobra.Command{
		Use:   "models",
		Short: "List, fetch and remove downloaded models",
		Long:  modelsHelp + exitHelp,
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return listModels(e, hub.FromEnv()) },
	}
	one := func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef("want the name of one model, got %d", len(args))
		}
		if _, ok := hub.Repo(args[0]); !ok {
			return usagef("%s is no name of a model: want owner/name, or a size such as small%s", strconv.Quote(args[0]),
				didYouMean(nearest(args[0], hub.Names())))
		}
		return nil
	}
	c.AddCommand(&cobra.Command{
		Use: "pull NAME", Short: "Download a model, or what is missing of it", Args: one,
		ValidArgsFunction: cobra.FixedCompletions(hub.Names(), cobra.ShellCompDirectiveNoFileComp),
		Long:              "Pull downloads the newest version of a model into the cache." + exitHelp,
		RunE: func(c *cobra.Command, args []string) error {
			dir, err := newHub().Pull(c.Context(), args[0])
			if err == nil {
				_, err = fmt.Fprintln(e.out, dir)
			}
			return err
		},
	}, &cobra.Command{
		Use: "rm NAME", Short: "Remove a model from the cache", Args: one,
		ValidArgsFunction: completeCached,
		Long:              "Rm removes all that the cache holds of a model." + exitHelp,
		RunE: func(_ *cobra.Command, args []string) error {
			n, err := hub.FromEnv().Remove(args[0])
			if errors.Is(err, fs.ErrNotExist) {
				repo, _ := hub.Repo(args[0])
				return fmt.Errorf("%s is not in the cache %s; verity models lists what is", repo, hub.FromEnv().Cache)
			}
			if err == nil {
				_, err = fmt.Fprintf(e.out, "removed %s\n", show.Bytes(n))
			}
			return err
		},
	})
	return c
}

func listModels(e env, h *hub.Client) error {
	list, err := h.List()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		_, err := fmt.Fprintf(e.out, "no Whisper model in %s; base is part of this program. See verity models --help\n", h.Cache)
		return err
	}
	t := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	for _, m := range list {
		state := m.Dir
		if state == "" {
			state = "not whole: verity models pull " + m.Repo
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", m.Repo, show.Bytes(m.Bytes), state)
	}
	return t.Flush()
}

// newHub returns a client that shows the progress of downloads.
func newHub() *hub.Client {
	h := hub.FromEnv()
	h.Notice = func(line string) { slog.Warn(line) }
	if !term.IsTerminal(int(os.Stderr.Fd())) {
		return h
	}
	b, current, began := bar{w: os.Stderr}, "", time.Time{}
	h.Progress = func(file string, done, total int64) {
		if file != current {
			current, began = file, time.Now()
		}
		if done >= total {
			b.clear()
			return
		}
		share := float64(done) / float64(total)
		text := fmt.Sprintf("%s, %s of %s", file, show.Bytes(done), show.Bytes(total))
		if took := time.Since(began); took > time.Second && share > 0 {
			text += remaining(took, share)
		}
		b.set(text, share)
	}
	return h
}

// locate returns the file or directory of a model: what there is of that name, or
// what the hub has, unless offline forbids asking it.
func locate(ctx context.Context, name string, offline bool) (string, error) {
	_, err := os.Stat(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return name, nil // opening it will report what is wrong with it
	}
	repo, ok := hub.Repo(name)
	if !ok || name == defaultModel { // a program without its model does not download it unasked
		return "", noModel(name)
	}
	h := newHub()
	h.Offline = h.Offline || offline
	if dir, ok := h.Find(name); ok {
		return dir, nil
	}
	if !h.Offline {
		slog.Warn("downloading", "model", repo, "to", h.Cache)
	}
	dir, err := h.Pull(ctx, name)
	if err == nil || ctx.Err() != nil {
		return dir, err
	}
	why := err.Error()
	if repo == name {
		why = strings.TrimPrefix(why, repo+": ")
	}
	if errors.Is(err, hub.ErrOffline) {
		why += "; run verity models pull " + name + " with a network"
	}
	return "", fmt.Errorf("model %s: there is no such directory or file here, and it could not be fetched into %s: %s", name, h.Cache, why)
}

// partner returns the published assistant of a model that is in the cache, "" if
// there is none.
func partner(name string) string {
	return hub.FromEnv().Partner(name)
}

package setup

import (
	"slices"

	"github.com/spf13/cobra"

	"verity/model/hub"
	"verity/transcribe"
)

// CompleteModel offers names of models as the argument, and files and directories.
func CompleteModel(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return ModelNames(), cobra.ShellCompDirectiveDefault
}

// ModelNames are the names that --model takes beside paths.
func ModelNames() []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(inside(), hub.Names()))))
}

// AssistantNames are what --assistant takes beside models.
func AssistantNames() []string {
	return []string{"auto", string(transcribe.None), string(transcribe.NGram), string(transcribe.Bigram), string(transcribe.Self)}
}

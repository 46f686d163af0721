package setup

import (
	"slices"
	"strings"

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
	names := slices.Concat(strings.Split(insideNames(), " or "), hub.Names())
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// AssistantNames are what --assistant takes beside models.
func AssistantNames() []string {
	methods := []transcribe.Method{transcribe.None, transcribe.NGram, transcribe.Bigram, transcribe.Self}
	names := []string{"auto"}
	for _, m := range methods {
		names = append(names, string(m))
	}
	return names
}

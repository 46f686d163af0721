package cli

import (
	"io/fs"
	"maps"
	"slices"
	"strings"

	"verity/models/whisper"
)

// An inner is a model that lies in this program.
type inner struct {
	target    func() fs.FS // nil if the program was built without
	assistant func() fs.FS // nil if it has none
}

// inside are the models that lie in this program, by name. A directory of such a
// name is ./NAME. Tests have another.
var inside = map[string]inner{"base": {target: whisper.Base}}

// defaultModel is what is used if no model is named.
var defaultModel = "base"

// insideOf returns the model of a name, if it is one that lies in this program.
func insideOf(name string) (inner, bool) {
	i, ok := inside[name]
	return i, ok && i.target() != nil
}

// insideNames lists the models that lie in this program, for messages.
func insideNames() string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(inside)), func(name string) bool {
		_, ok := insideOf(name)
		return !ok
	})
	return strings.Join(names, " or ")
}

package setup

import (
	"io/fs"
	"maps"
	"slices"

	"verity/models/whisper"
)

// An Inner is a model that lies in this program.
type Inner struct {
	Target    func() fs.FS // nil if the program was built without
	Assistant func() fs.FS // nil if it has none
}

// Inside are the models that lie in this program, by name. A directory of such a
// name is ./NAME. Tests have another.
var Inside = map[string]Inner{"base": {Target: whisper.Base}}

// DefaultModel is what is used if no model is named.
var DefaultModel = "base"

// InsideOf returns the model of a name, if it is one that lies in this program.
func InsideOf(name string) (Inner, bool) {
	i, ok := Inside[name]
	return i, ok && i.Target() != nil
}

// inside returns the names of the models that lie in this program.
func inside() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(Inside)), func(name string) bool {
		_, ok := InsideOf(name)
		return !ok
	})
}

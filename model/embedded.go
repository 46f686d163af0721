package model

import (
	"io/fs"
	"maps"
	"slices"
)

// An Embedded is a model that is part of the program.
type Embedded struct {
	Files     fs.FS // the checkpoint, as OpenFS takes it
	Assistant fs.FS // the checkpoint of a decoder that drafts for it; nil without one
}

var embedded = map[string]Embedded{}

// Embed registers a model of the program under a name. Packages that hold models call it
// in their init functions. A model without files removes the name.
func Embed(name string, m Embedded) {
	if embedded[name] = m; m.Files == nil {
		delete(embedded, name)
	}
}

// EmbeddedModel returns the model of the program that has the name.
func EmbeddedModel(name string) (m Embedded, ok bool) {
	m, ok = embedded[name]
	return m, ok
}

// EmbeddedNames returns the names of the models of the program, sorted.
func EmbeddedNames() []string { return slices.Sorted(maps.Keys(embedded)) }

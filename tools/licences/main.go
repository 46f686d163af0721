// Licences lists the modules of this repository and their licences.
//
//	go run ./tools/licences > docs/dev/LICENCES.md    a table
//	go run ./tools/licences -texts                    the texts, as releases carry them
//	go run ./tools/licences -cluster > docs/dev/LICENCES-CLUSTER.md    the module cluster's
//
// It fails on a module whose licence it does not know, so that none is added unnoticed.
// A test in this package checks docs/dev/LICENCES.md. The list of the module cluster is
// checked by make cluster-test, because it needs that module's dependencies.
package main

//go:generate sh -c "cd ../.. && go run ./tools/licences > LICENCES.new && mv LICENCES.new docs/dev/LICENCES.md"

import (
	"bufio"
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A module is one that our code imports, directly or not.
type module struct {
	path, version string
	program       bool     // part of cmd/verity, not only of tests
	files         []string // licence files, root first
	kinds         []string // kinds of licence
}

func main() {
	texts := flag.Bool("texts", false, "print the licence texts of what the program contains")
	cluster := flag.Bool("cluster", false, "list the modules of verity-beam, in the module cluster")
	flag.Parse()
	what := verity
	if *cluster {
		what = beam
	}
	modules, err := list(what)
	if err == nil {
		out := bufio.NewWriter(os.Stdout) // keeps its first error
		if *texts {
			err = writeTexts(out, modules)
		} else {
			writeTable(out, what, modules)
		}
		err = cmp.Or(err, out.Flush())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

// A product is one of our modules that has a program.
type product struct {
	dir, program string
	systems      []string // imports differ between them
	head         string   // heading of its table
}

var (
	verity = product{".", "./cmd/verity", []string{"linux", "darwin", "windows"}, head}
	beam   = product{"cluster", "./cmd/verity-beam", []string{"linux"}, beamHead}
)

// list returns all modules, sorted by path.
func list(p product) ([]module, error) {
	found := map[string]*module{}
	for _, system := range p.systems {
		if err := add(found, p.dir, system, true, "-deps", p.program); err != nil {
			return nil, err
		}
		if err := add(found, p.dir, system, false, "-deps", "-test", "./..."); err != nil {
			return nil, err
		}
	}
	delete(found, "verity") // imported by the module cluster
	var all []module
	for _, path := range slices.Sorted(maps.Keys(found)) {
		m := found[path]
		if err := m.classify(); err != nil {
			return nil, err
		}
		all = append(all, *m)
	}
	return all, nil
}

// add runs go list and collects modules and the licence files of the packages used.
func add(found map[string]*module, dir, system string, program bool, args ...string) error {
	const format = `{{with .Module}}{{if not .Main}}{{.Path}}|{{.Version}}|{{.Dir}}|{{$.Dir}}{{end}}{{end}}`
	c := exec.Command("go", append([]string{"list", "-f", format}, args...)...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return fmt.Errorf("go list for %s: %w: %s", system, err, stderr.Bytes())
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 4 {
			continue
		}
		m := found[f[0]]
		if m == nil {
			m = &module{path: f[0], version: f[1]}
			found[f[0]] = m
		}
		m.program = m.program || program
		m.collect(f[2], f[3])
	}
	return nil
}

var licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|unlicense|patents)([-.].*)?$`)

// collect adds the licence files from a package's directory up to the module's root.
func (m *module) collect(root, dir string) {
	for {
		for _, d := range []string{dir, filepath.Join(dir, "licenses")} {
			entries, _ := os.ReadDir(d)
			for _, e := range entries {
				named := licenceName.MatchString(e.Name()) || filepath.Base(d) == "licenses"
				name := filepath.Join(d, e.Name())
				if named && !e.IsDir() && !strings.HasSuffix(name, ".go") && !slices.Contains(m.files, name) {
					m.files = append(m.files, name)
				}
			}
		}
		if dir == root || len(dir) <= len(root) {
			return
		}
		dir = filepath.Dir(dir)
	}
}

// phrases identify licences; the first that a file contains decides.
var phrases = []struct{ kind, phrase string }{
	{"Apache-2.0", "Apache License Version 2.0"},
	{"MPL-2.0", "Mozilla Public License Version 2.0"},
	{"MPL-2.0", "Mozilla Public License, version 2.0"},
	{"BSD-3-Clause", "may be used to endorse or promote products"},
	{"BSD-2-Clause", "Redistributions in binary form must reproduce"},
	{"MIT", "Permission is hereby granted, free of charge"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software"},
	{"ISC", "Permission to use, copy, modify, and distribute this software"},
	{"Unlicense", "This is free and unencumbered software released into the public domain"},
	{"CC0-1.0", "CC0 1.0 Universal"},
	{"CC-BY-4.0", "Creative Commons Attribution 4.0 International"},
	{"OFL-1.1", "SIL OPEN FONT LICENSE Version 1.1"},
	{"FTL", "The FreeType Project LICENSE"},
}

// classify sets kinds. A module without a recognised licence file is an error.
func (m *module) classify() error {
	slices.Sort(m.files)
	for _, name := range m.files {
		raw, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if kind := kindOf(string(raw)); kind != "" && !slices.Contains(m.kinds, kind) {
			m.kinds = append(m.kinds, kind)
		}
	}
	if len(m.kinds) == 0 {
		return fmt.Errorf("%s %s: no known licence in %q: look at it, then teach tools/licences its words",
			m.path, m.version, m.files)
	}
	slices.Sort(m.kinds)
	return nil
}

func kindOf(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, p := range phrases {
		if strings.Contains(strings.ToLower(text), strings.ToLower(p.phrase)) {
			return p.kind
		}
	}
	return ""
}

const head = `# Licences of dependencies

Written by ` + "`go generate ./tools/licences`" + `; a test fails when a module is missing. Release archives carry the
texts of everything the program contains, and of Go itself (BSD-3-Clause).
`

const beamHead = `# Licences of dependencies of verity-beam

Written by ` + "`go run ./tools/licences -cluster`" + `; ` + "`make cluster-test`" + ` fails when a module is missing. Those of verity
are in [LICENCES.md](LICENCES.md).
`

func writeTable(w io.Writer, p product, modules []module) {
	fmt.Fprintf(w, "%s\n| module | version | licence | part of |\n|---|---|---|---|\n", p.head)
	for _, m := range modules {
		part := "tests"
		if m.program {
			part = "the program"
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", m.path, m.version, strings.Join(m.kinds, ", "), part)
	}
}

func writeTexts(w io.Writer, modules []module) error {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	language := module{path: "Go,", version: "the language's own library", program: true,
		files: []string{filepath.Join(strings.TrimSpace(string(root)), "LICENSE")}}
	for _, m := range append([]module{language}, modules...) {
		if !m.program {
			continue
		}
		for _, name := range m.files {
			raw, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "==== %s %s: %s\n\n%s\n\n", m.path, m.version, filepath.Base(name), bytes.TrimSpace(raw))
		}
	}
	return nil
}

// Crossvet runs the analyzers of go vet for any system and processor:
//
//	go run ./tools/crossvet linux/arm64 windows/amd64
//	go run ./tools/crossvet -C cluster -tags purego linux/amd64
//
// GOOS=windows go vet first compiles the standard library and every dependency for
// Windows to get their types, and analyses each: minutes with an empty build cache. This
// command type-checks source instead and compiles nothing: all of the main module,
// including its tests, and only the declarations of all other packages.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/go/analysis/checker"
	vetsuite "golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/packages"
)

func main() {
	debug.SetGCPercent(400) // saves a third of the time, spent on garbage collection
	dir := flag.String("C", "", "`folder` of the module; default: the one that this runs in")
	tags := flag.String("tags", "", "build `tags`, separated by commas")
	names := flag.String("packages", "./...", "`patterns` of packages, separated by commas")
	flag.Parse()
	bad := false
	for _, platform := range flag.Args() {
		began := time.Now()
		findings, err := vet(*dir, *tags, platform, strings.Split(*names, ",")...)
		if err != nil {
			fmt.Fprintf(os.Stderr, "crossvet: %s: %v\n", platform, err)
			os.Exit(1)
		}
		for _, finding := range findings {
			fmt.Println(finding)
		}
		bad = bad || len(findings) > 0
		fmt.Printf("vet %s: %d findings, %.0f s\n", platform, len(findings), time.Since(began).Seconds())
	}
	if bad {
		os.Exit(1)
	}
}

// vet returns the diagnostics of the analyzers and the type errors of the packages that
// match patterns in a module's folder, for a platform ("linux/arm64").
func vet(dir, tags, platform string, patterns ...string) ([]string, error) {
	system, processor, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, fmt.Errorf("got %q, want a system and a processor, such as linux/arm64", platform)
	}
	libraries, err := exec.Command("go", "env", "GOROOT", "GOMODCACHE").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	found, err := packages.Load(&packages.Config{
		Dir:        dir,
		Mode:       packages.LoadAllSyntax | packages.NeedModule,
		Env:        append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0"),
		BuildFlags: []string{"-tags=" + tags},
		Tests:      true,
		ParseFile:  parser(strings.Split(strings.TrimSpace(string(libraries)), "\n")),
	}, patterns...)
	if err != nil {
		return nil, err
	}
	var findings []string
	packages.Visit(found, nil, func(p *packages.Package) {
		p.IllTyped = false
		if p.Module == nil || !(p.Module.Main || p.Module.Replace != nil && p.Module.Replace.Version == "") {
			// Without the function bodies, imports look unused. Real errors show in the
			// packages that use this one.
			p.Syntax, p.Errors = nil, nil
		}
		for _, e := range p.Errors {
			findings = append(findings, e.Error())
		}
	})
	if len(findings) > 0 {
		return findings, nil
	}
	graph, err := checker.Analyze(append(vetsuite.Suite[:len(vetsuite.Suite):len(vetsuite.Suite)], strangers), found, nil)
	if err != nil {
		return nil, err
	}
	return diagnostics(graph)
}

// parser returns a function that parses files. It drops the function bodies of files
// below libraries: checking them is most of the work.
func parser(libraries []string) func(*token.FileSet, string, []byte) (*ast.File, error) {
	return func(set *token.FileSet, name string, text []byte) (*ast.File, error) {
		file, err := goparser.ParseFile(set, name, text, goparser.ParseComments|goparser.SkipObjectResolution)
		below := func(dir string) bool { return strings.HasPrefix(name, dir+string(filepath.Separator)) }
		if file == nil || !slices.ContainsFunc(libraries, below) {
			return file, err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				f.Body = nil
			}
		}
		return file, err
	}
}

// diagnostics returns what the root actions report, each once: a file belongs to its
// package and to the test variant of that package.
func diagnostics(graph *checker.Graph) ([]string, error) {
	var findings []string
	seen := map[string]bool{}
	for _, action := range graph.Roots {
		if action.Err != nil {
			return nil, fmt.Errorf("%s of %s: %w", action.Analyzer.Name, action.Package.ID, action.Err)
		}
		for _, d := range action.Diagnostics {
			line := fmt.Sprintf("%s: %s: %s", action.Package.Fset.Position(d.Pos), action.Analyzer.Name, d.Message)
			if !seen[line] {
				seen[line] = true
				findings = append(findings, line)
			}
		}
	}
	return findings, nil
}

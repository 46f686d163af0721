// Crossvet runs the analyzers of go vet for systems and processors other than
// this one:
//
//	go run ./tools/crossvet linux/arm64 windows/amd64
//
// GOOS=windows go vet compiles the standard library and every dependency for Windows
// first, minutes with an empty build cache, to read their types from what was
// compiled. This command type-checks all source files instead and compiles nothing.
// Only packages of the main module are analysed, their tests included.
package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

func main() {
	bad := false
	for _, platform := range os.Args[1:] {
		began := time.Now()
		findings, err := vet(platform, "./...")
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

// vet returns what the analyzers find in the packages that match, compiled for
// platform ("linux/arm64"), and their type errors.
func vet(platform string, patterns ...string) ([]string, error) {
	system, processor, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, fmt.Errorf("got %q, want a system and a processor, such as linux/arm64", platform)
	}
	found, err := packages.Load(&packages.Config{
		Mode:  packages.LoadAllSyntax | packages.NeedModule,
		Env:   append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0"),
		Tests: true,
	}, patterns...)
	if err != nil {
		return nil, err
	}
	var findings []string
	packages.Visit(found, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			findings = append(findings, e.Error())
		}
		if p.Module == nil || !p.Module.Main {
			p.Syntax = nil // nothing to analyse in other people's packages
		}
	})
	if len(findings) > 0 {
		return findings, nil
	}
	graph, err := checker.Analyze(suite, found, nil)
	if err != nil {
		return nil, err
	}
	return diagnostics(graph)
}

// diagnostics returns what the root actions report, each once: a file belongs to its
// package and to the package compiled with its tests.
func diagnostics(graph *checker.Graph) ([]string, error) {
	var findings []string
	seen := map[string]bool{}
	for _, action := range graph.Roots {
		if action.Err != nil {
			return nil, fmt.Errorf("%s of %s: %w", action.Analyzer.Name, action.Package.ID, action.Err)
		}
		for _, d := range action.Diagnostics {
			line := describe(action, d)
			if !seen[line] {
				seen[line] = true
				findings = append(findings, line)
			}
		}
	}
	return findings, nil
}

func describe(action *checker.Action, d analysis.Diagnostic) string {
	return fmt.Sprintf("%s: %s: %s", action.Package.Fset.Position(d.Pos), action.Analyzer.Name, d.Message)
}

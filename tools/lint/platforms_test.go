package lint_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlatforms type-checks all packages and their tests for systems that this machine is not, from
// source: go vet would first compile every dependency, for minutes.
func TestPlatforms(t *testing.T) {
	for _, platform := range []string{"windows/arm64", "darwin/amd64"} {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			system, processor, _ := strings.Cut(platform, "/")
			if err := checkTypes(".", system, processor); err != nil {
				t.Error(err)
			}
		})
	}
}

// listed is a package as go list -json prints it.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Module          *struct{ Main bool }
}

// checkTypes type-checks the packages of the module in dir, their tests and all that they import.
func checkTypes(dir, system, processor string) error {
	list := exec.Command("go", "list", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,ImportMap,Module", "./...")
	list.Dir = dir
	list.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0")
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		return errors.New(err.Error() + ": " + stderr.String())
	}
	var faults []error
	done := map[string]*types.Package{"unsafe": types.Unsafe}
	sizes := types.SizesFor("gc", processor)
	for packages := json.NewDecoder(bytes.NewReader(out)); ; { // a package comes after what it imports
		var p listed
		if err := packages.Decode(&p); errors.Is(err, io.EOF) {
			return errors.Join(faults...)
		} else if err != nil {
			return err
		}
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") { // the main package of a test
			continue
		}
		ours := p.Module != nil && p.Module.Main
		fset := token.NewFileSet()
		var files []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			files = append(files, file)
		}
		config := types.Config{
			Importer:         mapped{p.ImportMap, done},
			Sizes:            sizes,
			IgnoreFuncBodies: !ours,
			FakeImportC:      true,
			Error: func(err error) {
				if ours {
					faults = append(faults, err)
				}
			},
		}
		path, _, _ := strings.Cut(p.ImportPath, " ") // "verity/serve [verity/serve.test]"
		done[p.ImportPath], _ = config.Check(path, fset, files, nil)
	}
}

// mapped finds a package among those checked, by the name that the importing package has for it.
type mapped struct {
	names map[string]string
	done  map[string]*types.Package
}

func (m mapped) Import(path string) (*types.Package, error) {
	if name, ok := m.names[path]; ok {
		path = name
	}
	if p := m.done[path]; p != nil {
		return p, nil
	}
	return nil, errors.New("not listed before its importer: " + path)
}

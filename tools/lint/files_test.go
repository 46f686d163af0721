package lint_test

import (
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

// protections are the reasons why a write cannot damage what is not the program's own.
const (
	told  = "a person gave the name"
	once  = "a new file under a name that nobody can foresee, or that must not exist"
	own   = "internal/output: its rules are in the package comment"
	memo  = "output.Own: a regular file of its directory, and its content is checked first"
	build = "a tool of this repository, in a directory that its caller named"
	below = "an empty directory does no harm; files in it are written by other rules"
)

// writers are all functions of the program that make, open for writing, rename or remove a
// file, with what protects the files of others. A new one needs a line here. What is not
// listed because it is safe anywhere: output.WriteIn, WriteFile and CheckIn, which follow
// no link; output.Check and Dir, which leave nothing.
var writers = map[string]string{
	"audio.newSpool":    once,
	"audio.spool.close": "removes the spool, whose name newSpool made",

	"serve.spool.clear":   "removes files of an earlier run that have the spool's names and no owner",
	"serve.spool.file":    once,
	"serve.spooled.close": once,

	"eval.openLog":             below,
	"eval.openLocked":          memo,
	"eval.logFile.beside":      "output.Own, and it begins as records do",
	"eval.logFile.rewrite":     "the rename replaces the records that it checked by the file of beside",
	"cmd/verity.manualCommand": told,
	"eval.disk":                "os.Rename and Sync, for tests: see log.rewrite",

	"internal/output.Write":   own,
	"internal/output.beside":  own,
	"internal/output.replace": own,
	"internal/output.Model":   own,
	"internal/output.takes":   own,
	"internal/output.rename":  own,
	"internal/output.Own":     own,
	"internal/output.Dir":     own,

	"model/hub.Client.Remove":    "models remove: a folder models--… of the cache that a person named",
	"model/hub.Client.Pull":      below,
	"model/hub.Client.fetchBlob": "output.Own; renamed to the hash of its content, which must not be there in another size",
	"model/hub.place":            "replaces a link of the snapshot whose target is missing; a link and a name do not follow links",
	"model/hub.symlink":          "os.Symlink, for tests: see place",
	"model/hub.Client.lock":      "output.Own; nothing is written to it",

	"cmd/internal/measure.reportFlags.write": told,

	"tools/dist.dist.run": build, "tools/dist.dist.write": build,
}

// TestWriters holds the list against the source.
func TestWriters(t *testing.T) {
	system := []string{"Open", "Openat", "Creat", "Rename", "Renameat", "Unlink", "Unlinkat", "Rmdir", "Link", "Symlink", "Mkdir", "Mknod", "Mkfifo",
		"Chmod", "Fchmod", "Chown", "Truncate", "Ftruncate"}
	risky := map[string][]string{
		"os": {"Create", "CreateTemp", "OpenFile", "WriteFile", "Rename", "Link", "Symlink", "Truncate", "Remove",
			"RemoveAll", "Chmod", "Chown", "Lchown", "Chtimes", "Mkdir", "MkdirAll", "MkdirTemp", "OpenRoot", "OpenInRoot", "CopyFS"},
		"verity/internal/output": {"Write", "Own"},
		"io/ioutil":              {"WriteFile", "TempFile", "TempDir"},
		"syscall":                system, "golang.org/x/sys/unix": system,
		"golang.org/x/sys/windows": append(system, "CreateFile", "MoveFile", "MoveFileEx", "DeleteFile"),
	}
	// Between a look at a name and these a link may come, and they follow it.
	of := []string{"Chmod", "Chown", "Lchown", "Fchmodat", "Fchownat", "Chtimes", "Truncate"}
	for where, call := range uses(t, map[string][]string{"os": of, "syscall": of, "golang.org/x/sys/unix": of}) {
		t.Errorf("%s uses %s: call the method of the open file", where, strings.Join(call, ", "))
	}
	seen := map[string]bool{}
	for where, call := range uses(t, risky) {
		if writers[where] == "" {
			t.Errorf("%s uses %s: write by internal/output, or list in writers what keeps the files of others whole", where, strings.Join(call, ", "))
		}
		seen[where] = true
	}
	for where, why := range writers {
		if !seen[where] {
			t.Errorf("%s is listed (%s), but writes nothing: remove the line", where, why)
		}
	}
}

// looks are the reasons why a read neither waits for ever nor without end.
const (
	system  = "a file of the system, under a fixed name"
	looked  = "it is looked at before: regular files only"
	made    = "a file that the program has just made or is about to replace"
	devtool = "a tool of this repository"
)

// readers are all functions of the program that open or read a file or directory without
// internal/input, with the reason why they may.
var readers = map[string]string{
	"audio.Input.Open":           "sound may come through a FIFO: the command waits for its writer, and ends on a signal",
	"internal/input.Open":        looked,
	"internal/kernel.readCaches": system,
	"parallel.readFastCores":     system,
	"internal/machine.Resident":  system,
	"datasets.filesIn":           "a directory",
	"eval/report.Find":           "a directory",
	"internal/machine.CPU":       system,

	"cmd/internal/measure.replaces": looked,

	"model.openFile":                      looked,
	"model.readWeights":                   "weights in a file system that the program was given, such as the embedded one",
	"model.Open":                          "a directory; its files by internal/input and internal/formats/weights",
	"model/hub.Client.List":               "a directory",
	"model/hub.Client.snapshots":          "a directory",
	"model/hub.place":                     made,
	"internal/formats/weights.openRegion": looked,
}

// TestReaders holds the list against the source.
func TestReaders(t *testing.T) {
	risky := map[string][]string{
		"os": {"Open", "OpenFile", "ReadFile", "ReadDir", "DirFS"}, "io/fs": {"ReadFile", "ReadDir"}, "io/ioutil": {"ReadFile", "ReadDir"},
		"crypto/tls": {"LoadX509KeyPair"},
	}
	seen := map[string]bool{}
	for where, call := range uses(t, risky) {
		if seen[where] = true; readers[where] == "" && !strings.HasPrefix(where, "internal/output.") && !strings.HasPrefix(where, "tools/") {
			t.Errorf("%s uses %s: read by internal/input, which refuses what never ends, or list in readers why not", where, strings.Join(call, ", "))
		}
	}
	for where, why := range readers {
		if !seen[where] {
			t.Errorf("%s is listed (%s), but reads nothing: remove the line", where, why)
		}
	}
}

// uses returns where names of packages, by their paths, are used: the functions
// (package.Type.Method) or variables, and the names. Tests are left out.
func uses(t *testing.T, names map[string][]string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, s := range sources(t) {
		if s.test() || slices.Contains(testOnly, s.dir) || strings.Contains(s.dir, "/_asm") {
			continue
		}
		paths := map[string]string{} // by the name in this file
		for _, i := range s.file.Imports {
			at := strings.Trim(i.Path.Value, `"`)
			as := path.Base(at)
			if i.Name != nil {
				as = i.Name.Name
			}
			if paths[as] = at; as == "." && names[at] != nil {
				t.Errorf("%s/%s imports the names of %s: write %[3]s.Name", s.dir, s.name, at)
			}
		}
		for _, d := range s.file.Decls {
			ast.Inspect(d, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					x, ok := sel.X.(*ast.Ident)
					if ok && x.Obj == nil && slices.Contains(names[paths[x.Name]], sel.Sel.Name) {
						where := s.dir + "." + nameOf(d, n)
						found[where] = append(found[where], x.Name+"."+sel.Sel.Name)
					}
				}
				return true
			})
		}
	}
	return found
}

// nameOf returns the name of the function, or of the variable at a node.
func nameOf(d ast.Decl, at ast.Node) string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return d.Name.Name
		}
		of := d.Recv.List[0].Type
		if p, ok := of.(*ast.StarExpr); ok {
			of = p.X
		}
		if g, ok := of.(*ast.IndexExpr); ok {
			of = g.X
		}
		return of.(*ast.Ident).Name + "." + d.Name.Name
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if v, ok := s.(*ast.ValueSpec); ok && v.Pos() <= at.Pos() && at.Pos() <= v.End() {
				return v.Names[0].Name
			}
		}
	}
	return "?"
}

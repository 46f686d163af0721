package verity_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A room is a package in the import plan: which rooms it may import, and why it is a
// package of its own. A new package needs a line here.
type room struct {
	why string
	may []string
}

// formats are the rooms that read files of weights, for package model.
var formats = []string{"internal/ctranslate2", "internal/ggml", "internal/input", "internal/safetensors", "internal/sniff", "internal/torch", "internal/weights"}

var plan = map[string]room{
	".": {"the façade for library users: one call for a model, one for a transcript", []string{"audio", "model", "model/hub", "precision", "transcribe", "transcript"}},

	"audio":      {"any sound file becomes log-mel windows; knows nothing of networks", []string{"internal/frontend", "internal/kernel", "internal/tensor", "precision"}},
	"tokenizer":  {"text ↔ tokens; independent of the networks", []string{"internal/input", "internal/sniff"}},
	"model":      {"a file or directory becomes named weights; no arithmetic; sizes of published vocabularies are the tokenizer's", append(formats, "internal/frontend", "internal/quant", "internal/tensor", "tokenizer")},
	"vad":        {"finds speech in a clip with a small network of its own", []string{"audio", "internal/kernel"}},
	"encoder":    {"mel → features", []string{"audio", "internal/kernel", "internal/layer", "parallel", "precision", "model"}},
	"decoder":    {"features → choices", []string{"encoder", "internal/kernel", "internal/layer", "parallel", "precision", "model", "tokenizer"}},
	"schedule":   {"windows that are decoded together: who has the threads", []string{"decoder", "encoder", "internal/layer", "model"}},
	"assistant":  {"drafting and the round; imports the target's rooms to run a second model", []string{"audio", "decoder", "encoder", "internal/tensor", "model", "parallel", "precision", "schedule", "tokenizer", "transcript"}},
	"transcribe": {"a clip → a transcript; the only room that uses the whole engine", []string{"assistant", "audio", "decoder", "encoder", "parallel", "precision", "schedule", "internal/zlibsize", "model", "tokenizer", "transcript", "vad"}},
	"parallel":   {"the worker pool; public, since options of public packages name it", nil},
	"precision":  {"names of number formats; a leaf, since options of public packages name them", nil},
	"transcript": {"the result and its file formats; needs no engine", []string{"tokenizer"}},

	"wer":           {"alignment and rates; needs no engine", nil},
	"wer/normalize": {"text normalisers; need no engine", nil},
	"datasets":      {"utterances from folders and manifests; no decoding", []string{"internal/input"}},

	"selftest": {"checks the guarantees of the design on any loaded model", []string{"assistant", "audio", "decoder", "encoder", "internal/kernel", "internal/tensor", "model", "parallel", "precision", "schedule", "tokenizer", "transcript"}},

	"eval":   {"engine × dataset → records; assistant's theory predicts the speed-up", []string{"assistant", "audio", "datasets", "internal/input", "internal/output", "parallel", "report", "transcript", "wer"}},
	"report": {"records → scores, comparisons, pages; needs no model and no engine", []string{"internal/input", "internal/show", "parallel", "transcript", "wer", "wer/normalize"}},

	"bench":    {"ceilings of the machine, and how close the stages come to them", []string{"audio", "decoder", "encoder", "internal/kernel", "internal/layer", "internal/machine", "internal/show", "model", "parallel", "precision", "schedule", "tokenizer", "transcript"}},
	"plan":     {"predicts the gain of an assistant from measurements of bench and compare", []string{"assistant", "bench", "internal/input", "internal/show", "report", "transcript"}},
	"live":     {"transcribes sound while it arrives; confirmed text never changes", []string{"audio", "tokenizer", "transcribe", "transcript", "vad"}},
	"serve":    {"OpenAI's audio API over HTTP; requests share the model", []string{"audio", "internal/input", "internal/options", "internal/show", "live", "tokenizer", "transcribe", "transcript", "vad"}},
	"quantize": {"a checkpoint in fewer bits, calibrated on the inputs of its products", []string{"internal/input", "internal/kernel", "internal/output", "internal/quant", "internal/safetensors", "internal/tensor", "model", "parallel", "precision"}},
	"synth":    {"checkpoints of realistic shape with planted text; writes what model reads", []string{"internal/frontend", "internal/input", "internal/output", "internal/safetensors", "internal/tensor", "model", "parallel", "tokenizer"}},

	"cmd/verity":       {"the program: internal/cli with a version", []string{"internal/cli"}},
	"internal/cli":     {"the command line: root, configuration file, completion, manual", []string{"internal/checkpoint", "internal/command", "internal/input", "internal/measure", "internal/options", "internal/output", "internal/scribe", "internal/setup", "internal/show", "tokenizer"}},
	"internal/command": {"what every command is made of: streams, errors, flags, help, progress, log", []string{"internal/input", "internal/options", "internal/show"}},
	"internal/setup": {"flags that commands share → what they name: a model ready for work, a dataset, text to draft from", []string{
		"assistant", "audio", "datasets", "eval", "internal/command", "internal/input", "internal/machine", "internal/options", "internal/show", "model", "model/hub",
		"models/whisper", "parallel", "precision", "report", "synth", "tokenizer", "transcribe", "transcript"}},
	"internal/scribe": {"the commands that write what was said: transcribe, listen, watch and serve", []string{
		"audio", "internal/command", "internal/input", "internal/kernel", "internal/options", "internal/output", "internal/setup", "internal/show", "live", "parallel", "precision", "serve",
		"tokenizer", "transcribe", "transcript"}},
	"internal/measure": {"the commands that measure; verity-beam in the module cluster has its Job", []string{"*"}},
	"internal/checkpoint": {"the commands about models: models, info, quantize, synth", []string{
		"assistant", "audio", "bench", "datasets", "eval", "internal/command", "internal/kernel", "internal/layer", "internal/options", "internal/setup", "internal/show", "model", "model/hub", "parallel", "precision",
		"quantize", "synth", "tokenizer", "transcribe"}},
	"internal/options": {"the one table of options; serve and internal/cli derive flags and fields from it", []string{"assistant", "audio", "parallel", "precision", "tokenizer", "transcribe", "transcript", "vad", "wer/normalize"}},
	"models/digits":    {"test only: a small model trained in this repository; files only", nil},
	"models/whisper":   {"the embedded model: files, and their name for model.Inside", []string{"model"}},

	"tools/crossvet": {"go vet for other platforms; imports nothing of the engine", nil},
	"tools/dist":     {"release archives; imports nothing of the engine", nil},
	"tools/live":     {"measures live text at the pace it was spoken", []string{".", "audio", "datasets", "live", "models/whisper", "precision", "transcribe", "transcript", "wer", "wer/normalize"}},
	"tools/load":     {"asks a running server for many things at once; imports nothing of the engine", nil},
	"tools/licences": {"licences of dependencies; imports nothing of the engine", nil},

	"model/hub": {"resolves model names to directories: the Hugging Face cache, and downloads into it", []string{"internal/input", "internal/output"}},

	"internal/frontend":    {"constants of the log-mel front end that audio, model and synth must agree on", nil},
	"internal/kernel":      {"arithmetic: a set of kernels for each kind of processor", []string{"parallel", "precision", "internal/quant", "internal/tensor"}},
	"internal/layer":       {"what encoder and decoder share: linear, norm, and loading both", []string{"internal/kernel", "parallel", "precision", "internal/tensor", "model"}},
	"internal/machine":     {"facts about the machine and the process, for reports", nil},
	"internal/quant":       {"the codec of low-bit weights, shared by kernel, model and quantize", []string{"internal/tensor", "precision"}},
	"internal/safetensors": {"a file format", []string{"internal/sniff", "internal/tensor", "internal/weights"}},
	"internal/ctranslate2": {"a file format, of faster-whisper", []string{"internal/sniff", "internal/tensor", "internal/weights"}},
	"internal/ggml":        {"a file format, of whisper.cpp", []string{"internal/sniff", "internal/tensor", "internal/weights"}},
	"internal/torch":       {"a file format, of openai/whisper: pickles, read without executing them", []string{"internal/sniff", "internal/tensor", "internal/weights"}},
	"internal/sniff":       {"recognises a wrong file in place of the expected one, for errors", nil},
	"internal/weights":     {"memory-mapped files of named tensors, for all formats; page faults become errors", []string{"internal/input", "internal/sniff", "internal/tensor"}},
	"internal/tensor":      {"storage and shapes; no arithmetic", nil},
	"internal/zlibsize":    {"the size that zlib compresses a text to, for a gate's threshold; Go's compress/zlib gives other sizes", nil},
	"internal/input":       {"opens files whose names come from outside: regular files only, of bounded size; reads end with their context", nil},
	"internal/output":      {"writes every file: atomically, never over an input, and where the program chose the name through no link", nil},
	"internal/show":        {"formats numbers and names for people; one format for each kind", nil},
	"internal/golden":      {"test only: outputs of upstream", []string{"internal/tensor"}},
	"internal/testmodel":   {"test only: small checkpoints", []string{"internal/safetensors", "internal/tensor", "model"}},
}

// testOnly are rooms that no program may contain.
var testOnly = []string{"internal/golden", "internal/testmodel", "models/digits"}

// commandOnly are modules that only commands may use, and tests.
var commandOnly = []string{
	"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/schollz/progressbar/v3", "golang.org/x/term",
	"github.com/rogpeppe/go-internal", "github.com/google/go-cmp", "pgregory.net/rapid", "go.uber.org/goleak",
}

// commands are the rooms that may use them.
var commands = []string{"internal/checkpoint", "internal/cli", "internal/command", "internal/measure", "internal/scribe", "internal/setup"}

// A source is one Go file of the module.
type source struct {
	dir  string // with slashes, "." for the root
	name string
	file *ast.File
}

func (s source) test() bool { return strings.HasSuffix(s.name, "_test.go") }

// sources parses every Go file of the module. Reading the
// files here, and not through the go command, lets the test cache see changes.
func sources(t *testing.T) (all []source) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, nested := os.Stat(filepath.Join(name, "go.mod"))
			if name != "." && (nested == nil || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		all = append(all, source{filepath.ToSlash(filepath.Dir(name)), d.Name(), f})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("only %d Go files found: the walk is broken", len(all))
	}
	return all
}

// TestImports checks the import plan: data flows one way, and a room does not import
// the rooms after it.
func TestImports(t *testing.T) {
	for _, s := range sources(t) {
		here, planned := plan[s.dir]
		if !planned {
			t.Errorf("%s: package %s is not in the plan: add it to arch_test.go, with its reason", s.name, s.dir)
			continue
		}
		for _, spec := range s.file.Imports {
			target, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !s.test() {
				checkImport(t, s, here, target)
			}
		}
	}
}

func checkImport(t *testing.T, s source, here room, target string) {
	t.Helper()
	own, ours := strings.CutPrefix(target, "verity/")
	switch {
	case !ours:
		for _, m := range commandOnly {
			if (target == m || strings.HasPrefix(target, m+"/")) && !slices.Contains(commands, s.dir) {
				t.Errorf("%s/%s imports %s: only commands may", s.dir, s.name, target)
			}
		}
	case slices.Contains(testOnly, own) && !slices.Contains(testOnly, s.dir):
		t.Errorf("%s/%s imports %s: only tests may", s.dir, s.name, target)
	case slices.Contains(here.may, "*"), slices.Contains(here.may, own):
	default:
		t.Errorf("%s/%s imports %s, which is not in its plan (%s): if it has to, say so in arch_test.go and why", s.dir, s.name, target, here.why)
	}
}

// TestPackageOfProgram checks that cmd/verity has only main.go and doc.go: a file or test
// script left there is not part of internal/cli and would not run.
func TestPackageOfProgram(t *testing.T) {
	entries, err := os.ReadDir("cmd/verity")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "main.go" && e.Name() != "doc.go" {
			t.Errorf("cmd/verity/%s: want main.go and doc.go alone; the command line is internal/cli (move it there: git mv, package cli)", e.Name())
		}
	}
}

// TestPlan checks the plan itself: no cycles, no missing rooms.
func TestPlan(t *testing.T) {
	var walk func(at string, trail []string)
	walk = func(at string, trail []string) {
		if slices.Contains(trail, at) {
			t.Errorf("the plan has a circle: %v, %s", trail, at)
			return
		}
		for _, next := range plan[at].may {
			if _, ok := plan[next]; !ok && next != "*" {
				t.Errorf("%s may import %s, which is not in the plan", at, next)
			}
			walk(next, append(trail[:len(trail):len(trail)], at))
		}
	}
	for at, r := range plan {
		if r.why == "" {
			t.Errorf("%s is in the plan without a reason", at)
		}
		walk(at, nil)
	}
}

// TestPackageComments checks that every package has exactly one package comment.
func TestPackageComments(t *testing.T) {
	comments := map[string][]string{}
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		if _, seen := comments[s.dir]; !seen {
			comments[s.dir] = nil
		}
		if s.file.Doc != nil && strings.TrimSpace(s.file.Doc.Text()) != "" {
			comments[s.dir] = append(comments[s.dir], s.name)
			checkComment(t, s)
		}
	}
	for dir, files := range comments {
		if len(files) != 1 {
			t.Errorf("package %s has %d comments, want one: %v", dir, len(files), files)
		}
	}
}

func checkComment(t *testing.T, s source) {
	t.Helper()
	want := "Package " + s.file.Name.Name + " "
	if s.file.Name.Name == "main" {
		name := path.Base(s.dir)
		want = strings.ToUpper(name[:1]) + name[1:] + " "
	}
	if text := s.file.Doc.Text(); !strings.HasPrefix(text, want) {
		t.Errorf("%s/%s: the package comment does not begin with %q", s.dir, s.name, want)
	}
}

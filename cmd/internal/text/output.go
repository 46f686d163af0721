package text

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"verity/cmd/internal/cli"
	"verity/internal/input"
	"verity/internal/output"
	"verity/internal/show"
	"verity/tokenizer"
	"verity/transcribe"
	"verity/transcript"
)

// errOutput is the cause when standard output cannot be written: no further text could be. A
// file that cannot be written is a failure of its input alone.
var errOutput = errors.New("writing the text")

func cannotWrite(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errOutput, input.Cause(err))
}

// An outputDir writes transcripts to a directory, a file for each format.
type outputDir struct {
	*outputFlags
	names    map[string]string // of an input: its outputs, as a path below dir without the ending of a format
	language string            // of all texts; empty if it is not known before they are written
	log      io.Writer         // nil, or gets a line for each transcript
	undo     func()            // removes the directory if it was made and is empty
}

// newOutputDir returns the directory of --output-dir, with the names of the outputs of each input.
func (t *fileRun) newOutputDir(names map[string]string) *outputDir {
	d := &outputDir{outputFlags: &t.outputFlags, names: names, language: textLanguage(t.Decoding.Options)}
	if !t.Log.Quiet {
		d.log = t.Err
	}
	return d
}

// make makes the directory and checks that files can be written to it. No output may be an input.
func (d *outputDir) make(inputs []string) error {
	for _, in := range inputs {
		sound, _ := os.Stat(in) // nil for standard input
		for _, format := range d.outputs() {
			for _, path := range d.paths(in, format) {
				if there, err := os.Stat(path); err == nil && os.SameFile(there, sound) {
					return &output.Error{Name: path, Err: errors.New("it is an input"), Unfit: true}
				}
			}
		}
	}
	var err error
	d.undo, err = makeOutputDir(d.dir)
	return err
}

// makeOutputDir makes the directory of --output-dir.
func makeOutputDir(dir string) (undo func(), err error) {
	if undo, err = output.MakeDir(dir); err != nil {
		err = fmt.Errorf("--output-dir %w", err)
	}
	return undo, err
}

// longestFile is the most bytes in the name of a file, on all common file systems.
const longestFile = 255

// outputNames returns the names of the outputs of inputs, without the ending of a format: by pattern, the value of --name, in
// which the language stays a field. Where names are not enough, a number follows, talk.wav-2. A name that is too long with
// the ending of a format loses its end.
func outputNames(inputs []string, below map[string]string, formats []transcript.Format, pattern string) map[string]string {
	longest := slices.MaxFunc(formats, func(a, b transcript.Format) int { return len(a) - len(b) })
	room := longestFile - len("."+longest) - len(strings.NewReplacer(nameField, "", languageField, "und").Replace(pattern))
	names, used := distinctNames(inputs, below), map[string]bool{}
	for _, in := range inputs {
		dir, name := filepath.Split(names[in])
		for n, number := 1, ""; ; n++ {
			if n > 1 {
				number = fmt.Sprintf("-%d", n)
			}
			fitting := name
			if most := room - len(number); len(name) > most {
				fitting = strings.ToValidUTF8(name[:most], "")
			}
			if path := filepath.Join(dir, strings.ReplaceAll(pattern, nameField, fitting+number)); !used[foldCase(path)] {
				used[foldCase(path)], names[in] = true, path
				break
			}
		}
	}
	return names
}

// distinctNames returns a name for each input: talk for talk.wav, in the directory where the input is below the one that was
// named. Inputs of one name in two directories are in these, A/talk and B/talk; else inputs that would share a name keep
// their endings, talk.wav and talk.mp3.
func distinctNames(inputs []string, below map[string]string) map[string]string {
	inDirectory := func(in string) string { // A/a for A/a.wav
		dir := filepath.Base(filepath.Dir(in))
		if strings.Trim(dir, `./\`) == "" {
			dir = ""
		}
		return filepath.Join(below[in], dir, stem(in))
	}
	names, uses, shared := map[string]string{}, map[string]int{}, []string{}
	for _, in := range inputs {
		names[in] = filepath.Join(below[in], stem(in))
		uses[foldCase(names[in])]++
	}
	for _, in := range inputs {
		if uses[foldCase(names[in])] > 1 {
			shared = append(shared, in)
		}
	}
	for _, in := range shared {
		uses[foldCase(inDirectory(in))]++
	}
	for _, in := range shared {
		if other := inDirectory(in); uses[foldCase(other)] == 1 && !cli.IsAddress(in) {
			names[in] = other
		} else {
			names[in] = filepath.Join(below[in], base(in))
		}
	}
	return names
}

// ignoresCase reports whether Talk.txt and talk.txt are one file on this system.
var ignoresCase = runtime.GOOS == "windows" || runtime.GOOS == "darwin"

// foldCase returns a name in a form that all names of one file share.
func foldCase(name string) string {
	if ignoresCase {
		return strings.ToLower(name)
	}
	return name
}

// path is the file for the transcript of an input in a language.
func (d *outputDir) path(input string, format transcript.Format, language string) string {
	name := strings.ReplaceAll(d.names[input], languageField, language)
	return filepath.Join(d.dir, name+"."+string(format))
}

// paths are the files that the transcript of an input may have: one, or if its name has the language, which is not
// known yet, one for each.
func (d *outputDir) paths(input string, format transcript.Format) (paths []string) {
	if d.language != "" || !strings.Contains(d.names[input], languageField) {
		return []string{d.path(input, format, d.language)}
	}
	paths = []string{d.path(input, format, unknownLanguage)}
	for _, l := range tokenizer.KnownLanguages() {
		paths = append(paths, d.path(input, format, l.Code))
	}
	return paths
}

// textLanguage returns the language of all texts with some options: a translation is English. It is empty if each
// sound decides.
func textLanguage(o transcribe.Options) string {
	if o.Task == transcribe.Translate {
		return "en"
	}
	if l, ok := tokenizer.FindLanguage(o.Language); ok && !o.Multilingual {
		return l.Code
	}
	return ""
}

// Fields of --name, and the language of a text without one, by ISO 639-2.
const (
	nameField       = "{name}"
	languageField   = "{language}"
	unknownLanguage = "und"
)

// checkName reports what is wrong with the value of --name. The only output may have a name of its own.
func checkName(pattern string, only bool) error {
	rest := strings.NewReplacer(nameField, "", languageField, "").Replace(pattern)
	if strings.ContainsAny(rest, `/\`) {
		return cli.Usagef("--name %s: want a name without a directory, which --output-dir names", show.Name(pattern))
	}
	if !strings.Contains(pattern, nameField) && (!only || rest == "") || strings.ContainsAny(rest, "{}\x00") {
		got := ""
		if field := regexp.MustCompile(`{.*?}`).FindString(rest); field != "" {
			got = "got " + show.Name(field) + ", "
		}
		return cli.Usagef("--name %s: %swant {name}, the name of the sound file without its ending, and perhaps {language}, "+
			"as in {name}.{language}", show.Name(pattern), got)
	}
	return nil
}

// notInNames are characters that names of files cannot have on Windows. Addresses may have them.
var notInNames = regexp.MustCompile(`[<>:"/\\|?*]`)

// base is the name of a file without its directory.
func base(name string) string {
	if _, piped := cli.Stdin(name); piped {
		return "stdin"
	}
	if u, err := url.Parse(name); err == nil && cli.IsAddress(name) {
		return notInNames.ReplaceAllString(path.Base(u.Path), "_")
	}
	return filepath.Base(name)
}

// stem is the name of a file without its directory and extension.
func stem(name string) string {
	base := base(name)
	if s := strings.TrimSuffix(base, filepath.Ext(base)); s != "" {
		return s
	}
	return base
}

// missing returns the inputs to transcribe: all, or with skip those that lack an output. While the language is not
// known, one in any language counts. Without force and skip an output that exists is an error.
func (d *outputDir) missing(inputs []string) (todo []string, err error) {
	if d.force {
		return inputs, nil
	}
	for _, in := range inputs {
		existing := 0
		for _, format := range d.outputs() {
			paths := d.paths(in, format)
			i := slices.IndexFunc(paths, exists)
			if i < 0 || len(paths) > 1 && !d.skip {
				continue // write checks those that the language decides
			}
			if existing++; !d.skip {
				return nil, existsError(paths[i], ", and nothing was done")
			}
		}
		if existing < len(d.outputs()) {
			todo = append(todo, in)
		}
	}
	return todo, nil
}

func existsError(path, consequence string) error {
	return cli.Usagef("%s exists%s: --force replaces it, --skip-existing leaves it and continues", show.Name(path), consequence)
}

// exists reports whether writing a file would lose something. A link that leads nowhere counts;
// a device or a pipe holds nothing.
func exists(path string) bool {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	info, err := os.Stat(path)
	return err != nil || info.Mode().IsRegular() || info.IsDir()
}

// write writes all formats that it can, and returns the first error.
func (d *outputDir) write(name string, t *transcript.Transcript) (first error) {
	below, err := output.Below(d.dir, filepath.Dir(d.names[name]))
	if err == nil && below != filepath.Clean(d.dir) {
		_, err = output.MakeDir(below)
	}
	if err != nil {
		return err
	}
	var written []string
	for _, format := range d.outputs() {
		path := d.path(name, format, cmp.Or(d.language, t.Language, unknownLanguage))
		if !d.force && exists(path) {
			if !d.skip {
				first = cmp.Or(first, existsError(path, ""))
			}
			continue
		}
		err := output.Replace(path, func(w io.Writer) error { return d.written().Write(w, format, t) })
		if err == nil {
			written = append(written, show.Name(path))
		}
		first = cmp.Or(first, err)
	}
	if d.log != nil && len(written) > 0 {
		fmt.Fprintf(d.log, "%s: written to %s\n", show.Name(name), strings.Join(written, ", "))
	}
	return first
}

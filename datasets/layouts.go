package datasets

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"verity/audio"
)

// Where the files of a layout are found.
const (
	named = iota // nowhere: somebody names them
	top          // at the top of a folder, which has one
	below        // anywhere below a folder
)

// A layout is a form of datasets.
type layout struct {
	format string // of [Dataset.Format]
	where  int
	files  string  // patterns of their names, for [filepath.Match]; empty for sound files
	read   reader  // nil for tables
	tables []table // the first one that fits a file's first line
	advice string  // for files that are not read
}

// layouts are all that are known. The first one that has files in a folder decides: a manifest.jsonl at the top describes the
// folder, but a CSV file beside sound may be about something else. docs/EVALUATION.md lists them, too.
var layouts = []layout{
	{format: "jsonl", where: top, files: "manifest.jsonl", read: readJSONL},
	{format: "librispeech", where: below, files: "*.trans.txt", tables: []table{
		{split: words(2), columns: "path text", sounds: "NAME.flac", lang: "en", allSounds: true}}},
	{format: "mls", where: top, files: "transcripts.txt", tables: []table{
		{split: tabs, columns: "path text", sounds: "audio/SPEAKER/BOOK/NAME.flac"}}},
	{format: "kaldi", where: top, files: "text", tables: []table{
		{split: words(2), columns: "id text", sounds: "NAME ../../NAME", joined: []join{

			{"segments", words(4), "id recording start end", false},
			{"utt2spk", words(2), "id speaker", false},
			{"wav.scp", words(2), "recording path", true}}}}},
	{format: "stm", where: below, files: "*.stm", tables: []table{
		{split: stm, columns: "path channel speaker start end text", sounds: "NAME NAME.sph ../sph/NAME.sph"}}},
	{format: "parquet", where: below, files: "*.parquet", read: readParquet},
	{format: "jsonl", where: top, files: "*.jsonl", read: readJSONL},
	{format: "jsonl", where: named, files: "*.ndjson *.json", read: readJSONL},
	{format: "tsv", where: top, files: "*.tsv", tables: []table{
		{split: tabs, columns: "number path raw_text transcription letters samples gender", sounds: usual}, // FLEURS
		{split: tabs, columns: "path text", sounds: usual},
		{split: tabs, sounds: usual}}},
	{format: "csv", where: top, files: "metadata.csv", tables: csvTables},
	{format: "folder", where: below, read: readBeside},
	{format: "csv", where: top, files: "*.csv", tables: csvTables},
	{where: top, files: "wav.scp segments utt2spk", advice: "has wav.scp but no text: want a file named text beside it, with ID WORDS on each line; name the directory"},
	{where: top, files: "*.arrow", advice: "Arrow files are not read: in Python, " +
		`datasets.load_from_disk("DIR").to_parquet("test.parquet") makes Parquet of them`},
	{where: top, files: "*.tar *.gz *.tgz *.bz2 *.zip", advice: "unpack it first, as with tar -xf FILE, gunzip FILE or unzip FILE"},
}

var csvTables = []table{
	{split: bars, columns: "path raw_text text", sounds: usual}, // LJSpeech
	{split: bars, columns: "path text", sounds: usual},
	{split: commas, columns: "path text", sounds: usual},
	{split: semicolons, columns: "path text", sounds: usual},
	{split: commas, sounds: usual},
	{split: semicolons, sounds: usual},
}

// usual is where sound may be: beside the table, in clips as of Common Voice, in a folder named as the table as of FLEURS, in
// wavs as of LJSpeech.
const usual = "NAME clips/NAME STEM/NAME wavs/NAME.wav"

// has reports whether p is a file of the layout.
func (l *layout) has(p string) bool {
	if l.files == "" && l.advice == "" {
		return audio.HasEnding(p)
	}
	return slices.ContainsFunc(strings.Fields(l.files), func(pattern string) bool {
		ok, _ := filepath.Match(pattern, strings.ToLower(filepath.Base(p)))
		return ok
	})
}

// readFile reads one file of the dataset by its layout.
func (d *Dataset) readFile(ctx context.Context, file string, rows sink) error {
	l := layouts[slices.IndexFunc(layouts, func(l layout) bool { return l.format == d.Format })]
	if l.tables != nil {
		return d.readTables(ctx, l.tables, file, rows)
	}
	return l.read(ctx, d, file, rows)
}

// patterns lists the files that are read, of layouts found in folders or of all.
func patterns(all bool) string {
	var list []string
	for _, l := range layouts {
		for _, p := range strings.Fields(l.files) {
			if l.advice == "" && (all || l.where != named) && !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
	}
	return strings.Join(list, ", ")
}

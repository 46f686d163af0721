package cli

import (
	"strconv"
	"time"

	"verity/transcribe"
)

// The headings of help.
const (
	Dataset  = "Dataset"
	Runs     = "Runs"
	Input    = "Input"
	Output   = "Output"
	Captions = "Subtitles"
	Model    = "Model"
	Words    = "Text"
	Voice    = "Voice activity"
	Quality  = "Search and thresholds"
	Speed    = "Speed"
	Drafts   = "Drafting (changes only speed)"
	Serving  = "Serving"
	Report   = "Report"
	Log      = "Log"
	Others   = "As in other programs"
)

// Upper bounds that follow from the model or from memory.
const (
	maxTokens    = 448      // in a window with its prompt, in every published model
	maxPositions = 1500     // of the encoder in a window
	maxSequences = 64       // of a search; each has its own keys and values
	maxBatch     = 1024     // utterances in progress at the same time
	maxSeconds   = 1e6      // seconds of audio: eleven days
	maxPrompt    = 64 << 10 // bytes; a model reads 224 tokens of them
	maxLine      = 1000     // characters
	maxPath      = 4096     // bytes
	maxHour      = 3600e3   // ms
	maxMonth     = 30 * 86400
)

const anywhere = Configurable | Server | Request

// zero is what the library does by default; the table takes its defaults from there.
var zero = transcribe.Options{}.WithDefaults()

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// sections are the options in the order of help.
var sections = []struct {
	title   string
	options []*Option
}{
	{Dataset, datasetRows},
	{Runs, runRows},
	{Input, soundRows},
	{Output, outputRows},
	{Captions, captionRows},
	{Model, modelRows},
	{Words, textRows},
	{Voice, voiceRows},
	{Quality, qualityRows},
	{Speed, speedRows},
	{Drafts, draftRows},
	{Serving, servingRows},
	{Report, reportRows},
	{Log, logRows},
	{Others, otherRows},
}

// duration writes a whole number of hours.
func duration(d time.Duration) string { return strconv.Itoa(int(d.Hours())) + "h" }

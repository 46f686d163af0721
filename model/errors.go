package model

import (
	"errors"
	"fmt"
	"strings"

	"verity/internal/formats/weights"
)

// Causes of a [TensorError], for errors.Is.
var (
	ErrMissing = errors.New("missing")
	ErrShape   = errors.New("wrong shape")
	ErrDType   = errors.New("unsupported data type")
)

// A TensorError reports a weight that a model file lacks or holds in a form that the
// network cannot use. Its cause is ErrMissing, ErrShape or ErrDType.
type TensorError struct {
	File string // as the caller named it
	Name string // in the file, such as "model.decoder.layers.3.fc1.weight"
	Want string // as in "[1280 1280]"; empty if any shape would do
	Got  string // as in "[1280 1280] f16"; empty if the tensor is missing
	Err  error
}

func (e *TensorError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: tensor %s: %v", e.File, e.Name, e.Err)
	if e.Got != "" {
		fmt.Fprintf(&b, ": got %s", e.Got)
	}
	if e.Want != "" {
		fmt.Fprintf(&b, ", want %s", e.Want)
	}
	if errors.Is(e.Err, ErrDType) {
		return b.String() + "; convert the model to float16 or float32"
	}
	return b.String() + "; download or convert the model again, weights and config.json together"
}

func (e *TensorError) Unwrap() error { return e.Err }

// ErrChanged is the cause if a file of the weights changed, or could not be read, during
// reading.
var ErrChanged = weights.ErrChanged

// ErrNotCheckpoint is the cause if what was opened is not a checkpoint in a layout that
// Open reads. The message says what it looks like and what to do.
var ErrNotCheckpoint = errors.New("not a checkpoint that Verity reads")

// ErrConfig is the cause if one of the JSON files has an impossible value.
var ErrConfig = errors.New("unusable configuration")

// A ConfigError reports a field of one of the JSON files. Its cause is ErrConfig.
type ConfigError struct {
	File   string // as the caller named it
	Field  string // upstream's name; empty if it is the whole file
	Reason string
}

// missingSize is the Reason of a size that is not there.
const missingSize = "is missing or no integer"

func (e *ConfigError) Error() string {
	remedy := "; correct it, or download it again"
	if e.Field == "model_type" {
		remedy = "; name a Whisper model"
	}
	if e.Field == "num_mel_bins" && e.Reason == missingSize { // the first size: there may be none of them
		return fmt.Sprintf("%s: is no configuration of Whisper: %.80s %s; download it again", e.File, e.Field, e.Reason)
	}
	if e.Field == "" {
		return fmt.Sprintf("%s: %.400s%s", e.File, e.Reason, remedy)
	}
	return fmt.Sprintf("%s: %.80s %.400s%s", e.File, e.Field, e.Reason, remedy)
}

func (e *ConfigError) Unwrap() error { return ErrConfig }

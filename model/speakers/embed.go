// Package speakers holds the weights of the two networks that tell speakers apart, for package diarize:
// segmentation-3.0 of pyannote.audio, which finds speech and overlapping speech, and CAM++ of 3D-Speaker, which
// describes a voice.
//
// README.md beside this file says where they come from; convert.py writes the file again, the same bytes.
package speakers

import _ "embed"

// Weights is speakers.bin, in the layout that convert.py documents.
//
//go:embed speakers.bin
var Weights string

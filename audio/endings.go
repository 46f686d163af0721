package audio

import (
	"path/filepath"
	"slices"
	"strings"
)

// endings lists how the names of sound files end: of formats that this package reads, and of those that ffmpeg reads
// for it, by what they usually hold. The content of a file decides its format; an ending only says that a
// file in a directory is meant to be heard.
var endings = []struct{ names, what string }{
	{"wav wave bwf rf64", "WAV"}, {"flac fla", "FLAC"}, {"mp3 mpga", "MP3"}, {"ogg oga opus", "Ogg"},
	{"webm weba mka mkv", "Matroska"}, {"aiff aif aifc", "AIFF"}, {"caf", "CAF"}, {"au snd", "AU"},

	// By ffmpeg:
	{"mp4 m4a m4b m4r m4v mov qt 3gp 3g2 3gpp 3gpp2 f4v f4a f4b", "MP4, QuickTime"},
	{"aac adts latm loas", "AAC"}, {"mp1 mp2 m2a mpa", "MPEG audio"},
	{"mpg mpeg mpe m2p vob", "MPEG program streams"}, {"ts m2ts mts m2t", "MPEG transport streams"},
	{"wma wmv asf", "Windows Media"}, {"avi divx", "AVI"}, {"flv", "Flash video"},
	{"rm ra ram rmvb", "RealMedia"}, {"ogv ogm ogx spx", "Ogg video, Speex"},
	{"amr awb qcp", "mobile telephones"}, {"gsm", "telephony"}, {"dss", "dictation"},
	{"ac3 eac3 ec3 ac4 dts dtshd mlp thd", "cinema"},
	{"wv ape tta tak mpc shn dsf", "lossless and old music"}, {"w64 voc sph nist", "studios and laboratories"},
	{"mxf oma aa3", "cameras and recorders"},
}

// Endings returns how the names of sound files end, in lower case and without the dot: first those of formats
// that need no ffmpeg.
func Endings() (all []string) {
	for _, e := range endings {
		all = append(all, strings.Fields(e.names)...)
	}
	return all
}

var knownEndings = Endings()

// HasEnding reports whether the name of a file ends like that of a sound file.
func HasEnding(name string) bool {
	return slices.Contains(knownEndings, strings.ToLower(strings.TrimPrefix(filepath.Ext(name), ".")))
}

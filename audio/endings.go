package audio

import (
	"path/filepath"
	"slices"
	"strings"
)

// endings lists how the names of sound files end: of formats that this package reads, and of those that ffmpeg reads
// for it, by what they usually hold. The content of a file decides its format; an ending only says that a
// file in a directory is meant to be heard.
//
// Of ffmpeg's, these are the formats of recordings that state what they are, since nothing is decided by a name.
// Left out are samples without a header (al, ul, g722, sln), formats of games, consoles and instruments (adx, vag, xm),
// and endings that more often mean something else (mod, dat).
var endings = []struct{ names, what string }{
	{"wav wave bwf rf64 bw64", "WAV"}, {"flac fla", "FLAC"}, {"mp3 mpga", "MP3"}, {"ogg oga opus", "Ogg"},
	{"webm weba mka mkv mk3d", "Matroska"},

	// By ffmpeg:
	{"aiff aif aifc afc", "AIFF"}, {"caf", "CAF"}, {"au snd", "AU"},
	{"mp4 m4a m4b m4r m4v mov qt qta 3gp 3g2 3ga 3gpp 3gpp2 f4v f4a f4b ismv isma mj2 psp", "MP4, QuickTime"},
	{"aac adts latm loas", "AAC"}, {"mp1 mp2 m2a mpa", "MPEG audio"},
	{"mpg mpeg mpe m2p vob dvd tod pva", "MPEG program streams"}, {"ts m2ts mts m2t tp trp", "MPEG transport streams"},
	{"wma wmv asf wtv dvr-ms", "Windows Media"}, {"avi divx", "AVI"}, {"flv swf kux", "Flash video"},
	{"rm ra rmvb ivr", "RealMedia"}, {"ogv ogm ogx spx", "Ogg video, Speex"}, {"nut nsv viv", "other video"},
	{"amr awb qcp", "mobile telephones"}, {"gsm lbc c2", "telephony"}, {"dss", "dictation"}, {"aa", "audio books"},
	{"ac3 eac3 ec3 ac4 dts dtshd mlp thd spdif", "cinema"},
	{"wv ape tta tak mpc shn dsf dff wsd qoa vqf", "lossless and old music"},
	{"w64 voc sph nist nsp sox ircam sf pvf paf fap avr sds 8svx", "studios and laboratories"},
	{"mxf gxf dv dif dav ty oma omg aa3 at3 aea", "cameras and recorders"},
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

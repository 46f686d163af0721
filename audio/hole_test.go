package audio

import (
	"bytes"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestZerosAtFrames: zeros that begin where a frame does are damage, not padding, also where no header
// says how many samples there are.
func TestZerosAtFrames(t *testing.T) {
	for _, name := range []string{"damage/pipe.flac", "damage/frames.flac"} {
		file := readTestdata(t, name)
		whole, frames := decodeAll(file, Input{}), 0
		for at := range file {
			if !isFLACFrame(file[at:]) {
				continue
			}
			if f, err := (&flacReader{flacCodec: whole.clip.whole.first.mix.src.dec.(*flacReader).flacCodec}).frame(bytes.NewReader(file[at:])); err != nil || f == nil {
				continue // what looks like a header
			}
			frames++
			for _, n := range []int{8, 16, 100} {
				bad := bytes.Clone(file)
				clear(bad[at : at+n])
				h := decodeAll(bad, Input{})
				if h.clean() {
					t.Errorf("%s: %d zeros at byte %d: %d samples of %d without a warning", name, n, at, len(h.samples), len(whole.samples))
				}
				if h.err == nil && !h.clip.Truncated() && len(h.samples) != len(whole.samples) {
					t.Errorf("%s: %d zeros at byte %d: %d samples of %d, %q", name, n, at, len(h.samples), len(whole.samples), h.warnings())
				}
			}
		}
		if frames < 5 {
			t.Errorf("%s: %d frames found", name, frames)
		}
	}
}

// TestEachUnit flips a bit amid each page of Ogg, frame of FLAC and of MP3, and block of Matroska: where there is a
// checksum there is a warning; elsewhere the sound is as long as before, or there is one.
func TestEachUnit(t *testing.T) {
	for name := range reference(t) {
		file := readTestdata(t, name)
		var units []int
		switch magic := string(file[:4]); {
		case magic == "OggS":
			for at := 0; at < len(file); at += oggSize(file[at:]) {
				units = append(units, at)
			}
		case magic == "fLaC":
			for at := range file {
				if isFLACFrame(file[at:]) {
					units = append(units, at)
				}
			}
		case filepath.Ext(name) == ".mp3":
			f := &mpegFrames{file: newFile(bytes.NewReader(file), 0, int64(len(file)))}
			f.in = f.file.cursor(0)
			for _, at, _, err := f.next(); err == nil; _, at, _, err = f.next() {
				units = append(units, int(at))
			}
		case magic == "\x1a\x45\xdf\xa3":
			m := &mkvReader{file: newFile(bytes.NewReader(file), 0, int64(len(file)))}
			m.in = m.file.cursor(0)
			for at := 0; ; at = int(m.at) {
				if id, err := m.element(); err != nil {
					break
				} else if id == mkvSimpleBlock || id == mkvBlock {
					units = append(units, at)
				}
			}
		default:
			continue // of samples any may be right
		}
		whole, summed := decodeAll(file, Input{}), string(file[:4]) == "OggS" || string(file[:4]) == "fLaC"
		if len(units) < 2 {
			t.Errorf("%s: %d pages or frames", name, len(units))
		}
		for i, at := range units {
			next := len(file)
			if i+1 < len(units) {
				next = units[i+1]
			}
			bad := bytes.Clone(file)
			bad[(at+next)/2] ^= 1 << (i % 8)
			h := decodeAll(bad, Input{})
			off := len(whole.samples) - len(h.samples)
			if filepath.Ext(name) == ".mka" {
				off = max(0, off-256) // as in TestDamage
			}
			if h.clean() && (summed || off > 0) {
				t.Errorf("%s, a bit at byte %d of %d to %d: %d samples of %d without a warning", name, (at+next)/2, at, next, len(h.samples), len(whole.samples))
			}
		}
	}
}

// TestStreamCut cuts WebM of a recorder, which states no size of anything, at every byte of its end: only a cut between two elements is one that nobody can see.
func TestStreamCut(t *testing.T) {
	file := bytes.Clone(readTestdata(t, "damage/clusters.webm"))
	unsized := func(at int) int { // the size of the element whose id of four bytes is there
		_, n := vint(file[at+4:])
		for i := range n {
			file[at+4+i] = 0xff
		}
		file[at+4] = 0xff >> (n - 1)
		return at + 4 + n
	}
	unsized(bytes.Index(file, []byte("\x18\x53\x80\x67")))
	ends, first := map[int]bool{}, bytes.Index(file, []byte(mkvClusterID))
	for at := first; at >= 0; {
		next := unsized(at)
		if at = bytes.Index(file[next:], []byte(mkvClusterID)); at >= 0 {
			at += next
		}
	}
	m := &mkvReader{file: newFile(bytes.NewReader(file), 0, int64(len(file)))}
	m.in = m.file.cursor(0)
	for _, err := m.element(); err == nil; _, err = m.element() {
		ends[int(m.at)] = true
	}
	silent := 0
	for at := max(first+1, len(file)-250); at < len(file); at++ {
		if h := decodeAll(file[:at], Input{}); h.clean() {
			if silent++; !ends[at] {
				t.Errorf("cut at byte %d, within an element: %d samples without a warning", at, len(h.samples))
			}
		}
	}
	if len(ends) < 50 || silent == 0 {
		t.Errorf("%d elements, %d cuts without a warning", len(ends), silent)
	}
}

// TestClusterAfterDamage: an element that claims more than its cluster holds, or than the file, hides no later cluster.
func TestClusterAfterDamage(t *testing.T) {
	file := tones(from(0, 10)...)
	whole := decodeAll(file, Input{})
	fourth := bytes.Index(file, mkvClusterOf(60)[12:]) // its time
	for why, size := range map[string]string{"the cluster": "\x01\x00\x00\x00\x00\x00\x10\x00", "the file": "\x01\x00\x00\x7f\x00\x00\x10\x00"} {
		for what, id := range map[string]string{"a block": "\xa3", "no element": "\xd8"} {
			bad := bytes.Clone(file)
			at := fourth + bytes.Index(bad[fourth:], []byte("\xa3"))
			copy(bad[at:], id+size)
			h := decodeAll(bad, Input{})
			want := []Gap{{0.06, 0.08}}
			same := slices.EqualFunc(h.clip.Damaged(), want, func(a, b Gap) bool { return math.Abs(a.Start-b.Start) < 0.002 && math.Abs(a.End-b.End) < 0.002 })
			if h.err != nil || !same || !slices.Equal(h.samples[640:], whole.samples[640:]) || h.clip.Truncated() {
				t.Errorf("%s larger than %s: %d samples of %d, %v, %q", what, why, len(h.samples), len(whole.samples), h.err, h.warnings())
			}
		}
	}
}

// TestUndecodable: a packet that cannot be decoded, in a page whose checksum is right, is silence as
// long as the page's position says, whatever its own bytes say, with a warning.
func TestUndecodable(t *testing.T) {
	file := readTestdata(t, "damage/pages.opus")
	whole, pages := decodeAll(file, Input{}), 0
	for at := 0; at < len(file); at += oggSize(file[at:]) {
		if n := 27 + int(file[at+26]); file[at+5] == 0 && file[at+n] != 'O' {
			pages++
			for what, head := range map[string]string{
				"a code without its count":  "\xff\x00", // code 3 of no frames
				"frames of 120 ms and more": "\x1b\x3f", // 63 frames of 60 ms
			} {
				b := bytes.Clone(file)
				copy(b[at+n:], head)
				reseal(b, at)
				h := decodeAll(b, Input{})
				if h.err != nil || len(h.clip.Damaged()) != 1 || len(h.samples) != len(whole.samples) {
					t.Errorf("page at byte %d, %s: %d samples of %d, %v, %q", at, what, len(h.samples), len(whole.samples), h.err, h.warnings())
				}
			}
		}
	}
	if pages == 0 {
		t.Error("no page of sound alone")
	}
}

// variants are WAV files that differ in the names and the order of their bytes alone: no golden is needed.
func variants(t *testing.T) map[string][]byte {
	wav := readTestdata(t, "damage/tiny.wav")
	pcm, rate := wav[len(wav)-4000:], 16000
	ds64 := make([]byte, 28)
	ds64[8], ds64[9] = byte(len(pcm)), byte(len(pcm)>>8)
	big := riff(chunk("fmt ", fmtBody(1, 1, rate, 16)), chunkOf("data", 0xffffffff, pcm))
	list := map[string][]byte{"RIFX": bigEndian(riff(chunk("fmt ", fmtBody(1, 1, rate, 16)), chunk("data", pcm)), 2)}
	for _, name := range []string{"RF64", "BW64"} {
		list[name] = slices.Concat([]byte(name+"\xff\xff\xff\xffWAVE"), chunk("ds64", ds64), big[12:])
	}
	return list
}

// nameIn returns the name of the format of a file.
func nameIn(file []byte) string {
	head, _ := newFile(bytes.NewReader(file), 0, int64(len(file))).skipID3()
	return formatOf(head).name
}

// TestAllDamaged: every format that is read has a file in TestDamage and one that is fuzzed, or is one of WAV's
// variants, which are cut and shortened here.
func TestAllDamaged(t *testing.T) {
	tested, fuzzed := map[string]bool{}, map[string]bool{}
	for name := range reference(t) {
		tested[nameIn(readTestdata(t, name))] = true
	}
	for _, f := range fuzzedFormats {
		fuzzed[nameIn(readTestdata(t, f.file))] = true
	}
	for magic, file := range variants(t) {
		name := nameIn(file)
		tested[name], fuzzed[name] = true, true // by wavLayout, of WAV
		whole := decodeAll(file, Input{})
		if !whole.clean() || len(whole.samples) != 2000 {
			t.Errorf("%s: %d samples, %v, %q", magic, len(whole.samples), whole.err, whole.warnings())
			continue
		}
		for _, kind := range []string{"cut", "drop"} {
			for k := range damageKinds[kind].count {
				if h := decodeAll(damageKinds[kind].make(file, k), Input{}); h.clean() || h.err == nil && !h.clip.Truncated() {
					t.Errorf("%s, %s %d: %d samples without a warning", magic, kind, k, len(h.samples))
				}
			}
		}
		if h := decodeAll(slices.Concat(file, file), Input{}); h.err != nil || h.clean() || len(h.samples) != 2000 {
			t.Errorf("%s twice: %d samples, %v, %q; want one file and a warning", magic, len(h.samples), h.err, h.warnings())
		}
	}
	tested["an Ogg file"], fuzzed["an Ogg file"] = true, true // one of those above, which TestOggTracks damages
	for _, k := range formats {
		if k.open != nil && !(tested[k.name] && fuzzed[k.name]) {
			t.Errorf("%s: in TestDamage %t, fuzzed %t; add a file of it to testdata/damage", strings.TrimSpace(k.name), tested[k.name], fuzzed[k.name])
		}
	}
}

// TestOpusHead: a header without its magic is refused as that, not by its size alone.
func TestOpusHead(t *testing.T) {
	head := []byte("OpusTail\x01\x01\x38\x01\x80\xbb\x00\x00\x00\x00\x00")
	if _, err := newOpus([][]byte{head}); err == nil || !strings.Contains(err.Error(), `begin with "OpusHead"`) {
		t.Errorf("%v", err)
	}
}

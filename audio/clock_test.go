package audio

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"verity/internal/testing/needs"
)

// ebml returns an element of Matroska.
func ebml(id uint64, body ...[]byte) []byte {
	b := bytes.TrimLeft(binary.BigEndian.AppendUint64(nil, id), "\x00")
	size := binary.BigEndian.AppendUint64(nil, uint64(len(slices.Concat(body...))))
	size[0] |= 1 // eight bytes
	return slices.Concat(append([][]byte{b, size}, body...)...)
}

// ebmlInt returns an element that holds a number.
func ebmlInt(id, v uint64) []byte { return ebml(id, binary.BigEndian.AppendUint64(nil, v)) }

// mkvFile returns the beginning of a Matroska file with tracks.
func mkvFile(entries ...[]byte) []byte {
	segment := []byte("\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xff") // of unknown size
	return slices.Concat(ebml(mkvEBML), segment, ebml(mkvTracks, entries...))
}

// mkvSound returns a track entry with sound.
func mkvSound(number uint64, codec string, private []byte, more ...[]byte) []byte {
	parts := [][]byte{ebmlInt(mkvNumber, number), ebmlInt(mkvType, mkvAudio), ebml(mkvCodec, []byte(codec))}
	if private != nil {
		parts = append(parts, ebml(mkvPrivate, private))
	}
	return ebml(mkvEntry, append(parts, more...)...)
}

// mkvFloats describes mono samples of 32 bits.
func mkvFloats(rate int) []byte {
	hz := binary.BigEndian.AppendUint64(nil, math.Float64bits(float64(rate)))
	return ebml(mkvAudioPart, ebml(mkvRate, hz), ebmlInt(mkvChannels, 1), ebmlInt(mkvBits, 32))
}

func mkvClusterOf(ms uint64, blocks ...[]byte) []byte {
	return ebml(mkvCluster, append([][]byte{ebmlInt(mkvTime, ms)}, blocks...)...)
}

// simpleBlock returns a block of a track, ms after the time of its cluster.
func simpleBlock(track byte, ms int16, data []byte) []byte {
	return ebml(mkvSimpleBlock, []byte{0x80 | track, byte(ms >> 8), byte(ms), 0}, data)
}

// blockMS is the length of the blocks of tones.
const blockMS = 20

// tones returns a Matroska file of blocks of mono sound at 8 kHz, 20 ms each, whose samples are their numbers from 1
// on, in hundredths. times are those of the blocks.
func tones(times ...int) []byte {
	file := mkvFile(mkvSound(1, "A_PCM/FLOAT/IEEE", nil, mkvFloats(8000)))
	for i, ms := range times {
		var b []byte
		for range 8 * blockMS {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(i+1)/100))
		}
		at := uint64(max(ms, 0))
		file = append(file, mkvClusterOf(at, simpleBlock(1, int16(ms-int(at)), b))...)
	}
	return file
}

// from returns the times of n blocks in a row.
func from(ms, n int) (list []int) {
	for i := range n {
		list = append(list, ms+i*blockMS)
	}
	return list
}

// TestClock: blocks of Matroska lie where their times put them, within the tolerance of clocks. A hole is silence,
// reported as damage.
func TestClock(t *testing.T) {
	const day, any = 24 * 3600 * 1000, -1
	slow := []int{} // a clock that gains a millisecond in each block
	for i := range 110 {
		slow = append(slow, i*(blockMS+1))
	}
	for why, tt := range map[string]struct {
		times   []int
		starts  []float64 // seconds: where the blocks begin
		damaged []Gap
		late    float64
	}{
		"from 0":                        {from(0, 3), []float64{0, 0.02, 0.04}, nil, 0},
		"a late start":                  {from(5000, 2), []float64{5, 5.02}, nil, 5},
		"a start that is a little late": {from(7, 2), []float64{0.007, 0.027}, nil, 0.007},
		"joined after a day":            {from(day, 2), []float64{0, 0.02}, nil, 0},
		"a start before 0":              {from(-30, 4), []float64{0, 0.02, 0.04, 0.06}, nil, 0},
		"a hole of 10 s":                {append(from(0, 2), from(10040, 2)...), []float64{0, 0.02, 10.04, 10.06}, []Gap{{0.04, 10.04}}, 0},
		"a hole of 0.5 s":               {append(from(0, 2), from(540, 2)...), []float64{0, 0.02, 0.54, 0.56}, []Gap{{0.04, 0.54}}, 0},
		"two holes after a late start":  {[]int{2000, 3000, 4000, 4020}, []float64{2, 3, 4, 4.02}, []Gap{{2.02, 3}, {3.02, 4}}, 2},
		"a hole within the tolerance":   {append(from(0, 2), from(120, 2)...), []float64{0, 0.02, 0.04, 0.06}, nil, 0},
		"a year":                        {append(from(0, 2), from(365*day, 2)...), []float64{0, 0.02, 0.04, 0.06}, []Gap{{0.04, 0.04}}, 0},
		"a time that is too late":       {[]int{0, 9000, 40, 60}, []float64{0, 0.02, 0.04, 0.06}, nil, 0},
		"a first time that is too late": {[]int{9000, 20, 40, 60}, []float64{0, 0.02, 0.04, 0.06}, nil, 0},
		"a time that is too early":      {[]int{9000, 9020, 40, 9060}, []float64{9, 9.02, 9.04, 9.06}, nil, 9},
		"a clock that is set back":      {append(from(3000, 3), from(0, 3)...), []float64{3, 3.02, 3.04, 3.06, 3.08, 3.1}, nil, 3},
		"a hole after it is set back": {
			append(from(3000, 3), 0, 20, 1040, 1060), []float64{3, 3.02, 3.04, 3.06, 3.08, 4.1, 4.12}, []Gap{{3.1, 4.1}}, 3,
		},
		"blocks that overlap":           {[]int{0, 10, 20, 30}, []float64{0, 0.02, 0.04, 0.06}, nil, 0},
		"a clock faster than the sound": {slow, append(slices.Repeat([]float64{any}, 101), 101*0.021), nil, 0},
	} {
		file := tones(tt.times...)
		h, at := decodeAll(file, Input{}), 0
		if h.err != nil {
			t.Errorf("%s: %v", why, h.err)
			continue
		}
		for i := range tt.times {
			for at < len(h.samples) && float32(h.samples[at]) != float32(i+1)/100 {
				at++
			}
			if want, got := at, 0.0; i < len(tt.starts) && tt.starts[i] != any {
				if got = float64(want) / 8000; !(math.Abs(got-tt.starts[i]) <= 0.0015) {
					t.Errorf("%s: block %d begins at %.3f s, want %.3f", why, i+1, got, tt.starts[i])
				}
			}
		}
		near := func(a, b Gap) bool { return math.Abs(a.Start-b.Start) < 0.002 && math.Abs(a.End-b.End) < 0.002 }
		if !slices.EqualFunc(h.clip.Damaged(), tt.damaged, near) || len(h.warnings()) != min(1, len(tt.damaged)) {
			t.Errorf("%s: damaged %v, want %v; %q", why, h.clip.Damaged(), tt.damaged, h.warnings())
		}
		if !(math.Abs(h.clip.Start()-tt.late) <= 0.001) {
			t.Errorf("%s: starts at %.3f s, want %.3f", why, h.clip.Start(), tt.late)
		}
		if s := decodeAll(file, Input{Strict: true}); (s.err != nil) != (len(tt.damaged) > 0) {
			t.Errorf("%s: strict: %v", why, s.err)
		}
	}
}

// TestClockBound: the times of a file ask for six hours of silence at most, however they are spread.
func TestClockBound(t *testing.T) {
	const rate = 1000
	file, hours := mkvFile(mkvSound(1, "A_PCM/FLOAT/IEEE", nil, mkvFloats(rate))), uint64(0)
	for ; hours < 100; hours += 2 {
		file = append(file, mkvClusterOf(hours*3600*1000, simpleBlock(1, 0, make([]byte, 4*rate)))...)
	}
	c, err := Input{}.open("x", bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for m := c.whole.first.mix; err == nil; {
		var block []float64
		block, err = m.src.read(1 << 16)
		n += len(block)
		m.frame += int64(len(block))
	}
	if got, most := n/rate, maxSilence+int(hours)/2; got > most || got < maxSilence-2*3600 {
		t.Errorf("%d s of sound, want at most %d", got, most)
	}
	c.whole.finish()
	if c.reachEnd(); len(c.Warnings()) != 1 || !strings.Contains(c.Warnings()[0], "damaged in") {
		t.Errorf("warnings %q", c.Warnings())
	}
}

// TestLateBesidePicture: sound that starts long after the picture starts as late as that, though sound alone that
// begins at such a time would be a part of a longer recording. What the picture has in its blocks does not matter.
func TestLateBesidePicture(t *testing.T) {
	picture := ebml(mkvEntry, ebmlInt(mkvNumber, 2), ebmlInt(mkvType, 1), ebml(mkvCodec, []byte("V_VP8")))
	samples := bytes.Repeat([]byte{0, 0, 0, 0x3f}, 8*blockMS)
	for begin, late := range map[uint64]float64{0: 200, 7_200_000: 200} {
		file := mkvFile(picture, mkvSound(1, "A_PCM/FLOAT/IEEE", nil, mkvFloats(8000)))
		file = append(file, mkvClusterOf(begin, simpleBlock(2, 0, make([]byte, maxMKVElement+1)))...)
		file = append(file, mkvClusterOf(begin+200_000, simpleBlock(2, 0, []byte{1}), simpleBlock(1, 0, samples))...)
		h := decodeAll(file, Input{})
		if !h.clean() || h.clip.Start() != late || len(h.samples) != 200*8000+8*blockMS {
			t.Errorf("from %d ms: %d samples, starts at %v s, %v, %q", begin, len(h.samples), h.clip.Start(), h.err, h.warnings())
		}
	}
}

// TestOggClock: a hole in the positions of Ogg is silence there, whether or not pages are missing. What is missing
// before the first page is not invented.
func TestOggClock(t *testing.T) {
	for _, name := range []string{"pages.opus", "pages.ogg", "pages.oga"} {
		file := readTestdata(t, "damage/"+name)
		whole := decodeAll(file, Input{})
		rate := uint64(whole.clip.whole.first.mix.shape.rate)
		var pages []int // with sound
		for at := 0; at < len(file); at += oggSize(file[at:]) {
			if g := binary.LittleEndian.Uint64(file[at+6:]); g > 0 && g < 1<<60 {
				pages = append(pages, at)
			}
		}
		if len(pages) < 3 {
			t.Fatalf("%s: %d pages with sound", name, len(pages))
		}
		// later moves the pages from one on by seconds, and their numbers by lost pages.
		later := func(from int, seconds, lost uint64) []byte {
			b := bytes.Clone(file)
			for _, at := range pages[from:] {
				binary.LittleEndian.PutUint64(b[at+6:], binary.LittleEndian.Uint64(b[at+6:])+seconds*rate)
				binary.LittleEndian.PutUint32(b[at+18:], binary.LittleEndian.Uint32(b[at+18:])+uint32(lost))
				reseal(b, at)
			}
			return b
		}
		channels := whole.clip.Channels()
		for why, tt := range map[string]struct {
			file []byte
			more int // seconds
			gaps int
		}{
			"late, no page lost":      {later(0, 60, 0), 0, 0},
			"late, pages lost":        {later(0, 60, 50), 0, 0},
			"an hour late":            {later(0, 3600, 50), 0, 0},
			"a hole":                  {later(1, 10, 0), 10, 1},
			"a hole of lost pages":    {later(1, 10, 9), 10, 1},
			"minutes of lost pages":   {later(2, 200, 99), 200, 1},
			"a hole after late pages": {append(bytes.Clone(later(0, 60, 50)[:pages[2]]), later(0, 90, 50)[pages[2]:]...), 30, 1},
			"days":                    {later(1, 100*3600, 99), 0, 1},
		} {
			h := decodeAll(tt.file, Input{})
			want := len(whole.samples) + tt.more*int(rate)*channels
			less := int(rate) / 500
			if why == "days" { // Vorbis needs the block before each one
				less = 1024
			}
			if d := len(h.samples) - want; h.err != nil || d < -less*channels || d > int(rate)/500*channels {
				t.Errorf("%s, %s: %d samples, want %d; %v, %q", name, why, len(h.samples), want, h.err, h.warnings())
			}
			if got := len(h.clip.Damaged()); got != tt.gaps || h.clip.Start() != 0 {
				t.Errorf("%s, %s: damaged %v, starts at %v s", name, why, h.clip.Damaged(), h.clip.Start())
			}
			if s := decodeAll(tt.file, Input{Strict: true}); (s.err != nil) != (tt.gaps > 0) {
				t.Errorf("%s, %s: strict: %v", name, why, s.err)
			}
		}
	}
}

// A span is a stretch of sound, in seconds.
type span struct{ from, to float64 }

// probed returns the stretches of sound of a file by ffprobe's times of packets, and the times of the whole file and
// of its sound.
func probed(t *testing.T, path string) (spans []span, file, sound float64) {
	t.Helper()
	out, err := exec.Command("ffprobe", "-v", "error", "-select_streams", "a:0", "-show_entries",
		"packet=pts_time,duration_time:format=start_time:stream=start_time", "-of", "json", path).Output()
	if err != nil {
		t.Fatalf("ffprobe: %v", err)
	}
	var p struct {
		Packets []struct{ Pts_time, Duration_time string }
		Format  struct{ Start_time string }
		Streams []struct{ Start_time string }
	}
	if err := json.Unmarshal(out, &p); err != nil {
		t.Fatal(err)
	}
	number := func(text string) float64 { v, _ := strconv.ParseFloat(text, 64); return v }
	var lengths []float64
	for _, packet := range p.Packets {
		lengths = append(lengths, number(packet.Duration_time))
	}
	slices.Sort(lengths)
	for _, packet := range p.Packets {
		// MP4 and MOV state a hole as a long packet before it.
		at, length := number(packet.Pts_time), min(number(packet.Duration_time), 2*lengths[len(lengths)/2])
		if n := len(spans); n > 0 && at-spans[n-1].to < 0.1 {
			spans[n-1].to = at + length
		} else {
			spans = append(spans, span{at, at + length})
		}
	}
	return spans, number(p.Format.Start_time), number(p.Streams[0].Start_time)
}

// TestContainerClock: of files that ffmpeg made in every container, sound lies where ffprobe says, and what is missing
// is damage, no matter who reads the file. Each row is one muxer's way to write its times, which bytes composed here
// would not show. It takes a minute and a half of processor time, since ffmpeg runs some 600 times; with -short some rows
// do.
func TestContainerClock(t *testing.T) {
	needs.Program(t, "ffmpeg")
	dir := t.TempDir()
	run := func(t *testing.T, args string, path string) {
		t.Helper()
		args = "-nostdin -v error -y " + strings.ReplaceAll(args, "DIR", dir)
		if out, err := exec.Command("ffmpeg", append(strings.Fields(args), path)...).CombinedOutput(); err != nil {
			t.Skipf("needs an encoder of ffmpeg: ffmpeg %s %s: %v %s", args, path, err, out)
		}
	}
	// 5 s of a tone, and a longer picture. What this ffmpeg cannot write is skipped below.
	for _, args := range []string{
		"sine=d=5:sample_rate=48000 -c:a libopus opus.mka", "sine=d=5:sample_rate=48000 -c:a libvorbis vorbis.mka",
		"sine=d=5:sample_rate=48000 -c:a aac aac.mka", "sine=d=5:sample_rate=48000 -c:a mp2 mp2.mka",
		"sine=d=5:sample_rate=48000 -c:a wmav2 wmav2.mka", "sine=d=5:sample_rate=48000 -c:a flac flac.mka",
		"sine=d=5:sample_rate=16000 -c:a libspeex -f ogg speex.mka", // whatever its name
		"color=s=64x64:r=5:d=7 -c:v mpeg4 mpeg4.mkv", "color=s=64x64:r=5:d=7 -c:v libvpx vp8.mkv",
		"color=s=64x64:r=5:d=7 -c:v libtheora theora.mkv",
	} {
		c := exec.Command("ffmpeg", strings.Fields("-nostdin -v error -f lavfi -i "+args)...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Logf("ffmpeg cannot write %s: %v %s", args, err, out)
		}
	}
	// ffmpeg drops packets by their times in Matroska alone: elsewhere its filter takes them for numbers of samples.
	holes := map[string]string{"gap": `between(pts*tb\,1\,3)`, "short": `between(pts*tb\,1\,1.5)`, "lost": `lt(pts*tb\,2)`}
	for _, sound := range []string{"opus", "vorbis", "aac", "mp2", "wmav2", "flac"} {
		for hole, when := range holes {
			if _, err := os.Stat(dir + "/" + sound + ".mka"); err == nil {
				run(t, "-i DIR/"+sound+".mka -c copy -bsf:a noise=drop="+when, dir+"/"+sound+"-"+hole+".mka")
			}
		}
	}
	situations := map[string]string{
		"plain":      "-i DIR/SOUND.mka",
		"late":       "-i DIR/PICTURE.mkv -itsoffset 3 -i DIR/SOUND.mka -map 0:v -map 1:a",
		"late alone": "-itsoffset 3 -i DIR/SOUND.mka",
		"gap":        "-i DIR/SOUND-gap.mka",
		"short gap":  "-i DIR/SOUND-short.mka",
		"lost start": "-i DIR/SOUND-lost.mka",
		"edit list":  "-ss 1.5 -i DIR/SOUND.mka",
		"negative":   "-itsoffset -1 -i DIR/SOUND.mka -avoid_negative_ts disabled",
	}
	cannot := map[string]string{
		"opus opus edit list": "ffmpeg copies no packet from amid a stream to this container",
		"nut opus negative":   "the container has no negative times", "nut aac negative": "the container has no negative times",
		"flv aac negative": "the container has no negative times; ffmpeg writes years",
	}
	for _, what := range []string{"gap", "short gap", "lost start"} {
		cannot["spx speex "+what] = "ffmpeg leaves out packets in Matroska alone, which has no Speex"
	}
	for _, what := range []string{"edit list", "negative"} {
		cannot["spx speex "+what] = "ffmpeg writes positions before 0, which Ogg does not have"
	}
	for _, tt := range []struct {
		container, sound, picture string
		here, rebased             bool // read here; times count from the first packet of the file
	}{
		{"webm", "opus", "vp8", true, false}, {"webm", "vorbis", "vp8", true, false},
		{"mka", "opus", "", true, false}, {"mka", "vorbis", "", true, false},
		{"mkv", "opus", "mpeg4", true, false}, {"mkv", "aac", "mpeg4", false, false}, {"mka", "mp2", "", false, false},
		{"mp4", "aac", "mpeg4", false, false}, {"m4a", "aac", "", false, false}, {"mov", "aac", "mpeg4", false, false},
		{"3gp", "aac", "mpeg4", false, false}, {"flv", "aac", "", false, false}, {"ts", "aac", "mpeg4", false, true},
		{"ts", "mp2", "mpeg4", false, true}, {"wma", "wmav2", "", false, true},
		{"nut", "opus", "mpeg4", false, true}, {"avi", "mp2", "mpeg4", false, true}, {"mpg", "mp2", "mpeg4", false, true},
		{"wtv", "mp2", "mpeg4", false, true}, {"nut", "aac", "mpeg4", false, true}, {"m2ts", "aac", "mpeg4", false, true},
		{"asf", "wmav2", "mpeg4", false, true}, {"ismv", "aac", "mpeg4", false, false}, {"m4b", "aac", "", false, false},
		{"opus", "opus", "", true, true}, {"ogg", "vorbis", "theora", true, true}, {"oga", "flac", "", true, true},
		{"spx", "speex", "", false, true},
	} {
		for what, args := range situations {
			if strings.Contains(args, "PICTURE") && tt.picture == "" {
				continue // another row has this container with a picture, or it has none
			}
			row := tt.container + " " + tt.sound
			if why := cannot[row+" "+what]; why != "" {
				t.Logf("%s %s: %s", row, what, why)
				continue
			}
			brief := []string{"webm opus", "mkv aac", "mp4 aac", "ts aac", "ogg vorbis"}
			if testing.Short() && (!slices.Contains(brief, row) || what != "gap" && !strings.HasPrefix(what, "late")) {
				continue
			}
			t.Run(row+" "+what, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "x."+tt.container)
				args := strings.NewReplacer("SOUND", tt.sound, "PICTURE", tt.picture).Replace(args)
				run(t, args+" -c copy", path)
				times := path
				// ffprobe does not date the first page of FLAC in Ogg, nor Opus before 0 in Matroska. The file that it was
				// copied from has the times.
				if undated := tt.sound == "opus" && tt.container != "opus" && what == "negative"; undated || row == "oga flac" && what != "edit list" {
					i := strings.LastIndex(args, "-i ")
					source, _, _ := strings.Cut(args[i+3:], " ")
					times = strings.Replace(source, "DIR", dir, 1)
				}
				checkClock(t, path, times, tt.here, tt.rebased)
			})
		}
	}
}

// checkClock compares the times of a file with those that ffprobe reads in another, which may be the same.
func checkClock(t *testing.T, path, times string, here, rebased bool) {
	const tolerance = 0.1 // priming, whose samples are dropped
	spans, file, sound := probed(t, times)
	if len(spans) == 0 {
		t.Skip("needs an encoder of ffmpeg: ffmpeg wrote no packets")
	}
	in := Input{}
	if here {
		in.FFmpeg = FFmpegNever
	}
	c, err := in.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	pcm, err := readAll(t, c)
	if err != nil {
		t.Fatal(err)
	}
	sound = min(sound, spans[0].from)
	if rebased {
		file = min(file, sound)
	} else {
		file = min(file, 0)
	}
	if late := max(0, sound-file); !(math.Abs(c.Start()-late) <= tolerance) {
		t.Errorf("starts at %.3f s, want %.3f", c.Start(), late)
	}
	damaged := c.Damaged()
	if len(damaged) != len(spans)-1 || (len(c.Warnings()) > 0) != (len(spans) > 1) {
		t.Errorf("damaged %v, %q; sound is %v", damaged, c.Warnings(), spans)
	} else {
		for i, g := range damaged {
			want := Gap{spans[i].to - file, spans[i+1].from - file}
			if !(math.Abs(g.Start-want.Start) <= tolerance && math.Abs(g.End-want.End) <= tolerance) {
				t.Errorf("damaged from %.3f to %.3f s, want %.3f to %.3f", g.Start, g.End, want.Start, want.End)
			}
		}
	}
	for i, s := range spans { // it sounds throughout, and nothing does between
		at := func(seconds float64) int { return min(max(0, int(seconds*SampleRate)), len(pcm)) }
		loud := func(from, to float64) (n int) {
			for _, v := range pcm[at(from):at(to)] {
				if math.Abs(float64(v)) > 0.01 {
					n++
				}
			}
			return n
		}
		s.from, s.to = s.from-file+tolerance, s.to-file-tolerance
		if n := loud(s.from, s.to); float64(n) < 0.9*(s.to-max(0, s.from))*SampleRate {
			t.Errorf("%.3f to %.3f s: %d samples are loud", s.from, s.to, n)
		}
		if i > 0 {
			if n := loud(spans[i-1].to-file+tolerance, s.from-2*tolerance); n > 0 {
				t.Errorf("before %.3f s: %d samples are loud", s.from, n)
			}
		}
	}
	if end := spans[len(spans)-1].to - file; !(math.Abs(float64(len(pcm))/SampleRate-end) <= tolerance) {
		t.Errorf("ends at %.3f s, want %.3f", float64(len(pcm))/SampleRate, end)
	}
	in.Strict = true
	if c, err = in.Open(t.Context(), path); err == nil {
		_, err = readAll(t, c)
		c.Close()
	}
	if (err != nil) != (len(spans) > 1) || err != nil && !errors.Is(err, ErrMalformed) {
		t.Errorf("strict: %v", err)
	}
}

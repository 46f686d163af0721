package audio

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"verity/internal/testing/needs"
)

// A script is a container and codec of packets of 160 samples at 8 kHz, whose samples are the packet's number.
type script struct {
	packets []packet
	n       int
}

func (s *script) shape() shape   { return shape{rate: 8000, channels: 1} }
func (s *script) ending() ending { return ending{} }

func (s *script) next() (packet, error) {
	if s.n == len(s.packets) {
		return packet{}, io.EOF
	}
	s.n++
	return s.packets[s.n-1], nil
}

func (s *script) decode(p packet) ([]float64, error) {
	if p.data != nil {
		return nil, errors.New("broken")
	}
	return slices.Repeat([]float64{float64(s.n)}, 160), nil
}

// TestClock: packets lie where their times put them, within the tolerance of clocks. A gap is silence, reported as
// damage; so is what cannot be decoded.
func TestClock(t *testing.T) {
	const hour = 3600_000
	for why, tt := range map[string]struct {
		absolute bool
		times    []int // ms
		starts   []int // ms: where the packets begin
		gaps     int
		late     int // ms
	}{
		"from 0":                       {true, []int{0, 20, 40}, []int{0, 20, 40}, 0, 0},
		"a late start":                 {true, []int{5000, 5020}, []int{5000, 5020}, 0, 5000},
		"amid a stream":                {false, []int{hour, hour + 20}, []int{0, 20}, 0, 0},
		"a gap":                        {true, []int{0, 20, 540}, []int{0, 20, 540}, 1, 0},
		"two gaps after a late start":  {true, []int{2000, 3000, 4000}, []int{2000, 3000, 4000}, 2, 2000},
		"a gap within the tolerance":   {true, []int{0, 20, 120, 140}, []int{0, 20, 40, 60}, 0, 0},
		"a year":                       {true, []int{0, 20, 9000 * hour}, []int{0, 20, 40}, 1, 0},
		"a clock that is set back":     {true, []int{3000, 3020, 0, 20}, []int{3000, 3020, 3040, 3060}, 0, 3000},
		"a gap after it is set back":   {true, []int{3000, 0, 1020}, []int{3000, 3020, 4040}, 1, 3000},
		"packets that overlap":         {true, []int{0, 10, 20, 30}, []int{0, 20, 40, 60}, 0, 0},
		"no clock":                     {false, []int{-1, -1}, []int{0, 20}, 0, 0},
		"a packet that is broken":      {true, []int{0, 0, 40}, []int{0, -1, 40}, 1, 0},
		"a broken one without a clock": {false, []int{-1, 0, -1}, []int{0, -1, 20}, 1, 0},
	} {
		var list []packet
		for i, ms := range tt.times {
			p := newPacket(nil)
			if p.start, p.absolute = int64(ms)*8, tt.absolute; tt.starts[i] < 0 {
				p.data = []byte("broken")
			}
			list = append(list, p)
		}
		src, err := newSource(func() (container, codec, error) { s := &script{packets: list}; return s, s, nil })
		if err != nil {
			t.Fatal(err)
		}
		var pcm []float64
		for err == nil {
			var block []float64
			block, err = src.read(1000)
			pcm = append(pcm, block...)
		}
		for i, want := range tt.starts {
			if at := slices.Index(pcm, float64(i+1)); err != io.EOF || want >= 0 && at != want*8 {
				t.Errorf("%s: packet %d begins at sample %d, want %d; %v", why, i+1, at, want*8, err)
			}
		}
		if len(src.gaps) != tt.gaps || src.late != int64(tt.late)*8 {
			t.Errorf("%s: gaps %v, starts at sample %d", why, src.gaps, src.late)
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

// TestContainerClock: of files that ffmpeg made in each container, sound lies where ffprobe says, and what is missing
// is damage, no matter who reads the file. Each row is one muxer's way to write its times.
func TestContainerClock(t *testing.T) {
	needs.Program(t, "ffmpeg")
	dir := t.TempDir()
	run := func(t *testing.T, args string) {
		t.Helper()
		c := exec.Command("ffmpeg", strings.Fields("-nostdin -v error -y "+args)...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Skipf("needs an encoder of ffmpeg: ffmpeg %s: %v %s", args, err, out)
		}
	}
	// 5 s of a tone, the same with a gap, and a longer picture. ffmpeg drops packets by their times in Matroska alone.
	for _, sound := range []string{"libopus opus", "aac aac", "mp2 mp2"} {
		codec, name, _ := strings.Cut(sound, " ")
		run(t, "-f lavfi -i sine=d=5:sample_rate=48000 -c:a "+codec+" "+name+".mka")
		run(t, "-i "+name+".mka -c copy -bsf:a noise=drop=between(pts*tb\\,1\\,3) "+name+"-gap.mka")
	}
	run(t, "-f lavfi -i color=s=64x64:r=5:d=7 -c:v libvpx vp8.mkv")
	run(t, "-f lavfi -i color=s=64x64:r=5:d=7 -c:v mpeg4 mpeg4.mkv")
	for _, tt := range []struct {
		container, sound, picture string
		here, rebased             bool // read here; times count from the first packet of the file
	}{
		{"webm", "opus", "vp8", true, false}, {"mkv", "aac", "mpeg4", false, false}, {"mp4", "aac", "mpeg4", false, false},
		{"flv", "aac", "", false, false}, {"ts", "aac", "mpeg4", false, true}, {"avi", "mp2", "mpeg4", false, true},
		{"opus", "opus", "", true, true},
	} {
		situations := map[string]string{"gap": "-i SOUND-gap.mka", "late alone": "-itsoffset 3 -i SOUND.mka"}
		if tt.picture != "" {
			situations["late"] = "-i PICTURE.mkv -itsoffset 3 -i SOUND.mka -map 0:v -map 1:a"
		}
		for what, args := range situations {
			t.Run(tt.container+" "+what, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "x."+tt.container)
				run(t, strings.NewReplacer("SOUND", tt.sound, "PICTURE", tt.picture).Replace(args)+" -c copy "+path)
				checkClock(t, path, tt.here, tt.rebased)
			})
		}
	}
}

// checkClock compares the times of a file with those that ffprobe reads.
func checkClock(t *testing.T, path string, here, rebased bool) {
	const tolerance = 0.1 // priming, whose samples are dropped
	spans, file, sound := probed(t, path)
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

package transcript

import (
	"bufio"
	"cmp"
	"fmt"
	"math"
	"path"
	"strings"

	"verity/tokenizer"
)

// Limits of paragraphs, as the page's are (serve/page/paragraphs.js); testdata/paragraphs.json tests both.
const (
	sentencePause    = 2.0    // s after a sentence that begin a paragraph
	longPause        = 5.0    // s, the same amid a sentence
	shortPause       = 0.5    // s, the same amid a sentence of a paragraph that is too long
	paragraphColumns = 450.0  // from which a paragraph ends with its sentence
	paragraphTime    = 30.0   // s, likewise
	laterTime        = 15.0   // s after which a pause of half the time does
	longestParagraph = 1200.0 // columns, from which one ends with a clause, a segment or a short pause
)

// Paragraphs joins the segments of a transcript to paragraphs, as they come. A paragraph ends where the speaker changes
// and, with its sentence, before a pause of two seconds, from 15 s on of one, and after some 80 words or 30 s. It ends within a sentence
// only at a pause of five seconds or after some 200 words. The zero value is ready for the first segment.
type Paragraphs struct {
	begun   bool
	speaker string
	start   float64 // of the paragraph, s
	end     float64 // of the last word, s
	columns float64
	last    string // the last word
}

// A TextPart is text of one paragraph.
type TextPart struct {
	Begins  bool    // a new paragraph
	Speaker string  // who begins to speak, where this is not who spoke before
	Text    string  // without line breaks; unless it begins a paragraph, with the space before it
	Start   float64 // s
}

// Add returns the text of the next segment, in parts of different paragraphs.
func (p *Paragraphs) Add(s Segment) (parts []TextPart) {
	one := Transcript{Segments: []Segment{s}}
	for i, w := range one.wordParts(columns, 0) {
		part := TextPart{Text: w.text, Start: w.start}
		if w.speaker != p.speaker {
			part.Begins, part.Speaker, p.speaker = true, w.speaker, w.speaker
		}
		pause, lasts := w.start-p.end, w.start-p.start
		if i > 0 && len(s.Words) == 0 {
			pause = 0 // times within a segment are estimates
		}
		part.Begins = part.Begins || !p.begun || pause >= longPause ||
			EndsSentence(p.last, w.text) && (pause >= sentencePause || pause >= sentencePause/2 && lasts >= laterTime ||
				p.columns >= paragraphColumns || lasts >= paragraphTime) ||
			p.columns >= longestParagraph && (i == 0 || pause >= shortPause || endsClause(p.last))
		if s.Fixed {
			part.Begins = i == 0
		}
		if part.Begins {
			p.start, p.columns, part.Text = w.start, 0, tokenizer.Strip(part.Text)
		}
		p.columns += columns(part.Text)
		p.begun, p.end, p.last = true, max(w.end, w.start), w.text
		if part.Begins || i == 0 {
			parts = append(parts, part)
		} else {
			parts[len(parts)-1].Text += part.Text
		}
	}
	return parts
}

// Sentences cuts segments with times of words at the ends of sentences. Others stay as they are.
func Sentences(segments []Segment) (all []Segment) {
	for _, s := range segments {
		from := 0
		for i, w := range s.Words {
			if i+1 == len(s.Words) || !EndsSentence(w.Word, s.Words[i+1].Word) {
				continue
			}
			all = append(all, s.part(from, i+1))
			from = i + 1
		}
		if from > 0 {
			s = s.part(from, len(s.Words))
		}
		all = append(all, s)
	}
	return all
}

// part returns the part of s with some of its words.
func (s Segment) part(from, to int) Segment {
	part := Segment{ID: s.ID, Speaker: s.Speaker, Language: s.Language, Words: s.Words[from:to]}
	part.Text, part.Start, part.End = JoinWords(part.Words), part.Words[0].Start, part.Words[to-from-1].End
	return part
}

// paragraphs returns the text of t, one part for each paragraph.
func (t *Transcript) paragraphs() (all []TextPart) {
	var p Paragraphs
	for _, s := range t.Segments {
		for _, part := range p.Add(s) {
			if part.Begins {
				all = append(all, part)
			} else {
				all[len(all)-1].Text += part.Text
			}
		}
	}
	return all
}

func (o Options) writeText(b *bufio.Writer, t *Transcript) {
	if o.Lines || o.Times {
		segments, before := t.Segments, ""
		if o.Times {
			segments = Sentences(segments)
		}
		for _, s := range segments {
			if line := s.Line(before, o.Times); line != "" {
				fmt.Fprintln(b, line)
				before = s.Speaker
			}
		}
		return
	}
	for _, p := range t.paragraphs() {
		if p.Speaker != "" {
			p.Text = p.Speaker + ": " + p.Text
		}
		fmt.Fprintln(b, p.Text)
	}
}

// markdownText escapes what Markdown would read as markup within a line.
var markdownText = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, "&", `\&`)

// markdownStart escapes what Markdown would read as a heading or a list at the start of a line.
func markdownStart(text string) string {
	digits := strings.TrimLeft(text, "0123456789")
	switch {
	case text != "" && strings.ContainsRune("#>+-=~|", rune(text[0])):
		return `\` + text
	case digits != text && digits != "" && strings.ContainsRune(".)", rune(digits[0])):
		return text[:len(text)-len(digits)] + `\` + digits
	}
	return text
}

// title returns the name of the clip, without its directory and ending.
func (t *Transcript) title() string {
	name := path.Base(strings.ReplaceAll(t.Name, `\`, "/"))
	return inOneLine(cmp.Or(strings.TrimSuffix(name, path.Ext(name)), "Transcript"))
}

// clock returns when p starts, as 0:01:02.
func (p TextPart) clock() string {
	s := int64(math.Floor(max(0, p.Start)))
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// writeMarkdown writes the name of the clip as a title, and paragraphs.
func (o Options) writeMarkdown(b *bufio.Writer, t *Transcript) {
	fmt.Fprintf(b, "# %s\n", markdownText.Replace(t.title()))
	if o.About != "" {
		fmt.Fprintf(b, "\n*%s*\n", markdownText.Replace(o.About))
	}
	for _, p := range t.paragraphs() {
		text := markdownText.Replace(p.Text)
		switch {
		case p.Speaker != "":
			text = "**" + markdownText.Replace(p.Speaker) + ":** " + text
		case !o.Times:
			text = markdownStart(text)
		}
		if o.Times {
			text = "`" + p.clock() + "` " + text
		}
		fmt.Fprintf(b, "\n%s\n", text)
	}
}

package transcript

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docxParts writes a Word document, and returns the names of its parts and what they are. Each must be well-formed.
func docxParts(t *testing.T, o Options, tr *Transcript) (names []string, parts map[string]string) {
	t.Helper()
	var b bytes.Buffer
	if err := o.Write(&b, DOCX, tr); err != nil {
		t.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	parts = map[string]string{}
	for _, f := range archive.File {
		data, err := fs.ReadFile(archive, f.Name)
		if err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal(data, new(struct{})); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		names, parts[f.Name] = append(names, f.Name), string(data)
	}
	return names, parts
}

var docxText = regexp.MustCompile(`<w:t [^>]*>([^<]*)</w:t>`)

// TestDOCX: a Word document is an archive of XML, with the parts that its relations name and the text of Markdown.
func TestDOCX(t *testing.T) {
	tr := &Transcript{Name: "a/talk.wav", Language: "english", Segments: []Segment{{End: 1, Text: " One & <two>.\x01", Speaker: "Ann"}, {Start: 65, End: 66, Text: " Ünï."}}}
	names, parts := docxParts(t, Options{Times: true, About: "Today", Locale: "de_DE.UTF-8"}, tr)
	if want := []string{"[Content_Types].xml", "_rels/.rels", "word/_rels/document.xml.rels", "word/styles.xml", "word/footer.xml", "docProps/core.xml", "word/document.xml"}; !slices.Equal(names, want) {
		t.Errorf("parts %q, want %q", names, want)
	}
	texts := func(document string) (all []string) {
		for _, m := range docxText.FindAllStringSubmatch(document, -1) {
			all = append(all, m[1])
		}
		return all
	}
	if got, want := texts(parts["word/document.xml"]), []string{"talk", "Today", "0:00:00  ", "Ann: ", "One &amp; &lt;two&gt;.\ufffd", "0:01:05  ", "Ünï."}; !slices.Equal(got, want) {
		t.Errorf("texts %q, want %q", got, want)
	}
	for part, want := range map[string]string{
		"word/document.xml": `<w:pgSz w:w="11906" w:h="16838"/>`, "word/styles.xml": `<w:lang w:val="en" `, "word/footer.xml": "PAGE", "docProps/core.xml": "<dc:title>talk</dc:title>",
	} {
		if !strings.Contains(parts[part], want) {
			t.Errorf("%s has no %s: %s", part, want, parts[part])
		}
	}
	_, parts = docxParts(t, Options{Highlight: "|"}, &Transcript{Segments: []Segment{{End: 1, Text: " One |two| three."}}})
	if document := parts["word/document.xml"]; !strings.Contains(document, `<w:highlight w:val="yellow"/></w:rPr><w:t xml:space="preserve">two<`) || strings.Count(document, "highlight") != 1 {
		t.Errorf("highlights: %s", document)
	}
	_, parts = docxParts(t, Options{Table: true, Locale: "es-US"}, tr)
	document := parts["word/document.xml"]
	if got, want := texts(document), []string{"talk", "Time", "Speaker", "Text", "0:00:00", "Ann", "One &amp; &lt;two&gt;.\ufffd", "0:01:05", "", "Ünï."}; !slices.Equal(got, want) || !strings.Contains(document, `<w:pgSz w:w="12240" w:h="15840"/>`) {
		t.Errorf("table %q, want %q, in %s", got, want, document)
	}
}

// TestDOCXDirection: paragraphs written from right to left say so, and their runs.
func TestDOCXDirection(t *testing.T) {
	tr := &Transcript{Name: "talk.wav", Segments: []Segment{{End: 1, Text: " (1) שלום לכם.", Speaker: "דנה"}, {Start: 65, End: 66, Text: " Hello שלום."}}}
	_, parts := docxParts(t, Options{}, tr)
	if document := parts["word/document.xml"]; strings.Count(document, "<w:bidi/>") != 1 || strings.Count(document, "<w:rtl/>") != 2 {
		t.Errorf("document %s", document)
	}
}

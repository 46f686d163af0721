package transcript

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// TestDOCX: a Word document is an archive of XML, with the parts that its relations name and the text of Markdown.
func TestDOCX(t *testing.T) {
	tr := &Transcript{Name: "a/talk.wav", Segments: []Segment{{End: 1, Text: " One & <two>.\x01", Speaker: "Ann"}, {Start: 65, End: 66, Text: " Ünï."}}}
	var b bytes.Buffer
	if err := (Options{Times: true}).Write(&b, DOCX, tr); err != nil {
		t.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var names, texts []string
	for _, f := range archive.File {
		names = append(names, f.Name)
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		for d := xml.NewDecoder(r); ; {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			if text, ok := token.(xml.CharData); ok && f.Name == "word/document.xml" && strings.TrimSpace(string(text)) != "" {
				texts = append(texts, string(text))
			}
		}
	}
	if want := []string{"[Content_Types].xml", "_rels/.rels", "word/_rels/document.xml.rels", "word/styles.xml", "word/document.xml"}; !slices.Equal(names, want) {
		t.Errorf("parts %q, want %q", names, want)
	}
	if want := []string{"talk", "0:00:00  ", "Ann: ", "One & <two>.\ufffd", "0:01:05  ", "Ünï."}; !slices.Equal(texts, want) {
		t.Errorf("texts %q, want %q", texts, want)
	}
}

// TestDOCXDirection: paragraphs written from right to left say so, and their runs.
func TestDOCXDirection(t *testing.T) {
	tr := &Transcript{Name: "talk.wav", Segments: []Segment{{End: 1, Text: " (1) שלום לכם.", Speaker: "דנה"}, {Start: 65, End: 66, Text: " Hello שלום."}}}
	var b bytes.Buffer
	if err := (Options{}).Write(&b, DOCX, tr); err != nil {
		t.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	document, err := fs.ReadFile(archive, "word/document.xml")
	if err != nil || bytes.Count(document, []byte("<w:bidi/>")) != 1 || bytes.Count(document, []byte("<w:rtl/>")) != 2 {
		t.Errorf("%v, document %s", err, document)
	}
}

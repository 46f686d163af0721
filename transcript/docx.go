package transcript

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"

	"golang.org/x/text/unicode/bidi"
)

// Parts of a Word document, which is a ZIP archive of XML. The addresses are names: nothing is loaded from there.
//
// Source: ECMA-376, part 1 (WordprocessingML) and part 2 (Open Packaging Conventions).
const (
	docxTypes = xml.Header + `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
		`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
		`<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/>` +
		`<Override PartName="/word/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.styles+xml"/></Types>`

	docxRelation = xml.Header + `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" ` +
		`Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/%s" Target="%s"/></Relationships>`

	docxNames = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"`

	docxStyles = xml.Header + `<w:styles ` + docxNames + `>` +
		`<w:docDefaults><w:rPrDefault><w:rPr><w:rFonts w:ascii="Calibri" w:hAnsi="Calibri"/><w:sz w:val="22"/><w:szCs w:val="22"/></w:rPr></w:rPrDefault></w:docDefaults>` +
		`<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/><w:pPr><w:spacing w:after="160" w:line="300" w:lineRule="auto"/></w:pPr></w:style>` +
		`<w:style w:type="paragraph" w:styleId="Title"><w:name w:val="Title"/><w:basedOn w:val="Normal"/><w:pPr><w:outlineLvl w:val="0"/></w:pPr><w:rPr><w:b/><w:bCs/><w:sz w:val="36"/><w:szCs w:val="36"/></w:rPr></w:style></w:styles>`
)

// writeDOCX writes a Word document: the name of the clip as its title, and paragraphs as Markdown has them.
func (o Options) writeDOCX(w io.Writer, t *Transcript) error {
	var body bytes.Buffer
	var leftward string // properties of the runs of a paragraph from right to left
	begin := func(properties, text string) {
		if leftward = ""; isLeftward(text) {
			properties, leftward = properties+"<w:bidi/>", "<w:rtl/>"
		}
		fmt.Fprintf(&body, `<w:p><w:pPr>%s</w:pPr>`, properties)
	}
	run := func(properties, text string) {
		fmt.Fprintf(&body, `<w:r><w:rPr>%s%s</w:rPr><w:t xml:space="preserve">`, properties, leftward)
		xml.EscapeText(&body, []byte(text)) // a buffer returns no error
		body.WriteString(`</w:t></w:r>`)
	}
	begin(`<w:pStyle w:val="Title"/>`, t.title())
	run("", t.title())
	for _, p := range t.paragraphs() {
		body.WriteString(`</w:p>`)
		begin("", p.Text)
		if o.Times {
			run(`<w:color w:val="666666"/><w:sz w:val="18"/><w:szCs w:val="18"/>`, p.clock()+"  ")
		}
		if p.Speaker != "" {
			run(`<w:b/><w:bCs/>`, p.Speaker+": ")
		}
		run("", p.Text)
	}
	archive := zip.NewWriter(w)
	for _, part := range [][2]string{
		{"[Content_Types].xml", docxTypes},
		{"_rels/.rels", fmt.Sprintf(docxRelation, "officeDocument", "word/document.xml")},
		{"word/_rels/document.xml.rels", fmt.Sprintf(docxRelation, "styles", "styles.xml")},
		{"word/styles.xml", docxStyles},
		{"word/document.xml", xml.Header + `<w:document ` + docxNames + `><w:body>` + body.String() + `</w:p></w:body></w:document>`},
	} {
		file, err := archive.Create(part[0])
		if err == nil {
			_, err = io.WriteString(file, part[1])
		}
		if err != nil {
			return err
		}
	}
	return archive.Close()
}

// isLeftward reports whether the first letter of a text is written from right to left.
func isLeftward(text string) bool {
	for _, r := range text {
		switch p, _ := bidi.LookupRune(r); p.Class() {
		case bidi.R, bidi.AL:
			return true
		case bidi.L:
			return false
		}
	}
	return false
}

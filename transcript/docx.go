package transcript

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strings"

	"golang.org/x/text/unicode/bidi"

	"verity/tokenizer"
)

// Parts of a Word document, which is a ZIP archive of XML. The addresses are names: nothing is loaded from there.
//
// Source: ECMA-376, part 1 (WordprocessingML) and part 2 (Open Packaging Conventions).
const (
	docxNames = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" ` +
		`xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`
	docxOffice    = `http://schemas.openxmlformats.org/officeDocument/2006/relationships/`
	docxRelations = xml.Header + `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">%s</Relationships>`
	docxRelation  = `<Relationship Id="%s" Type="%s" Target="%s"/>`
	docxPart      = `<Override PartName="/%s" ContentType="application/vnd.openxmlformats-%s+xml"/>`
	docxWord      = `officedocument.wordprocessingml.`

	docxTypes = xml.Header + `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
		`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>%s</Types>`

	docxCore = xml.Header + `<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" ` +
		`xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>%s</dc:title><dc:creator>Verity</dc:creator></cp:coreProperties>`

	docxFooter = xml.Header + `<w:ftr ` + docxNames + `><w:p><w:pPr><w:pStyle w:val="Footer"/></w:pPr>` +
		`<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r>` +
		`<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>1</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r></w:p></w:ftr>`

	docxGrey = `<w:color w:val="666666"/><w:sz w:val="18"/><w:szCs w:val="18"/>`

	docxStyles = xml.Header + `<w:styles ` + docxNames + `>` +
		`<w:docDefaults><w:rPrDefault><w:rPr><w:rFonts w:ascii="Calibri" w:hAnsi="Calibri"/><w:sz w:val="22"/><w:szCs w:val="22"/>%s</w:rPr></w:rPrDefault></w:docDefaults>` +
		`<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/><w:pPr><w:spacing w:after="160" w:line="300" w:lineRule="auto"/></w:pPr></w:style>` +
		`<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/><w:basedOn w:val="Normal"/><w:next w:val="Normal"/><w:pPr><w:keepNext/><w:outlineLvl w:val="0"/></w:pPr><w:rPr><w:b/><w:bCs/><w:sz w:val="36"/><w:szCs w:val="36"/></w:rPr></w:style>` +
		`<w:style w:type="paragraph" w:styleId="Subtitle"><w:name w:val="Subtitle"/><w:basedOn w:val="Normal"/><w:pPr><w:spacing w:after="300"/></w:pPr><w:rPr>` + docxGrey + `</w:rPr></w:style>` +
		`<w:style w:type="paragraph" w:styleId="Footer"><w:name w:val="footer"/><w:basedOn w:val="Normal"/><w:pPr><w:jc w:val="center"/></w:pPr><w:rPr>` + docxGrey + `</w:rPr></w:style></w:styles>`

	docxTable = `<w:tbl><w:tblPr>%s<w:tblW w:w="5000" w:type="pct"/><w:tblCellMar><w:right w:w="160" w:type="dxa"/></w:tblCellMar></w:tblPr>` +
		`<w:tblGrid><w:gridCol w:w="1000"/><w:gridCol w:w="1600"/><w:gridCol w:w="6400"/></w:tblGrid>`
)

// letter matches the locales of countries that print on US Letter. Source: CLDR 48, supplemental data, paperSize.
var letter = regexp.MustCompile(`[-_](BZ|CA|CL|CO|CR|GT|MX|NI|PA|PH|PR|SV|US|VE)\b`)

// section returns the size of the page, by the locale, its margins, an inch or 25 mm, and its footer.
func (o Options) section() string {
	width, height, margin := 11906, 16838, 1417 // twentieths of a point: A4
	if letter.MatchString(o.Locale) {
		width, height, margin = 12240, 15840, 1440
	}
	return fmt.Sprintf(`<w:sectPr><w:footerReference w:type="default" r:id="r2"/><w:pgSz w:w="%d" w:h="%d"/>`+
		`<w:pgMar w:top="%[3]d" w:right="%[3]d" w:bottom="%[3]d" w:left="%[3]d" w:header="708" w:footer="708" w:gutter="0"/></w:sectPr>`, width, height, margin)
}

// A docxBody is the text of a document that is being written.
type docxBody struct {
	bytes.Buffer
	leftward string // properties of the runs of a paragraph from right to left
}

// begin begins a paragraph. text decides its direction.
func (b *docxBody) begin(properties, text string) {
	if b.leftward = ""; isLeftward(text) {
		properties, b.leftward = properties+"<w:bidi/>", "<w:rtl/>"
	}
	fmt.Fprintf(b, `<w:p><w:pPr>%s</w:pPr>`, properties)
}

// writeRun writes text in one style.
func (b *docxBody) writeRun(properties, text string) {
	fmt.Fprintf(b, `<w:r><w:rPr>%s%s</w:rPr><w:t xml:space="preserve">%s</w:t></w:r>`, properties, b.leftward, xmlText(text))
}

// line writes a paragraph of one run.
func (b *docxBody) line(paragraph, run, text string) {
	b.begin(paragraph, text)
	b.writeRun(run, text)
	b.WriteString(`</w:p>`)
}

func xmlText(text string) string {
	var b bytes.Buffer
	xml.EscapeText(&b, []byte(text)) // a buffer returns no error
	return b.String()
}

// table writes paragraphs as rows of time, speaker and text.
func (b *docxBody) table(paragraphs []TextPart) {
	direction := ""
	if len(paragraphs) > 0 && isLeftward(paragraphs[0].Text) {
		direction = "<w:bidiVisual/>"
	}
	fmt.Fprintf(b, docxTable, direction)
	row := func(properties, style string, cells ...string) {
		fmt.Fprintf(b, `<w:tr><w:trPr>%s</w:trPr>`, properties)
		for _, text := range cells {
			b.WriteString(`<w:tc><w:tcPr/>`)
			b.line("", style, text)
			b.WriteString(`</w:tc>`)
		}
		b.WriteString(`</w:tr>`)
	}
	row(`<w:cantSplit/><w:tblHeader/>`, `<w:b/><w:bCs/>`, "Time", "Speaker", "Text")
	for _, p := range paragraphs {
		row(``, ``, p.clock(), p.Speaker, p.Text)
	}
	b.WriteString(`</w:tbl><w:p/>`)
}

// writeDOCX writes a Word document: the name of the clip as its heading, and paragraphs as Markdown has them, or a table.
func (o Options) writeDOCX(w io.Writer, t *Transcript) error {
	var body docxBody
	body.line(`<w:pStyle w:val="Heading1"/>`, "", t.title())
	if o.About != "" {
		body.line(`<w:pStyle w:val="Subtitle"/>`, "", o.About)
	}
	paragraphs := t.paragraphs()
	if o.Table {
		body.table(paragraphs)
		paragraphs = nil
	}
	for _, p := range paragraphs {
		body.begin("", p.Text)
		if o.Times {
			body.writeRun(docxGrey, p.clock()+"  ")
		}
		if p.Speaker != "" {
			body.writeRun(`<w:b/><w:bCs/>`, p.Speaker+": ")
		}
		pieces := []string{p.Text}
		if o.Highlight != "" {
			pieces = strings.Split(p.Text, o.Highlight)
		}
		for i, text := range pieces {
			body.writeRun([]string{"", `<w:highlight w:val="yellow"/>`}[i%2], text)
		}
		body.WriteString(`</w:p>`)
	}
	language := ""
	if l, ok := tokenizer.FindLanguage(t.Language); ok {
		language = fmt.Sprintf(`<w:lang w:val="%[1]s" w:eastAsia="%[1]s" w:bidi="%[1]s"/>`, l.Code)
	}
	types := fmt.Sprintf(docxPart+docxPart+docxPart+docxPart, "word/document.xml", docxWord+"document.main", "word/styles.xml", docxWord+"styles",
		"word/footer.xml", docxWord+"footer", "docProps/core.xml", "package.core-properties")
	archive := zip.NewWriter(w)
	for _, part := range [][2]string{
		{"[Content_Types].xml", fmt.Sprintf(docxTypes, types)},
		{"_rels/.rels", fmt.Sprintf(docxRelations, fmt.Sprintf(docxRelation+docxRelation, "r1", docxOffice+"officeDocument", "word/document.xml",
			"r2", "http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties", "docProps/core.xml"))},
		{"word/_rels/document.xml.rels", fmt.Sprintf(docxRelations, fmt.Sprintf(docxRelation+docxRelation, "r1", docxOffice+"styles", "styles.xml", "r2", docxOffice+"footer", "footer.xml"))},
		{"word/styles.xml", fmt.Sprintf(docxStyles, language)},
		{"word/footer.xml", docxFooter},
		{"docProps/core.xml", fmt.Sprintf(docxCore, xmlText(t.title()))},
		{"word/document.xml", xml.Header + `<w:document ` + docxNames + `><w:body>` + body.String() + o.section() + `</w:body></w:document>`},
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

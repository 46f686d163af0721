// A Word document: a ZIP archive, without compression, of a few XML files. Source: ECMA-376 part 1 (WordprocessingML)
// and PKWARE's APPNOTE.TXT 6.3, sections 4.3.7, 4.3.12 and 4.3.16.

const xml = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n', kind = "application/vnd.openxmlformats-";
const open = "http://schemas.openxmlformats.org/"; // names of formats, not addresses: nothing is loaded from there

const escape = s => s.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "").replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const run = (text, style) => `<w:r>${style ? `<w:rPr><w:rStyle w:val="${style}"/></w:rPr>` : ""}<w:t xml:space="preserve">${escape(text)}</w:t></w:r>`;
const paragraph = (runs, style) => `<w:p>${style ? `<w:pPr><w:pStyle w:val="${style}"/></w:pPr>` : ""}${runs}</w:p>`;
const style = (type, id, name, based, properties) => `<w:style w:type="${type}" w:styleId="${id}"${id === "Normal" ? ' w:default="1"' : ""}><w:name w:val="${name}"/>${based && `<w:basedOn w:val="${based}"/>`}<w:qFormat/>${properties}</w:style>`;
const grey = '<w:color w:val="666666"/><w:sz w:val="18"/>';

// docx returns the document of paragraphs {time, name, text}; time and name may be empty.
export function docx(title, about, created, paragraphs) {
  const body = paragraph(run(title), "Title") + paragraph(run(about), "Subtitle") + paragraphs.map(p =>
    paragraph((p.time ? run(p.time + "  ", "Time") : "") + (p.name ? run(p.name + ": ", "Strong") : "") + run(p.text))).join("");
  const styles = style("paragraph", "Normal", "Normal", "", '<w:pPr><w:spacing w:after="160" w:line="300" w:lineRule="auto"/></w:pPr><w:rPr><w:sz w:val="22"/></w:rPr>') +
    style("paragraph", "Title", "Title", "Normal", '<w:pPr><w:spacing w:after="60"/><w:outlineLvl w:val="0"/></w:pPr><w:rPr><w:b/><w:sz w:val="36"/></w:rPr>') +
    style("paragraph", "Subtitle", "Subtitle", "Normal", `<w:pPr><w:spacing w:after="300"/></w:pPr><w:rPr>${grey}</w:rPr>`) +
    style("character", "Strong", "Strong", "", "<w:rPr><w:b/></w:rPr>") + style("character", "Time", "Time", "", `<w:rPr>${grey}</w:rPr>`);
  const part = (name, type) => `<Override PartName="/${name}" ContentType="${kind}${type}+xml"/>`;
  const relation = (id, type, target) => `<Relationship Id="r${id}" Type="${open}${type}" Target="${target}"/>`, relations = list => `${xml}<Relationships xmlns="${open}package/2006/relationships">${list}</Relationships>`;
  return new Blob([zip({
    "[Content_Types].xml": `${xml}<Types xmlns="${open}package/2006/content-types"><Default Extension="rels" ContentType="${kind}package.relationships+xml"/>` +
      part("word/document.xml", "officedocument.wordprocessingml.document.main") + part("word/styles.xml", "officedocument.wordprocessingml.styles") + part("docProps/core.xml", "package.core-properties") + "</Types>",
    "_rels/.rels": relations(relation(1, "officeDocument/2006/relationships/officeDocument", "word/document.xml") + relation(2, "package/2006/relationships/metadata/core-properties", "docProps/core.xml")),
    "word/_rels/document.xml.rels": relations(relation(1, "officeDocument/2006/relationships/styles", "styles.xml")),
    "word/document.xml": `${xml}<w:document xmlns:w="${open}wordprocessingml/2006/main"><w:body>${body}<w:sectPr/></w:body></w:document>`,
    "word/styles.xml": `${xml}<w:styles xmlns:w="${open}wordprocessingml/2006/main">${styles}</w:styles>`,
    "docProps/core.xml": `${xml}<cp:coreProperties xmlns:cp="${open}package/2006/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">` +
      `<dc:title>${escape(title)}</dc:title><dc:creator>Verity</dc:creator><dcterms:created xsi:type="dcterms:W3CDTF">${new Date(created).toISOString()}</dcterms:created></cp:coreProperties>`,
  })], {type: kind + "officedocument.wordprocessingml.document"});
}

const table = Uint32Array.from({length: 256}, (_, n) => {
  for (let i = 0; i < 8; i++) n = n & 1 ? n >>> 1 ^ 0xedb88320 : n >>> 1;
  return n;
});
const crc = data => ~data.reduce((c, b) => c >>> 8 ^ table[(c ^ b) & 255], -1) >>> 0;

// zip returns an archive of texts and bytes by name.
export function zip(files) {
  const parts = [], directory = [];
  let at = 0;
  const now = new Date(), time = now.getHours() << 11 | now.getMinutes() << 5 | now.getSeconds() >> 1, day = now.getFullYear() - 1980 << 9 | now.getMonth() + 1 << 5 | now.getDate();
  const fields = list => Uint8Array.from(list.flatMap(([size, value]) => Array.from({length: size}, (_, i) => value >>> 8 * i & 255)));
  for (const [name, text] of Object.entries(files)) {
    const data = typeof text === "string" ? new TextEncoder().encode(text) : text, path = new TextEncoder().encode(name);
    // Version 2.0, names in UTF-8, stored, now, then checksum, both sizes and the lengths of name and extra field.
    const common = [[2, 20], [2, 0x800], [2, 0], [2, time], [2, day], [4, crc(data)], [4, data.length], [4, data.length], [2, path.length], [2, 0]];
    const head = fields([[4, 0x04034b50], ...common]);
    directory.push(fields([[4, 0x02014b50], [2, 20], ...common, [2, 0], [2, 0], [2, 0], [4, 0], [4, at]]), path);
    parts.push(head, path, data);
    at += head.length + path.length + data.length;
  }
  const count = Object.keys(files).length, size = directory.reduce((n, d) => n + d.length, 0);
  return new Blob([...parts, ...directory, fields([[4, 0x06054b50], [2, 0], [2, 0], [2, count], [2, count], [4, size], [4, at], [2, 0]])]);
}

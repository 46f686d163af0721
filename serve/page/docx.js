// A Word document: a ZIP archive, without compression, of three XML files. Source: ECMA-376 part 1 (WordprocessingML)
// and PKWARE's APPNOTE.TXT 6.3, sections 4.3.7, 4.3.12 and 4.3.16.

const xml = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n', kind = "application/vnd.openxmlformats-";
const open = "http://schemas.openxmlformats.org/"; // names of formats, not addresses: nothing is loaded from there

const escape = s => s.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "").replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const run = (text, style) => `<w:r>${style ? `<w:rPr>${style}</w:rPr>` : ""}<w:t xml:space="preserve">${escape(text)}</w:t></w:r>`;
const paragraph = (runs, space) => `<w:p><w:pPr><w:spacing w:after="${space}" w:line="300" w:lineRule="auto"/></w:pPr>${runs}</w:p>`;

// docx returns the document of paragraphs {time, name, text}; time and name may be empty.
export function docx(title, about, paragraphs) {
  const grey = '<w:color w:val="666666"/><w:sz w:val="18"/>';
  const body = paragraph(run(title, '<w:b/><w:sz w:val="36"/>'), 60) + paragraph(run(about, grey), 300) + paragraphs.map(p =>
    paragraph((p.time ? run(p.time + "  ", grey) : "") + (p.name ? run(p.name + ": ", "<w:b/>") : "") + run(p.text), 160)).join("");
  return zip({
    "[Content_Types].xml": `${xml}<Types xmlns="${open}package/2006/content-types"><Default Extension="rels" ContentType="${kind}package.relationships+xml"/>` +
      `<Override PartName="/word/document.xml" ContentType="${kind}officedocument.wordprocessingml.document.main+xml"/></Types>`,
    "_rels/.rels": `${xml}<Relationships xmlns="${open}package/2006/relationships"><Relationship Id="r1" Type="${open}officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`,
    "word/document.xml": `${xml}<w:document xmlns:w="${open}wordprocessingml/2006/main"><w:body>${body}<w:sectPr/></w:body></w:document>`,
  });
}

const table = Uint32Array.from({length: 256}, (_, n) => {
  for (let i = 0; i < 8; i++) n = n & 1 ? n >>> 1 ^ 0xedb88320 : n >>> 1;
  return n;
});
const crc = data => ~data.reduce((c, b) => c >>> 8 ^ table[(c ^ b) & 255], -1) >>> 0;

function zip(files) {
  const parts = [], directory = [];
  let at = 0;
  const fields = list => Uint8Array.from(list.flatMap(([size, value]) => Array.from({length: size}, (_, i) => value >>> 8 * i & 255)));
  for (const [name, text] of Object.entries(files)) {
    const data = new TextEncoder().encode(text), path = new TextEncoder().encode(name);
    // Version 2.0, names in UTF-8, stored, 1980-01-01, then checksum, both sizes and the lengths of name and extra field.
    const common = [[2, 20], [2, 0x800], [2, 0], [2, 0], [2, 33], [4, crc(data)], [4, data.length], [4, data.length], [2, path.length], [2, 0]];
    const head = fields([[4, 0x04034b50], ...common]);
    directory.push(fields([[4, 0x02014b50], [2, 20], ...common, [2, 0], [2, 0], [2, 0], [4, 0], [4, at]]), path);
    parts.push(head, path, data);
    at += head.length + path.length + data.length;
  }
  const count = Object.keys(files).length, size = directory.reduce((n, d) => n + d.length, 0);
  return new Blob([...parts, ...directory, fields([[4, 0x06054b50], [2, 0], [2, 0], [2, count], [2, count], [4, size], [4, at], [2, 0]])],
    {type: kind + "officedocument.wordprocessingml.document"});
}

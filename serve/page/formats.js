// Segments as files. A segment has start, end, text and, unless it was edited, words.

export function clock(t, point) {
  const ms = Math.round(t * 1000), pad = (n, w) => String(n).padStart(w, "0");
  return pad(Math.floor(ms / 3600000), 2) + ":" + pad(Math.floor(ms / 60000) % 60, 2) + ":" +
    pad(Math.floor(ms / 1000) % 60, 2) + point + pad(ms % 1000, 3);
}

// short formats a time for the margin: 0:07, 12:30, 1:02:03.
export function short(t) {
  const s = Math.floor(t), pad = n => String(n).padStart(2, "0");
  return (s >= 3600 ? Math.floor(s / 3600) + ":" + pad(Math.floor(s / 60) % 60) : Math.floor(s / 60)) + ":" + pad(s % 60);
}

// The usual limits of subtitles: two lines of 42 characters, seven seconds.
const width = 42, lines = 2, longest = 7;

// cues cuts segments that are too long for a subtitle between words, preferably at the end of a sentence.
export function cues(segments) {
  const list = [];
  for (const s of segments) {
    const text = s.text.trim();
    if (!text) continue;
    if (text.length <= width * lines && s.end - s.start <= longest || !s.words || s.words.length < 2) {
      list.push({start: s.start, end: s.end, text: wrap(text)});
      continue;
    }
    for (const part of parts(s)) list.push(part);
  }
  for (let i = 1; i < list.length; i++) list[i - 1].end = Math.min(list[i - 1].end, Math.max(list[i].start, list[i - 1].start));
  return list;
}

function parts(s) {
  const list = [], words = placed(s);
  let open = [];
  const flush = () => {
    if (!open.length) return;
    const text = open.map(w => w.text).join("").trim();
    list.push({start: open[0].start, end: open[open.length - 1].end, text: wrap(text)});
    open = [];
  };
  for (const w of words) {
    const length = open.reduce((n, x) => n + x.text.length, 0) + w.text.trimEnd().length;
    if (open.length && (length > width * lines || wrap(open.map(x => x.text).join("") + w.text).split("\n").length > lines || w.end - open[0].start > longest)) flush();
    open.push(w);
    const so = open.map(x => x.text).join("").trim();
    if (/[.!?。！？]["”’]?$/.test(so) && so.length > width / 2) flush();
  }
  flush();
  return list;
}

// placed returns words together with the text between them.
function placed(s) {
  const list = [];
  let at = 0;
  for (const w of s.words) {
    const found = s.text.indexOf(w.word, at);
    if (found < 0) continue;
    list.push({start: w.start, end: w.end, text: s.text.slice(at, found + w.word.length)});
    at = found + w.word.length;
  }
  if (list.length) list[list.length - 1].text += s.text.slice(at);
  return list;
}

function wrap(text) {
  let line = "";
  const all = [];
  for (const word of text.trim().split(/\s+/)) {
    if (line && line.length + 1 + word.length > width) { all.push(line); line = word; } else line += (line ? " " : "") + word;
  }
  return all.concat(line).join("\n");
}

const number = t => Math.round(t * 1000) / 1000;

export const formats = {
  txt: job => job.segments.map(s => s.text.trim() + "\n").join(""),
  srt: job => cues(job.segments).map((c, i) => `${i + 1}\n${clock(c.start, ",")} --> ${clock(c.end, ",")}\n${c.text}\n\n`).join(""),
  vtt: job => "WEBVTT\n\n" + cues(job.segments).map(c => `${clock(c.start, ".")} --> ${clock(c.end, ".")}\n${c.text}\n\n`).join(""),
  // The fields of the API's verbose_json.
  json: job => JSON.stringify({
    task: job.task === "translations" ? "translate" : "transcribe", language: job.language || "", duration: number(job.duration || 0),
    text: job.segments.map(s => s.text).join("").trim(),
    segments: job.segments.map((s, id) => ({id, start: number(s.start), end: number(s.end), text: s.text})),
    words: job.segments.flatMap(s => s.words || []).map(w => ({word: w.word, start: number(w.start), end: number(w.end)})),
  }, null, 1) + "\n",
};

// wave makes a WAV file of 16-bit samples.
export function wave(pieces, samples, rate) {
  const head = new DataView(new ArrayBuffer(44));
  const text = (at, s) => { for (let i = 0; i < s.length; i++) head.setUint8(at + i, s.charCodeAt(i)); };
  text(0, "RIFF"); text(8, "WAVEfmt "); text(36, "data");
  head.setUint32(4, 36 + 2 * samples, true);
  head.setUint32(16, 16, true);
  head.setUint16(20, 1, true);
  head.setUint16(22, 1, true);
  head.setUint32(24, rate, true);
  head.setUint32(28, 2 * rate, true);
  head.setUint16(32, 2, true);
  head.setUint16(34, 16, true);
  head.setUint32(40, 2 * samples, true);
  return new Blob([head, ...pieces], {type: "audio/wav"});
}

// A recording as a file. It has paragraphs (paragraphs.js), and names for its speakers.
import {segmentsOf} from "./paragraphs.js";
import {docx} from "./docx.js";

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
      list.push({start: s.start, end: s.end, text: wrap(text), speaker: s.speaker});
      continue;
    }
    for (const part of parts(s)) list.push({...part, speaker: s.speaker});
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

// speakerName returns the name of a speaker to show: the one typed, or the server's, which may be a number or a letter.
export function speakerName(job, speaker) {
  const number = /^[A-Z]$/.test(speaker) ? speaker.charCodeAt(0) - 64 : speaker; // live, they are A, B, …
  return (job.names || {})[speaker] || (/^\d+$/.test(number) ? "Speaker " + number : String(speaker));
}

// turns calls line(paragraph, name) for each paragraph. name is empty unless another speaker begins.
function turns(job, line) {
  let last = null;
  return job.paragraphs.map(p => {
    const other = p.speaker != null && p.speaker !== last;
    last = p.speaker;
    return line(p, other ? speakerName(job, p.speaker) : "");
  });
}

// plain returns the text as paragraphs with their speakers and, if wanted, times.
export function plain(job, times) {
  return turns(job, (p, name) => (times ? `[${short(p.words[0].start)}] ` : "") + (name && name + ": ") + p.text.trim()).join("\n\n") + "\n";
}

// about describes a recording in a line: when, how long, which language.
export const about = job => [new Date(job.created).toLocaleDateString(undefined, {dateStyle: "long"}), job.duration && short(job.duration), languageName(job.language)].filter(x => x).join(" · ");

export const languageName = name => name ? name[0].toUpperCase() + name.slice(1) : "";

function markdown(job, times) {
  const escape = text => text.replace(/[\\`*_[\]<>#|]/g, "\\$&").replace(/^(\s*)([-+]|\d+\.)(?=\s)/, "$1\\$2");
  return `# ${escape(job.name)}\n\n*${escape(about(job))}*\n\n` +
    turns(job, (p, name) => (times ? `\\[${short(p.words[0].start)}\\] ` : "") + (name && `**${escape(name)}:** `) + escape(p.text.trim())).join("\n\n") + "\n";
}

function subtitles(job, format) {
  const vtt = format === "vtt", point = vtt ? "." : ",", escape = t => vtt ? t.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;") : t;
  let last = null;
  const list = cues(segmentsOf(job.paragraphs)).map((c, i) => {
    const other = c.speaker != null && c.speaker !== last, name = c.speaker != null ? speakerName(job, c.speaker) : "";
    last = c.speaker;
    const voice = !name ? "" : vtt ? `<v ${escape(name)}>` : other ? name + ": " : "";
    return (vtt ? "" : i + 1 + "\n") + `${clock(c.start, point)} --> ${clock(c.end, point)}\n${voice}${escape(c.text)}\n\n`;
  });
  return (vtt ? "WEBVTT\n\n" : "") + list.join("");
}

const number = t => Math.round(t * 1000) / 1000;

// json has the fields of the API's verbose_json.
function json(job) {
  const segments = segmentsOf(job.paragraphs), speaker = s => s.speaker != null ? {speaker: speakerName(job, s.speaker)} : {};
  return JSON.stringify({
    task: job.task === "translations" ? "translate" : "transcribe", language: job.language || "", duration: number(job.duration || 0),
    text: job.paragraphs.map(p => p.text).join(" ").trim(),
    segments: segments.map((s, id) => ({id, start: number(s.start), end: number(s.end), text: s.text, ...speaker(s)})),
    words: segments.flatMap(s => s.words.map(w => ({word: w.word, start: number(w.start), end: number(w.end), ...speaker(s)}))),
  }, null, 1) + "\n";
}

// formats are functions of a recording and whether times are wanted, by the ending of the file.
export const formats = {
  txt: plain, md: markdown, srt: job => subtitles(job, "srt"), vtt: job => subtitles(job, "vtt"), json,
  docx: (job, times) => docx(job.name, about(job), turns(job, (p, name) => ({time: times ? short(p.words[0].start) : "", name, text: p.text.trim()}))),
};

// A recording as a file. It has paragraphs (paragraphs.js), and names for its speakers.
import {headers, request} from "./api.js";
import {segmentsOf} from "./paragraphs.js";

// short formats a time for the margin: 0:07, 12:30, 1:02:03.
export function short(t) {
  const s = Math.floor(t), pad = n => String(n).padStart(2, "0");
  return (s >= 3600 ? Math.floor(s / 3600) + ":" + pad(Math.floor(s / 60) % 60) : Math.floor(s / 60)) + ":" + pad(s % 60);
}

// speakerName returns the name of a speaker to show: the one typed, or the server's, which may be a number or a letter.
export function speakerName(job, speaker) {
  const number = /^[A-Z]$/.test(speaker) ? speaker.charCodeAt(0) - 64 : speaker; // live, they are A, B, …
  return (job.names || {})[speaker] || (/^\d+$/.test(number) ? "Speaker " + number : String(speaker));
}

export const ending = /\.(?=\d*[a-z])([^.\s]{1,5})$/i; // of a file's name

// titleOf returns the name of a recording without the ending of a file.
export const titleOf = job => job.name.replace(ending, "");

// firstWords returns how the text of a recording begins.
export const firstWords = job => (job.paragraphs ? job.paragraphs[0]?.text.slice(0, 100) : job.begins) || "";

// plain returns the text as paragraphs, each with its time if times are wanted and, unless speakers are not, its speaker where another begins.
export function plain(job, {times, speakers = true} = {}) {
  let last = null;
  return job.paragraphs.map(p => {
    const name = speakers && p.speaker != null && p.speaker !== last && speakerName(job, p.speaker);
    last = p.speaker;
    return (times ? `[${short(p.words[0].start)}] ` : "") + (name ? name + ": " : "") + p.text.trim();
  }).join("\n\n") + "\n";
}

// inPassage reports whether a word is in a stretch of time.
export const inPassage = ({start, end}, w) => start <= (w.start + w.end) / 2 && (w.start + w.end) / 2 <= end;

// passage returns what paragraphs say in a stretch of time, as paragraphs.
export const passage = (job, span) => job.paragraphs.flatMap(p => {
  const words = p.words.filter(w => inPassage(span, w)), from = words.length && words[0].at;
  return words.length ? [{...p, words, text: p.text.slice(from, words.at(-1).at + words.at(-1).length)}] : [];
});

// quote returns what is said in a stretch of time, with its source: who speaks, the recording, and when.
export function quote(job, span) {
  const paragraphs = passage(job, span), several = new Set(paragraphs.map(p => p.speaker)).size > 1, said = plain({...job, paragraphs}, {speakers: several}).trim();
  const {speaker} = paragraphs[0] || {}, source = [!several && speaker != null && speakerName(job, speaker), titleOf(job), short(span.start)].filter(x => x).join(", ");
  return several ? `${said}\n\n(${source})` : `“${said}” (${source})`;
}

// about describes a recording in a line: when, how long, which language.
export const about = job => [new Date(job.created).toLocaleDateString(undefined, {dateStyle: "long"}), job.duration && short(job.duration), languageName(job.language)].filter(x => x).join(" · ");

// losses names what a recording lacks.
export const losses = {cut: "cut off", stopped: "stopped", damaged: "damaged", short: "cut short", silent: "no speech"};

export const versionsAt = "menu with the language, at the top right"; // where other versions of a text are

export const languageName = name => name ? name[0].toUpperCase() + name.slice(1) : "";

const number = t => Math.round(t * 1000) / 1000;

// spoken returns the segments of a recording, with the words of each, as the API has them.
function spoken(job, {speakers = true} = {}) {
  const speaker = s => speakers && s.speaker != null ? {speaker: speakerName(job, s.speaker)} : {};
  const times = s => ({start: number(s.start), end: number(s.end)});
  return segmentsOf(job.paragraphs).map((s, id) => ({id, ...times(s), text: s.text, ...speaker(s), ...s.fixed && {fixed: true}, words: s.words.map(w => ({word: w.word, ...times(w), ...w.p != null && {probability: w.p}, ...speaker(s)}))}));
}

// json returns what the API's verbose_json has.
function json(job, o) {
  const segments = spoken(job, o);
  return JSON.stringify({
    task: job.task === "translations" ? "translate" : "transcribe", language: job.language || "", duration: number(job.duration || 0),
    text: job.paragraphs.map(p => p.text).join(" ").trim(), segments: segments.map(({words, ...s}) => s), words: segments.flatMap(s => s.words.map(w => ({...w, word: w.word.trim()}))),
    ...job.highlights?.length && {highlights: job.highlights.map(h => ({...h, text: passage(job, h).map(p => p.text).join(" ")}))}, ...o.more,
  }, null, 1) + "\n";
}

// named reports whether somebody typed the name of a speaker.
export const named = job => job.paragraphs.some(p => p.speaker != null && !/^Speaker \d+$/.test(speakerName(job, p.speaker)));

const mark = "\ue000"; // where a highlight begins and ends, for Word: a character without a meaning

const marked = (p, highlights) => highlights.reduceRight((text, h) => passage({paragraphs: [p]}, h).reduce((t, {words: [w], text: said}) => t.slice(0, w.at) + mark + said + mark + t.slice(w.at + said.length), text), p.text);

// write asks Verity for a recording in a format, or as rows of subtitles, with {times, speakers, names, table, key}. Subtitles have
// the names of speakers only if these were typed; other texts have the paragraphs of the page.
export function write(job, format, o) {
  const subtitles = /^(srt|vtt|ass|rows)$/.test(format);
  const segments = subtitles ? spoken(job) : job.paragraphs.map(p => ({start: p.words[0].start, text: marked(p, format === "docx" && !o.table && job.highlights || []).trim(), fixed: true, speaker: o.speakers === false || p.speaker == null ? "" : speakerName(job, p.speaker)}));
  return request("page/write", {method: "POST", headers: headers(o.key), body: JSON.stringify({
    format, rules: job.rules, names: o.names ?? named(job), times: o.times, table: o.table, highlight: mark, about: about(job), locale: navigator.language,
    transcript: {name: titleOf(job).replace(/[/\\]/g, "\u2215") + ".", language: job.language, duration: job.duration || 0, segments},
  })});
}

// blob returns a recording as a file of a format, with what write takes, and in JSON more.
export const blob = async (job, format, o) => new Blob([format === "txt" ? plain(job, o) : format === "json" ? json(job, o) : await (await write(job, format, o)).arrayBuffer()]);

// A recording as a file. It has paragraphs (paragraphs.js), and names for its speakers.
import {headers, request} from "./api.js";
import {docx} from "./docx.js";
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

// turns calls line(paragraph, time, name) for each paragraph. time is empty unless times are wanted, and name unless
// speakers are and another one begins.
function turns(job, {times, speakers = true}, line) {
  let last = null;
  return job.paragraphs.map(p => {
    const other = speakers && p.speaker != null && p.speaker !== last;
    last = p.speaker;
    return line(p.text.trim(), times ? short(p.words[0].start) : "", other ? speakerName(job, p.speaker) : "");
  });
}

// plain returns the text as paragraphs with times and speakers, if wanted.
export const plain = (job, o = {}) => turns(job, o, (text, time, name) => (time && `[${time}] `) + (name && name + ": ") + text).join("\n\n") + "\n";

// about describes a recording in a line: when, how long, which language.
export const about = job => [new Date(job.created).toLocaleDateString(undefined, {dateStyle: "long"}), job.duration && short(job.duration), languageName(job.language)].filter(x => x).join(" · ");

// losses names what a recording lacks.
export const losses = {cut: "cut off", stopped: "stopped", damaged: "damaged", short: "cut short", silent: "no speech"};

export const languageName = name => name ? name[0].toUpperCase() + name.slice(1) : "";

function markdown(job, o) {
  const escape = text => text.replace(/[\\`*_[\]<>#|]/g, "\\$&").replace(/^(\s*)([-+]|\d+\.)(?=\s)/, "$1\\$2");
  return `# ${escape(titleOf(job))}\n\n*${escape(about(job))}*\n\n` +
    turns(job, o, (text, time, name) => (time && `\\[${time}\\] `) + (name && `**${escape(name)}:** `) + escape(text)).join("\n\n") + "\n";
}

const number = t => Math.round(t * 1000) / 1000;

// transcript returns what the API's verbose_json has, with the words of each segment.
function transcript(job, {speakers = true}) {
  const speaker = s => speakers && s.speaker != null ? {speaker: speakerName(job, s.speaker)} : {};
  const times = s => ({start: number(s.start), end: number(s.end)});
  return {
    task: job.task === "translations" ? "translate" : "transcribe", language: job.language || "", duration: number(job.duration || 0),
    text: job.paragraphs.map(p => p.text).join(" ").trim(),
    segments: segmentsOf(job.paragraphs).map((s, id) => ({id, ...times(s), text: s.text, ...speaker(s), words: s.words.map(w => ({word: w.word, ...times(w), ...w.p != null && {probability: w.p}, ...speaker(s)}))})),
  };
}

function json(job, o) {
  const {segments, ...rest} = transcript(job, o), words = segments.flatMap(s => s.words.map(w => ({...w, word: w.word.trim()})));
  return JSON.stringify({...rest, segments: segments.map(({words, ...s}) => s), words}, null, 1) + "\n";
}

const subtitles = format => async (job, o) => (await request(`page/subtitles?format=${format}&rules=${o.rules || ""}`, {method: "POST", headers: headers(o.key), body: JSON.stringify(transcript(job, o))})).text();

// formats are functions of a recording and {times, speakers, key, rules}, by the ending of the file.
export const formats = {
  txt: plain, md: markdown, srt: subtitles("srt"), vtt: subtitles("vtt"), json,
  docx: (job, o) => docx(titleOf(job), about(job), job.created, turns(job, o, (text, time, name) => ({text, time, name}))),
};

// What was saved is opened again: texts as JSON, SRT and VTT, beside their sound, and backups of all recordings.
import {Failure, headers, request} from "./api.js";
import * as edit from "./edit.js";
import {plain, titleOf, versionsAt} from "./formats.js";
import {exchange, stateOf, versionOf} from "./history.js";
import * as jobs from "./jobs.js";
import {busy} from "./list.js";
import {append} from "./paragraphs.js";
import * as settings from "./settings.js";
import {storeSounds} from "./sound.js";
import {announce} from "./ui.js";

const saved = /\.(json|srt|vtt|zip)$/i;
export const withoutSound = "without its sound"; // the note of a text that waits for it
const stem = name => titleOf({name: titleOf({name})}).toLowerCase(); // "talk" of talk.en.srt and talk.mp4

// open opens those of some files that were saved here, and sounds whose text is open already: that of a recording, if one
// is given. It returns the recordings, and the other files. One message says what became of each file.
export async function open(files, job) {
  const texts = files.filter(f => saved.test(f.name)), sounds = files.filter(f => !saved.test(f.name)), opened = [], said = [], wrong = [];
  for (const file of texts) {
    try {
      const {recordings, sentence} = /\.zip$/i.test(file.name) ? await openBackup(file) : await openText(file, sounds, texts.length === 1);
      opened.push(...recordings);
      said.push(sentence);
    } catch (e) {
      wrong.push(`${file.name}: ${e instanceof Failure ? e.message : "This file is damaged. Copy or save it again."}`);
    }
  }
  const others = sounds.filter(f => {
    const text = job && sounds.length === 1 ? job : jobs.jobs.find(j => j.note === withoutSound && stem(j.name) === stem(f.name));
    if (!text) return true;
    opened.push(addSound(text, f));
    said.push(`${f.name} is the sound of “${text.name}” now.`);
  });
  if (said.length || wrong.length) announce([...wrong, ...said].join("\n"), {bad: wrong.length > 0});
  return {opened, others};
}

function addSound(job, file) {
  storeSounds([Object.assign(job, {file, kind: file.type, note: null, peaks: null, joined: true})]);
  return job;
}

// openText opens a text beside the sound of the same name, or the only one, or as another version of that recording.
async function openText(file, sounds, alone) {
  const name = titleOf(file), same = x => stem(x.name) === stem(file.name), paragraphs = [];
  const answer = await (await request("page/read?name=" + encodeURIComponent(file.name), {method: "POST", headers: headers(settings.key()), body: file})).json();
  const lost = answer.lost ? " " + answer.lost.join(" ") : "";
  for (const s of answer.segments) append(paragraphs, {...s, words: (s.words || []).map(w => ({...w, probability: w.probability || undefined}))});
  const subtitled = !/\.json$/i.test(file.name), marks = !subtitled && await file.text().then(JSON.parse).then(j => j.highlights, () => null), highlights = Array.isArray(marks) ? marks.map(({start, end}) => ({start, end})) : null;
  const text = {paragraphs, language: answer.language, names: null, live: false, error: "", lost: "", gaps: null, damaged: null, differences: null};
  const sound = sounds.find(same) || alone && sounds.length === 1 && sounds[0], old = !sound && jobs.jobs.find(j => same(j) && j.state !== "live" && j.state !== "elsewhere");
  if (old) {
    edit.end();
    await jobs.open(old);
    if (busy(old)) jobs.stop(old);
    while (busy(old)) await new Promise(f => setTimeout(f, 50));
    const some = old.paragraphs.length > 0;
    old.versions = [...old.versions || [], {...versionOf(stateOf(old)), ...text}];
    exchange(old, old.versions.length - 1);
    Object.assign(old, {state: "done", remedy: "", resume: ""}, highlights && {highlights}, !some && {versions: old.versions.slice(0, -1)});
    jobs.save(old);
    return {recordings: [old], sentence: `${file.name} is open` + (old.sound ? ` with the sound of “${old.name}”.` : ".") + (some ? ` The text from before is in the ${versionsAt}.` : "") + lost};
  }
  const job = jobs.create({...text, subtitled, highlights, name, state: "done", duration: answer.duration, note: withoutSound});
  jobs.jobs.unshift(job);
  if (sound) addSound(job, sounds.splice(sounds.indexOf(sound), 1)[0]); else jobs.save(job);
  return {recordings: [job], sentence: `${file.name} is open` + (sound ? ` with the sound ${sound.name}.` : ". To hear it, drop its sound or video here too.") + lost};
}

// openBackup brings back the recordings of a backup that are not here.
async function openBackup(file) {
  const files = await unzip(file), left = new Set(files), back = [];
  let here = 0;
  for (const f of files.filter(f => /\.json$/i.test(f.name))) {
    const recording = await f.blob.text().then(text => JSON.parse(text).recording).catch(() => null);
    if (!recording) continue;
    const old = jobs.jobs.find(j => j.created === recording.created && j.name === recording.name), sound = files.find(s => s !== f && titleOf(s) === titleOf(f));
    for (const known of [f, sound]) left.delete(known);
    if (old) await jobs.open(old);
    if (old && plain(old) === plain(recording) && ++here) continue;
    const {id, revision, ...rest} = recording;
    const job = jobs.create({...rest, sound: 0, resume: "", kept: false, state: busy(rest) ? rest.paragraphs.length ? "done" : "stopped" : rest.state, file: sound && sound.blob.slice(0, sound.blob.size, rest.kind || "")});
    back.push(job);
    jobs.jobs.push(job);
    if (sound) await storeSounds([job]); else jobs.save(job);
  }
  if (!back.length && !here) throw new Failure("This archive is no backup of this page. Unpack it, and drop the files that are in it.");
  jobs.jobs.sort((a, b) => b.created - a.created || a.id - b.id);
  const silent = back.filter(j => !j.file).length, names = [...left].map(f => f.name);
  return {recordings: back, sentence: `${file.name}: ${back.length} ${back.length === 1 ? "recording is" : "recordings are"} back` + (silent ? `, ${silent} without sound` : "") + (here ? `; ${here} ${here === 1 ? "was" : "were"} here already.` : ".") +
    (names.length ? ` Left out, as this page did not write it: ${names.slice(0, 5).join(", ")}${names.length > 5 ? ` and ${names.length - 5} more` : ""}.` : "")};
}

// unzip returns the files of an archive as {name, blob}, whose bytes are not read yet unless they were compressed. Source: PKWARE,
// APPNOTE.TXT 6.3.10, 4.3 and 4.5.3, of which archives of client-zip need this much.
async function unzip(file) {
  const read = async (from, n) => new DataView(await file.slice(from, from + n).arrayBuffer()), long = (v, i) => Number(v.getBigUint64(i, true)), large = 0xffffffff;
  const end = await read(file.size - 22, 22), files = [];
  let from = end.getUint32(16, true), size = end.getUint32(12, true);
  if (from === large || size === large) {
    const more = await read(long(await read(file.size - 42, 20), 8), 56);
    [size, from] = [long(more, 40), long(more, 48)];
  }
  const list = await read(from, size);
  for (let i = 0; i < size;) {
    const [method, name, extra, comment] = [10, 28, 30, 32].map(k => list.getUint16(i + k, true)), more = i + 46 + name;
    let [bytes, start] = [20, 42].map(k => list.getUint32(i + k, true));
    if (bytes === large) bytes = long(list, more + 12);
    if (start === large) start = long(list, more + extra - 8);
    const head = await read(start, 30), data = start + 30 + head.getUint16(26, true) + head.getUint16(28, true), raw = file.slice(data, data + bytes);
    const blob = method ? await new Response(raw.stream().pipeThrough(new DecompressionStream("deflate-raw"))).blob() : raw;
    files.push({name: new TextDecoder().decode(new Uint8Array(list.buffer, i + 46, name)), blob});
    i = more + extra + comment;
  }
  return files;
}

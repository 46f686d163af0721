// The subtitles of a recording: computed by Verity, changed by hand, and shown over its video. What is made by hand is
// marked on the words (paragraphs.js), so that it stays, whatever becomes of the rest.
import {equalEnds, rewrite} from "./align.js";
import {sentence} from "./api.js";
import * as edit from "./edit.js";
import {named, write} from "./formats.js";
import {remember} from "./history.js";
import {readable} from "./list.js";
import * as player from "./player.js";
import * as list from "./rows.js";
import * as settings from "./settings.js";
import * as text from "./text.js";
import {$, announce} from "./ui.js";

export const shortest = 0.2; // s of a subtitle that is moved or split by hand
let job = null, rows = [], of = {}, on = null, track = null, asked = 0, timer = 0; // of: what the rows were computed of

const wanted = () => ({job, paragraphs: job.paragraphs, rules: job.rules, names: names(job), speakers: job.names});
const fresh = () => job && Object.entries(wanted()).every(([k, v]) => of[k] === v);

// viewed reports whether subtitles are shown in place of the text.
export const viewed = () => $("result").classList.contains("subtitles");

// names reports whether subtitles have the names of speakers: if somebody typed these, or wants them.
export const names = job => job.subtitleNames ?? named(job);

// update shows a changed recording.
export function update(next) {
  const some = readable(next) && next.paragraphs.length > 0;
  if (next !== job || !some) [rows, of] = [[], {}];
  job = next;
  $("views").hidden = !some;
  $("result").classList.toggle("subtitles", some && !!job.subtitled);
  $("asText").ariaPressed = !viewed();
  $("asSubtitles").ariaPressed = viewed();
  if (some) {
    $("names").checked = names(job);
    $("subtitles").value = job.rules || "";
    $("names").parentElement.hidden = job.paragraphs.every(p => p.speaker == null);
    clearTimeout(timer);
    if (!fresh() && (viewed() || $("result").classList.contains("picture"))) timer = setTimeout(load, viewed() ? 0 : 400);
  }
  show();
}

// load fetches the rows.
async function load() {
  clearTimeout(timer);
  const number = ++asked, as = wanted();
  try {
    const found = await (await write(job, "rows", {names: as.names, key: settings.key()})).json();
    if (number !== asked || as.job !== job) return;
    [rows, of] = [found, as];
  } catch (e) {
    if (number === asked && viewed() && e.remedy !== "server") announce(`The subtitles cannot be made. ${sentence(e)}`, {bad: true});
  }
  show();
}

function show() {
  if (viewed() && rows.length && !fresh()) return; // what is shown is older than the text
  list.show(job, viewed() ? rows : []);
  if (!$("result").classList.contains("picture")) return;
  track ||= $("player").addTextTrack("subtitles", "Subtitles");
  track.mode = "showing";
  for (const c of [...track.cues]) track.removeCue(c);
  for (const r of rows) track.addCue(new VTTCue(r.start, r.end, r.text.replace(/[&<>]/g, c => ({"&": "&amp;", "<": "&lt;", ">": "&gt;"})[c])));
}

// change makes a change: at once or, if the rows are older than the text, when they are here. act returns whether there was one, or {message}.
async function change(act) {
  const changed = job;
  if (!fresh()) await load();
  const made = changed === job && fresh() && act();
  if (!made) return;
  text.show(job);
  on(job, {message: made.message});
  if (viewed()) await load();
}

// words returns the words of a row, with their paragraphs.
export const words = row => text.words().slice(row.first, row.first + row.words);

// pieces returns the text of a row with its lines, and for each word the place in that text and in its paragraph.
export function pieces(row) {
  const all = words(row), list = [];
  let line = "";
  all.forEach(({word, paragraph}, i) => {
    const p = job.paragraphs[paragraph], next = all[i + 1], at = word === p.words[0] ? 0 : word.at, until = next && next.paragraph === paragraph ? next.word.at : p.words[p.words.indexOf(word) + 1]?.at ?? p.text.length;
    const breaks = row.lines.includes(row.first + i + 1), said = p.text.slice(at, until), kept = breaks || !next ? said.trimEnd() : said;
    list.push({from: line.length, paragraph, at, length: kept.length});
    line += kept + (!next ? "" : breaks ? "\n" : next.paragraph !== paragraph && !/\s$/.test(kept) ? " " : "");
  });
  return {line, list};
}

// mark gives words another cue, or with null none, and returns them. With breaks, lines begin after so many characters.
function mark(marked, cue, breaks) {
  const set = new Set(marked.map(w => w.word)), made = [];
  let passed = 0;
  job.paragraphs = job.paragraphs.map((p, paragraph) => !p.words.some(w => set.has(w)) ? p : {...p, words: p.words.map(w => {
    if (!set.has(w)) return w;
    const {cue: old, br, ...word} = w;
    if (cue) word.cue = cue.map(t => Math.round(t * 1000) / 1000);
    if (cue && (breaks ? breaks.includes(passed) : br)) word.br = true;
    passed += list.solid(p.text.substr(w.at, w.length)).length;
    made.push({word, paragraph});
    return word;
  })});
  return made;
}

// breaksOf returns how many characters, spaces not counted, come before each line but the first.
const breaksOf = text => [...text.matchAll(/\n/g)].map(m => list.solid(text.slice(0, m.index)).length);

// retype changes the text of a row. It stays a subtitle, and words keep their times. Lines stay as typed once one was ended by hand.
export const retype = (row, typed) => change(() => {
  const {line, list: parts} = pieces(row), now = typed.trim(), breaks = breaksOf(now);
  const byHand = words(row).some(w => w.word.br) || breaks.length !== breaksOf(line).length || list.solid(now) === list.solid(line), [head, tail] = equalEnds(line, now);
  const place = offset => {
    const p = parts.findLast(p => p.from <= offset);
    return {paragraph: p.paragraph, at: p.at + Math.min(offset - p.from, p.length)};
  };
  const a = place(head), b = place(line.length - tail), first = place(0), last = place(line.length), texts = job.paragraphs.map(p => p.text), size = some => some.join("").length;
  const before = size(texts.slice(0, first.paragraph)) + first.at, after = size(texts.slice(last.paragraph)) - last.at;
  remember(job);
  texts.splice(a.paragraph, b.paragraph - a.paragraph + 1, texts[a.paragraph].slice(0, a.at) + now.slice(head, now.length - tail).replace(/\s+/g, " ") + texts[b.paragraph].slice(b.at));
  job.paragraphs = rewrite(job.paragraphs, texts);
  const total = size(job.paragraphs.map(p => p.text));
  let passed = 0;
  mark(job.paragraphs.flatMap(p => {
    const from = passed;
    passed += p.text.length;
    return p.words.filter(w => from + w.at >= before && from + w.at + w.length <= total - after).map(word => ({word}));
  }), [row.start, row.end], byHand ? breaks : undefined);
  return true;
});

// split divides a row after some characters, spaces not counted, at the nearest border of words. It returns the word that begins the second.
export function split(row, characters) {
  const all = words(row);
  let k = 0;
  for (let n = 0; k < all.length; k++) {
    const {length} = list.solid(job.paragraphs[all[k].paragraph].text.substr(all[k].word.at, all[k].word.length));
    if (n + length / 2 > characters) break;
    n += length;
  }
  if (k < 1 || k >= all.length) return announce("To split, put the cursor between two words.");
  change(() => {
    const at = Math.max(row.start + shortest, Math.min(row.end - shortest, all[k].word.start));
    remember(job);
    mark(all.slice(0, k), [row.start, Math.min(at, Math.max(row.start + shortest, all[k - 1].word.end))]);
    mark(all.slice(k), [at, row.end]);
    return true;
  });
  return row.first + k;
}

// merge makes one row of two, and returns whether it can.
export function merge(row, next) {
  const all = [...words(row), ...words(next)];
  if (new Set(all.map(w => job.paragraphs[w.paragraph].speaker ?? null)).size > 1) return announce("Different people speak in these two subtitles, so they stay two.");
  change(() => {
    remember(job);
    return mark(all, [row.start, next.end]);
  });
  return true;
}

// insert makes a row after another, from a time if that is between it and the next one. It returns its word, a mark to type over.
export function insert(row, t) {
  const until = Math.min(rows[rows.indexOf(row) + 1]?.start ?? soundEnd(), Math.max(t, row.end) + 2), start = t > row.end && t <= until - shortest ? t : row.end, all = words(row), {word, paragraph} = all.at(-1);
  if (until - start < shortest) return announce(`There is no room after this subtitle. Let it end ${shortest} s earlier, then press New.`);
  change(() => {
    const i = job.paragraphs[paragraph].words.indexOf(word) + 1;
    remember(job);
    mark(all, [row.start, row.end]);
    const p = job.paragraphs[paragraph], from = p.words[i]?.at ?? p.text.length, head = p.text.slice(0, from).trimEnd() + " ", added = {at: head.length, length: 1, start, end: until, cue: [start, until]};
    job.paragraphs = job.paragraphs.with(paragraph, {...p, text: (head + "… " + p.text.slice(from)).trimEnd(), words: [...p.words.slice(0, i), added, ...p.words.slice(i).map(w => ({...w, at: w.at + head.length + 2 - from}))]});
    return true;
  });
  return row.first + row.words;
}

const soundEnd = () => job.file && Math.floor(100 * player.length()) / 100 || Infinity;

// refused says why a time cannot be the start of a row or, unless it is the first of the two, its end; nothing if it can.
export function refused(row, t, first) {
  const i = rows.indexOf(row), {clock} = list, room = `and needs ${shortest} s: type`, shown = 0.005; // s: half of what the fields show
  const [after, since] = !first ? ["This subtitle starts", row.start] : i ? ["The one before starts", rows[i - 1].start] : [];
  const [before, until] = first ? ["This subtitle ends", row.end] : rows[i + 1] ? ["The next one ends", rows[i + 1].end] : [];
  if (Number.isNaN(t)) return "Type a time, like 0:05.20.";
  if (t < since + shortest - shown) return `${after} at ${clock(since)} ${room} ${clock(since + shortest)} or more.`;
  if (t > until - shortest + shown) return `${before} at ${clock(until)} ${room} ${clock(until - shortest)} or less.`;
  if (t > soundEnd()) return `The sound ends at ${clock(soundEnd())}: type that or less.`;
}

// move gives a row other times, and takes them from its neighbours.
export const move = (row, start, end) => change(() => {
  const i = rows.indexOf(row), [before, after] = [rows[i - 1], rows[i + 1]], beside = before && words(before), behind = after && words(after);
  const from = Math.max(before ? before.start + shortest : 0, Math.min(start, end - shortest)), to = Math.min(after ? after.end - shortest : Math.max(row.end, soundEnd()), Math.max(end, from + shortest));
  remember(job);
  mark(words(row), [from, to]);
  if (before && before.fixed && before.end > from) mark(beside, [before.start, from]);
  if (after && after.fixed && after.start < to) mark(behind, [to, after.end]);
  return true;
});

// shift moves all subtitles, with the text and its highlights, by some seconds.
export const shift = by => change(() => {
  const moved = s => ({...s, start: s.start + by, end: s.end + by}), first = rows[0].start;
  if (!(first + by >= 0)) return announce(Number.isFinite(by) ? `The first subtitle begins at ${first.toFixed(2)} s: it cannot be ${-by} s earlier. Type ${first.toFixed(2)} or less.` : "Type seconds, like 1.5.", {bad: true});
  remember(job);
  job.paragraphs = job.paragraphs.map(p => ({...p, words: p.words.map(w => ({...moved(w), ...w.cue && {cue: w.cue.map(t => t + by)}}))}));
  Object.assign(job, {highlights: job.highlights?.map(moved)}, !job.file && {duration: job.duration + by});
  return {message: `All subtitles are ${Math.abs(by)} s ${by < 0 ? "earlier" : "later"}.`};
});

// connect adds the handlers. changed is called with a recording that was changed.
export function connect(changed) {
  on = changed;
  list.connect();
  for (const id of ["asText", "asSubtitles"]) $(id).onclick = () => {
    edit.end();
    edit.closeFind();
    job.subtitled = id === "asSubtitles"; // unstored
    update(job);
  };
  $("subtitles").onchange = () => { job.rules = $("subtitles").value; on(job); };
  $("shift").onsubmit = e => { e.preventDefault(); shift(e.submitter.value * $("shiftBy").value.replace(",", ".")); };
  $("names").onchange = () => { job.subtitleNames = $("names").checked; on(job); };
  $("fresh").onclick = () => change(() => {
    remember(job);
    mark(text.words(), null);
    return {message: "The subtitles are as the rules make them."};
  });
}

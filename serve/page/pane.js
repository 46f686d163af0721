// The right pane: a recording with its name, tools, problems and text.
import {away} from "./away.js";
import {languageName, losses, short, titleOf} from "./formats.js";
import * as edit from "./edit.js";
import * as highlights from "./highlights.js";
import {remember} from "./history.js";
import * as jobs from "./jobs.js";
import {busy, canRetry, readable, state} from "./list.js";
import {wordCount} from "./paragraphs.js";
import {withoutSound} from "./opening.js";
import * as player from "./player.js";
import * as settings from "./settings.js";
import {sound} from "./sound.js";
import * as start from "./start.js";
import * as subtitles from "./subtitles.js";
import * as text from "./text.js";
import {$, hideOther, make} from "./ui.js";

let shown = null, actions = null;

export const job = () => shown;

// open shows a recording, whose text and sound may have to be read first.
export async function open(next) {
  edit.end();
  edit.closeFind();
  hideOther(next);
  shown = next;
  settings.write({open: next && next.id});
  if (!next) return update(null);
  if (!next.paragraphs) {
    text.show(null);
    update(next);
    await jobs.open(next);
    if (shown !== next) return;
  }
  text.show(next);
  if (next.state === "live") text.follow(true);
  $("pane").scrollTop = 0;
  update(next);
  await sound(next);
  if (shown === next) update(next);
}

// update shows a changed recording.
export function update(changed) {
  $("result").hidden = !shown;
  $("welcome").hidden = jobs.jobs.length > 0;
  document.body.classList.toggle("empty", !jobs.jobs.length);
  start.show(shown);
  if (!shown) return player.load(null, null);
  if (changed !== shown) return;
  const s = shown, some = !!s.paragraphs && (s.paragraphs.length > 0 || s.editing), done = s.state === "done", whole = some && readable(s);
  if (document.activeElement !== $("title")) $("title").value = s.name;
  $("title").parentElement.dataset.name = titleOf(s); // for paper, where it must wrap
  $("title").readOnly = busy(s);
  showFacts(s, some);
  $("result").querySelector(".tools").hidden = !done && !whole && !canRetry(s);
  for (const id of ["copy", "edit", "times", "openFind"]) $(id).hidden = !whole;
  $("people").hidden = !whole || (busy(s) || !s.file) && s.paragraphs.every(p => p.speaker == null);
  subtitles.update(s);
  showUndo(s);
  const playable = s.remedy === "file" || !s.file?.size ? null : s.file; // what is no sound cannot be played
  for (const b of $("save").querySelectorAll("button, label, .more")) b.hidden = b.id === "saveSound" ? !playable : !some;
  $("withSpeakers").parentElement.hidden = !some || s.paragraphs.every(p => p.speaker == null);
  $("save").hidden = !some && !playable || busy(s) && !whole;
  $("progress").hidden = s.state !== "working";
  if (s.progress != null && s.before == null) $("progress").value = s.progress; else $("progress").removeAttribute("value");
  const sentence = busy(s) ? stateSentence(s) : "";
  $("state").hidden = !sentence;
  $("state").firstElementChild.textContent = sentence;
  $("stop").textContent = s.stopping ? "Skip the rest" : "Stop";
  $("stop").hidden = s.state === "elsewhere" || s.kept || s.state === "live" && !s.stopping;
  showProblem(s, some);
  highlights.show(s);
  showPlaces("gaps", s);
  showPlaces("damaged", s);
  showPlaces("differences", s, d => " " + (!d.heard ? `“${d.text}” was not heard` : !d.text ? `heard: “${d.heard}”` : `“${d.text}”, heard: “${d.heard}”`), 500);
  player.load(s, s.state === "live" || s.state === "elsewhere" ? null : playable);
}

export function stateSentence(s) {
  if (s.stopping) return "Writing the rest…";
  if (s.paused) return "Paused.";
  if (s.offline) return `Verity ${s.offline === "slow" ? "has not answered yet" : "cannot be reached"}. ` + (s.kind ? "The sound is still recorded, and its text follows." : "What is said now may be lost: this browser does not keep sound.");
  if (away && s.state === "queued" && !s.kept) return "Verity cannot be reached. This goes on by itself when it is back.";
  if (s.late) return `This computer is busy: text comes ${Math.round(s.late)}\u00a0s after the words. Speak on, nothing is lost.`;
  if (s.state === "live") return s.silent ? `No sound comes from ${s.device || "the microphone"}. Is it switched on?` : s.hearing ? "Hearing speech…" : s.began ? "Listening" + (s.device ? ": " + s.device : "") : "";
  const now = s.state === "queued" ? "waiting" : state(s), more = now.replace(/^(writing it again|finding out who speaks)( · )?/, "");
  if (!s.kept) return s.state === "queued" ? "This file is waiting." : now[0].toUpperCase() + now.slice(1);
  return (s.apart ? "Finding out who speaks; the words stay" : s.former && s.former.paragraphs !== s.paragraphs ? "You have corrected this text, so it stays. The new one will be a version" :
    s.live ? "This is the live text. A better one is being written from the sound" : "The new text replaces this one when it is whole") + (more && ": " + more) + ".";
}

// showUndo enables the buttons that take a change back and make it again.
function showUndo(s) {
  const lists = {undoEdit: s.past || [], redoEdit: s.future || []}, some = Object.values(lists).some(l => l.length);
  for (const [id, list] of Object.entries(lists)) {
    $(id).hidden = !readable(s) || !some;
    $(id).disabled = !list.length;
  }
}

function showFacts(s, some) {
  const words = some && s.state !== "live" ? wordCount(s.paragraphs) : 0, versions = s.versions || [], again = $("again"), doubtful = words && text.shownJob() === s ? text.doubts() : 0;
  const at = new Date(s.created), when = at.toLocaleString(undefined, {day: "numeric", month: "short", year: at.getFullYear() === new Date().getFullYear() ? undefined : "numeric", hour: "numeric", minute: "2-digit"});
  const facts = [when, s.state !== "live" && s.duration && short(s.duration), words && words.toLocaleString() + (words === 1 ? " word" : " words"), doubtful && doubtful.toLocaleString() + " doubtful", losses[s.lost], s.note, s.task === "translations" && "translated", s.live && some && !busy(s) && "live text"];
  again.hidden = busy(s) || !versions.length && (!s.file || !some && s.state !== "done");
  $("meta").dataset.language = again.hidden ? "" : languageName(s.language); // for paper
  $("facts").textContent = [...facts, again.hidden && languageName(s.language)].filter(x => x).join(" · ");
  again.firstElementChild.textContent = languageName(s.language) || "Transcribe again";
  if (again.hidden || again.open) return;
  $("versions").hidden = !versions.length;
  const button = (textContent, onclick) => make("button", {textContent, onclick, disabled: !onclick});
  $("versions").replaceChildren(button(versionName(s)), ...versions.map((v, i) => button(versionName(v), () => edit.show(s, i))), button("Delete the other versions", () => edit.show(s)));
  $("redo").hidden = !s.file;
  $("redoLanguage").replaceChildren(new Option("Detect", ""), ...settings.languages().map(l => new Option(l.name, l.code)));
  $("redoLanguage").value = s.options && s.options.language || "";
  $("redoLanguage").parentElement.hidden = settings.languages().length < 2;
  $("redoTask").value = s.task;
  $("redoSpeakers").replaceChildren(...[...$("speakers").options].map(o => o.cloneNode(true)));
  for (const [id, option] of [["redoSpeakers", "speakers"], ["redoPrompt", "prompt"]]) $(id).value = (s.options || settings.options())[option] || "";
  $("redoTask").parentElement.hidden = $("tasks").hidden;
  $("missing").hidden = !(s.gaps && s.gaps.length) && s.lost !== "silent";
  $("everything").checked = false;
}

// versionName describes a version of a recording: German, edited (120 words).
const versionName = v => [languageName(v.language) || "Text", v.live && "live", v.task === "translations" && "translated", v.paragraphs.some(p => p.speaker != null) && "speakers", v.edited && "edited"].filter(x => x).join(", ") +
  ` (${wordCount(v.paragraphs).toLocaleString()} words)`;

// showPlaces lists where speech has no words, where the file is damaged, or where a text that was given differs, and plays them.
function showPlaces(id, s, what = g => "–" + short(Math.ceil(g.end)), most = 12) {
  const places = s.state === "done" && s[id] || [];
  $(id).hidden = !places.length;
  $(id).lastElementChild.replaceChildren(...places.slice(0, most).map(g => make("button", {
    textContent: short(g.start) + what(g), title: "Play", disabled: !s.file, onclick: () => player.playFrom(g.start)})),
    ...places.length > most ? [`and ${places.length - most} more`] : []);
}

// showProblem says what went wrong, and offers what helps.
function showProblem(s, some) {
  const silent = s.state === "done" && !some && s.paragraphs;
  const last = some && s.paragraphs.at(-1), emptied = silent && s.edited, end = last ? last.words.at(-1).end : 0, rest = s.state === "done" && ["cut", "stopped"].includes(s.lost) && some && s.file && s.duration - end > 1;
  const improvable = s.live && s.state === "done" && some && s.file && !s.edited && !rest;
  const why = s.left ? "The page was left during this recording. You can go on in a new one." : s.state === "failed" || s.state === "stopped" ? s.error || "This was stopped before it had a text." : s.error ? s.error : s.resume && rest ? `Verity cannot be reached. The text ends at ${short(end)} of ${short(s.duration)}; the rest follows when it is back.` : rest ? `The text ends at ${short(end)} of ${short(s.duration)}.` : emptied ? "The text was deleted. Undo brings it back while the page is open." : silent ? s.options?.silence === false ? "No words were found, though all of the sound was tried." : "Nobody was heard to speak here. If somebody does, transcribe all of it, noise too." :
    improvable ? s.missed ? "While Verity could not be reached, words are missing. Written again from the whole sound, the text has them." : "This text was written live. Written again from the whole sound, it gets better." : s.note === withoutSound ? "The sound of this text is not here." : s.state === "done" && s.lost === "short" ? "The file is shorter than it says that it is: it was cut off. If words are missing at the end, copy or download it again." : "";
  $("problem").hidden = !why;
  $("problem").classList.toggle("bad", s.state === "failed");
  $("problem").firstElementChild.textContent = why ? why[0].toUpperCase() + why.slice(1) + (/[.?!]$/.test(why) ? "" : ".") : "";
  const ways = [];
  if (s.left) ways.push(["Go on recording", () => { s.left = false; actions.record(); }]);
  if (s.remedy === "file") ways.push(["Choose another file", () => actions.choose(null)]);
  if (s.note === withoutSound) ways.push(["Add its sound", () => actions.choose(s)]);
  if (s.remedy === "key") ways.push(["Enter the API key", settings.askKey]);
  if (silent && !emptied && s.file && s.options?.silence !== false) ways.push(["Transcribe all of it", () => jobs.again(s, {silence: false})]);
  if (s.remedy === "settings" && !s.file) ways.push(["Settings", settings.open]);
  else if (["settings", "text"].includes(s.remedy) || silent && !emptied && s.file) ways.push([s.remedy === "text" ? "Change the text" : "Change the options", () => jobs.change(s)]);
  if (s.remedy === "text") ways.push(["Transcribe without the text", () => jobs.again(s, {align: ""})]);
  const apart = s.options && s.options.speakers; // they are told apart in the whole
  if (rest && !s.resume && s.paragraphs.every(p => p.speaker == null)) ways.push(["Transcribe the rest", () => jobs.again(s, {from: end, speakers: "", task: s.task, language: s.options && s.options.language || s.language || ""})]);
  if (improvable) ways.push(["Improve this text", () => jobs.again(s)]);
  if (rest && !s.resume || s.error && s.state === "done" && some && s.file) ways.push(["Transcribe again", () => jobs.again(s, {speakers: apart || ""})]);
  if (canRetry(s) || emptied && s.file) ways.push(["Try again", () => jobs.again(s)]);
  if (s.state === "failed" && !canRetry(s)) ways.push(["Delete", () => actions.remove([s])]);
  $("problem").lastElementChild.replaceChildren(...ways.map(([label, act], i) => make("button", {textContent: label, className: i ? "" : "primary", onclick: act})));
}

// connect adds the handlers. on has choose(), record(), remove() and changed().
export function connect(on) {
  actions = on;
  $("title").onchange = () => {
    if (!shown) return;
    const name = $("title").value.trim() || shown.name;
    if (name !== shown.name) remember(shown);
    shown.name = name;
    $("title").value = shown.name;
    jobs.save(shown);
    on.changed();
  };
  $("title").onkeydown = e => {
    if (e.key === "Escape") $("title").value = shown.name;
    if (e.key === "Enter" || e.key === "Escape") { $("title").blur(); e.stopPropagation(); }
  };
  $("again").ontoggle = () => update(shown);
  $("redo").onsubmit = e => {
    e.preventDefault();
    edit.end();
    jobs.again(shown, {language: $("redoLanguage").value, task: $("tasks").hidden ? "transcriptions" : $("redoTask").value, align: "", speakers: $("redoSpeakers").value, prompt: $("redoPrompt").value.trim(), silence: !$("everything").checked});
  };
  $("stop").onclick = () => jobs.stop(shown);
  $("edit").onclick = () => edit.toggle(shown);
  start.connect();
}

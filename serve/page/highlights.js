// Passages of the text: what is selected, or the sentence that is heard, is copied with its source or highlighted. A highlight is a
// stretch of time {start, end}, so it stays where it is through edits and in other versions.
import * as edit from "./edit.js";
import {inPassage, passage, plain, quote, short} from "./formats.js";
import {remember} from "./history.js";
import {readable} from "./list.js";
import * as player from "./player.js";
import {copy} from "./save.js";
import * as text from "./text.js";
import {announce, icon} from "./ui.js";

const $ = id => document.getElementById(id);
let changed = null, pressed = false; // whether a pointer is down, which may still select more

// selected returns what is selected in the text as {start, end, paragraphs, range}, or null. A single word in a text that is edited is no passage.
function selected() {
  const s = getSelection(), job = text.shownJob(), range = s.rangeCount && !s.isCollapsed && $("text").contains(s.anchorNode) && $("text").contains(s.focusNode) && s.getRangeAt(0);
  const words = range && readable(job) ? text.wordsIn(range) : [];
  return words.length > (text.editing() ? 1 : 0) ? {...span(words), range, paragraphs: words.at(-1).paragraph - words[0].paragraph + 1} : null;
}

const span = words => ({start: words[0].word.start, end: words.at(-1).word.end});

// chosen returns what is selected, or else the sentence that is heard.
function chosen() {
  edit.sync();
  const found = selected() || player.heard();
  if (!found) announce("Select some text first.");
  return found && (found.length ? span(found) : found);
}

const within = (h, {start, end}) => h.start <= start && end <= h.end;

// mark highlights what is chosen or, if it is highlighted, no longer does.
export function mark() {
  const job = text.shownJob(), it = chosen(), all = job && job.highlights || [], old = it && all.find(h => within(h, it));
  if (!it) return;
  const touching = all.filter(h => h.start < it.end && it.start < h.end), whole = {start: Math.min(it.start, ...touching.map(h => h.start)), end: Math.max(it.end, ...touching.map(h => h.end))};
  put(job, old ? all.filter(h => h !== old) : [...all.filter(h => !touching.includes(h)), whole].sort((a, b) => a.start - b.start), old ? "The highlight was removed." : "Highlighted.");
}

function put(job, list, message) {
  const {edited} = job; // no word is changed
  remember(job);
  Object.assign(job, {highlights: list, edited});
  getSelection().removeAllRanges();
  text.tint();
  changed(job);
  announce(message, {quiet: true}); // it is seen
}

export function copyChosen() {
  const it = chosen();
  if (it) copy(quote(text.shownJob(), it));
}

// show lists the highlights of a recording.
export function show(job) {
  const list = readable(job) && job.highlights || [], button = (members, act) => Object.assign(document.createElement("button"), {...members, onclick: act});
  $("marks").hidden = !list.length;
  $("marks").firstElementChild.textContent = list.length === 1 ? "1 highlight" : list.length + " highlights";
  $("marks").querySelector("ul").replaceChildren(...list.map(h => {
    const li = document.createElement("li"), found = text.words().find(w => inPassage(h, w.word)) || {}, words = passage(job, h).map(p => p.text).join(" "), remove = button({className: "icon", title: "Remove", ariaLabel: `Remove the highlight at ${short(h.start)}`}, () => put(job, job.highlights.filter(x => x !== h), "The highlight was removed."));
    remove.append(icon("close"));
    li.append(button({className: "quiet", textContent: `${short(h.start)} ${words}`, title: "Play"}, () => { player.playFrom(h.start); text.goTo({...found.word, paragraph: found.paragraph}); }),
      button({textContent: "Copy", title: "Copy with source", ariaLabel: `Copy the highlight at ${short(h.start)} with its source`}, () => copy(quote(job, h))), remove);
    return li;
  }));
}

// offer shows what can be done with what is selected, below it.
function offer() {
  const it = !pressed && selected(), bar = $("passage");
  bar.hidden = !it;
  if (!it) return;
  $("mark").textContent = (text.shownJob().highlights || []).some(h => within(h, it)) ? "Remove highlight" : "Highlight";
  bar.style.top = `${it.range.getBoundingClientRect().bottom - $("result").getBoundingClientRect().top + 6}px`;
}

// connect adds the handlers. onChange is called with a recording that was changed.
export function connect(onChange) {
  changed = onChange;
  $("mark").onclick = mark;
  $("passage").onpointerdown = e => e.preventDefault(); // what is selected stays selected
  $("copyPassage").onclick = copyChosen;
  $("copyMarks").onclick = () => { const job = text.shownJob(); copy(job.highlights.map(h => quote(job, h)).join("\n\n")); };
  document.addEventListener("selectionchange", offer);
  addEventListener("resize", offer);
  $("text").addEventListener("pointerdown", () => { pressed = true; });
  for (const kind of ["pointerup", "pointercancel"]) document.addEventListener(kind, () => { pressed = false; offer(); });
  $("text").addEventListener("copy", e => { // of several paragraphs without buttons between them, and with the first speaker
    const it = !text.editing() && selected(), job = text.shownJob();
    if (!it || it.paragraphs < 2) return;
    e.preventDefault();
    e.clipboardData.setData("text/plain", plain({...job, paragraphs: passage(job, it)}).trim());
  });
}

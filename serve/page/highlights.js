// Passages of the text: what is selected, or the sentence that is heard, is copied with its source or highlighted. A highlight is a
// stretch of time {start, end}, so it stays where it is through edits and in other versions.
import * as edit from "./edit.js";
import {inPassage, passage, plain, quote, short} from "./formats.js";
import {remember} from "./history.js";
import {readable} from "./list.js";
import * as player from "./player.js";
import {copy} from "./save.js";
import * as text from "./text.js";
import {$, announce, icon, make} from "./ui.js";

let changed = null, pressed = false; // whether a pointer is down, which may still select more

// selected returns what is selected in the text as {start, end, paragraphs, range}, or null. A single word in a text that is edited is no passage.
function selected() {
  const s = getSelection(), job = text.shownJob(), range = s.rangeCount && !s.isCollapsed && $("text").contains(s.anchorNode) && $("text").contains(s.focusNode) && s.getRangeAt(0);
  const words = range && readable(job) ? text.wordsIn(range) : [];
  return words.length > (text.editing() ? 1 : 0) ? {...spanOf(words), range, paragraphs: words.at(-1).paragraph - words[0].paragraph + 1} : null;
}

const spanOf = words => ({start: words[0].word.start, end: words.at(-1).word.end});

// chosen returns what is selected, or else the sentence that is heard.
function chosen() {
  edit.sync();
  const found = selected() || player.heard();
  if (!found) announce("Nothing is selected. Select some text, or play it, first.");
  return found && (found.length ? spanOf(found) : found);
}

const within = (h, {start, end}) => h.start <= start && end <= h.end;

// toggle highlights what is chosen or, if it is highlighted, no longer does.
export function toggle() {
  const span = chosen(), job = text.shownJob(), all = job && job.highlights || [], old = span && all.find(h => within(h, span));
  if (!span) return;
  const touching = all.filter(h => h.start < span.end && span.start < h.end), whole = {start: Math.min(span.start, ...touching.map(h => h.start)), end: Math.max(span.end, ...touching.map(h => h.end))};
  setHighlights(job, old ? all.filter(h => h !== old) : [...all.filter(h => !touching.includes(h)), whole].sort((a, b) => a.start - b.start), old ? "The highlight was removed." : "Highlighted.");
}

function setHighlights(job, list, message) {
  const {edited} = job; // no word is changed
  remember(job);
  Object.assign(job, {highlights: list, edited});
  getSelection().removeAllRanges();
  text.tint();
  changed(job);
  announce(message, {quiet: true}); // it is seen
}

// copyQuotes copies stretches of time with their source.
function copyQuotes(spans) {
  edit.sync();
  copy(spans.map(s => quote(text.shownJob(), s)).join("\n\n"));
}

export function copyChosen() {
  const span = chosen();
  if (span) copyQuotes([span]);
}

// show lists the highlights of a recording.
export function show(job) {
  const list = readable(job) && job.highlights || [];
  $("marks").hidden = !list.length;
  $("marks").firstElementChild.textContent = list.length === 1 ? "1 highlight" : list.length + " highlights";
  $("marks").querySelector("ul").replaceChildren(...list.map(h => {
    const found = text.words().find(w => inPassage(h, w.word)) || {}, at = short(h.start), words = passage(job, h).map(p => p.text).join(" ");
    const play = () => { player.playFrom(h.start); text.goTo({...found.word, paragraph: found.paragraph}); };
    const remove = () => { edit.sync(); setHighlights(job, job.highlights.filter(x => x !== h), "The highlight was removed."); };
    return make("li", {}, make("button", {className: "quiet", textContent: `${at} ${words}`, title: "Play", onclick: play}),
      make("button", {textContent: "Copy", title: "Copy with source", ariaLabel: `Copy the highlight at ${at} with its source`, onclick: () => copyQuotes([h])}),
      make("button", {className: "icon", title: "Remove", ariaLabel: `Remove the highlight at ${at}`, onclick: remove}, icon("close")));
  }));
}

// offer shows what can be done with what is selected, below it.
function offer() {
  const span = !pressed && selected(), bar = $("passage");
  bar.hidden = !span;
  if (!span) return;
  $("mark").textContent = (text.shownJob().highlights || []).some(h => within(h, span)) ? "Remove highlight" : "Highlight";
  bar.style.top = `${span.range.getBoundingClientRect().bottom - $("result").getBoundingClientRect().top + 6}px`;
}

// connect adds the handlers. onChange is called with a recording that was changed.
export function connect(onChange) {
  changed = onChange;
  $("mark").onclick = toggle;
  $("passage").onpointerdown = e => e.preventDefault(); // what is selected stays selected
  $("copyPassage").onclick = copyChosen;
  $("copyMarks").onclick = () => copyQuotes(text.shownJob().highlights);
  document.addEventListener("selectionchange", offer);
  addEventListener("resize", offer);
  $("text").addEventListener("pointerdown", () => { pressed = true; });
  for (const kind of ["pointerup", "pointercancel"]) document.addEventListener(kind, () => { pressed = false; offer(); });
  $("text").addEventListener("copy", e => { // of several paragraphs without buttons between them, and with the first speaker
    const span = !text.editing() && selected(), job = text.shownJob();
    if (!span || span.paragraphs < 2) return;
    e.preventDefault();
    e.clipboardData.setData("text/plain", plain({...job, paragraphs: passage(job, span)}).trim());
  });
}

// The text of a recording. Each paragraph is one piece of text, and words are ranges in it that CSS highlights: hours
// of text open at once, which an element for each word would not.
import {inPassage, short, speakerName} from "./formats.js";
import {endsSentence} from "./paragraphs.js";
import {$, make} from "./ui.js";

const root = $("text"), wide = matchMedia("(min-width: 51.25em)"), still = matchMedia("(prefers-reduced-motion: reduce)");
const unsettled = make("span", {id: "tentative", ariaHidden: "true"}); // live text that may change
// Probabilities below which a word is tinted strongly, and lightly: of 2,027 words in three languages of the base model, two thirds of those
// below 0.2 were wrong, and half of those below 0.45, which had half of all that were wrong.
const doubtful = [0.2, 0.45], small = /^[a-zà-ÿ]{1,3}[^\p{L}\p{N}]*$/u; // words that are not tinted

let shown = null; // the recording
let places = []; // of each paragraph: the element with its text, and the offset there at which it begins
let flat = []; // all words in order: {word, paragraph}, its index
const tints = {}; // highlights by name
for (const name of ["passage", "doubtful", "unsure"]) CSS.highlights.set(name, tints[name] = new Highlight());
let following = true, now = null, stuck = false;

export const paragraphs = () => shown && shown.paragraphs || [];
export const shownJob = () => shown;
export const words = () => flat;
export const positions = () => places;
export const editing = () => root.isContentEditable;

// show draws a recording, as paragraphs to read or, with edit, as text to change.
export function show(job, edit) {
  const top = job === shown ? scroller().scrollTop : 0;
  [shown, places, now, following] = [job, [], null, true];
  root.replaceChildren();
  root.classList.toggle("editing", !!edit);
  Object.assign(root, {contentEditable: edit ? "plaintext-only" : "false", role: edit ? "textbox" : "group", ariaMultiLine: edit ? "true" : null, ariaLive: job && job.state === "live" ? "polite" : null});
  for (const name of ["now", "found", "here", "hover"]) highlight(name, []);
  unsettled.textContent = "";
  draw(0, edit);
  if (top) scroller().scrollTop = top;
}

// add draws the paragraphs of a recording from one on, which is new or has grown.
export function add(job, from) {
  if (job !== shown) return;
  const end = atEnd();
  draw(from);
  if (end || stuck) toEnd();
}

export function tentative(job, text) {
  if (job !== shown) return;
  const end = stuck && atEnd();
  unsettled.textContent = (text && places.length ? " " : "") + text.trim();
  (places.length ? places.at(-1).p : root).append(unsettled);
  if (end) toEnd();
}

function draw(from, edit) {
  const all = paragraphs(), fresh = document.createDocumentFragment();
  for (let i = from; i < all.length; i++) {
    if (!places[i]) {
      const row = edit ? editRow() : readRow();
      places[i] = {p: row.p, base: 0, row};
      fresh.append(row.element);
    }
    places[i].p.index = i;
    places[i].row.fill(all[i], all[i - 1]);
  }
  root.append(fresh);
  index(Math.min(from, all.length));
}

// readRow returns an element for a paragraph with its time and speaker as buttons.
function readRow() {
  const time = make("button", {className: "time", tabIndex: -1}), speaker = make("button", {tabIndex: -1}), heading = make("div", {className: "turn"}, speaker);
  const p = make("p", {dir: "auto"}), element = make("div", {className: "row"}, time, heading, p); // the text may be written from right to left
  const fill = (paragraph, before) => {
    const start = short(paragraph.words[0].start), turn = paragraph.speaker != null && (shown.state !== "live" || speakers().length > 1) && (!before || before.speaker !== paragraph.speaker);
    time.textContent = start;
    time.setAttribute("aria-label", "Play from " + start);
    speaker.textContent = paragraph.speaker == null ? "Who speaks?" : speakerName(shown, paragraph.speaker);
    speaker.className = (turn ? "speaker " : "who ") + colour(paragraph); // who is seen when it is pointed at
    speaker.title = turn ? "Rename" : "Someone else speaks here";
    if (turn) [heading.role, heading.ariaLevel] = ["heading", 2]; else heading.removeAttribute("role");
    p.textContent = paragraph.text;
  };
  return {element, p, fill};
}

// editRow has its speaker and time as attributes, which CSS shows: nothing but text can be edited.
function editRow() {
  const p = make("p", {dir: "auto"});
  return {element: p, p, fill: (paragraph, before) => {
    label(p, paragraph, before);
    p.textContent = paragraph.text;
  }};
}

function label(p, paragraph, before) {
  p.dataset.time = short(paragraph.words[0].start);
  if (paragraph.speaker == null || before && before.speaker === paragraph.speaker) return delete p.dataset.speaker;
  p.dataset.speaker = speakerName(shown, paragraph.speaker);
  p.className = colour(paragraph);
}

const colour = paragraph => "s" + speakers().indexOf(paragraph.speaker) % 6;

// speakers returns the speakers of the recording in the order in which they speak.
export function speakers(all = paragraphs()) { return [...new Set(all.map(p => p.speaker).filter(s => s != null))]; }

// index lists the words from a paragraph on, and tints what is doubtful.
function index(from) {
  flat.length = from ? places[from].first ?? flat.length : 0;
  if (!from) for (const set of Object.values(tints)) set.clear();
  for (let i = from; i < places.length; i++) {
    const place = places[i];
    for (const [set, range] of place.tints || []) set.delete(range);
    place.tints = [];
    place.first = flat.length;
    const {words, text} = paragraphs()[i];
    for (const word of words) {
      const spoken = text.substr(word.at, word.length), begins = !word.at || endsSentence(text.slice(Math.max(0, word.at - 40), word.at));
      const p = small.test(begins ? spoken.toLowerCase() : spoken) ? 1 : word.p, unsure = p < doubtful[0] ? "doubtful" : p < doubtful[1] ? "unsure" : "";
      flat.push({word, paragraph: i, begins, doubtful: p < doubtful[0], unsure: !!unsure});
      if (tints[unsure]) place.tints.push([tints[unsure], fixed(i, word)]);
    }
    for (const h of shown.highlights || []) {
      const some = words.filter(w => inPassage(h, w)), last = some.at(-1);
      if (last) place.tints.push([tints.passage, fixed(i, {at: some[0].at, length: last.at + last.length - some[0].at})]);
    }
    for (const [set, range] of place.tints) set.add(range);
  }
  const rove = root.querySelector(".time, .speaker:not([hidden])");
  if (rove && !root.querySelector("[tabindex='0']")) rove.tabIndex = 0;
}

export const tint = () => index(0);

// wordsIn returns the words of which a range has a part.
export const wordsIn = range => places.flatMap(({p}, paragraph) => !range.intersectsNode(p) ? [] : paragraphs()[paragraph].words
  .filter(w => range.comparePoint(...position(paragraph, w.at + 1)) <= 0 && range.comparePoint(...position(paragraph, w.at + w.length - 1)) >= 0).map(word => ({word, paragraph})));

// sentence returns the words of the sentence that is spoken at a time.
export function sentence(t) {
  const i = Math.max(0, at(t)), from = flat.findLastIndex((w, k) => k <= i && w.begins), to = flat.findIndex((w, k) => k > i && w.begins);
  return flat.slice(Math.max(0, from), to < 0 ? flat.length : to);
}

// confirm takes the doubt from a word of a paragraph.
export function confirm(i, word) {
  const p = shown.paragraphs[i];
  shown.paragraphs = shown.paragraphs.with(i, {...p, words: p.words.map(w => w === word ? {...w, p: 1} : w)});
  index(i);
}

// doubts returns how many words may be wrong, if these are marked.
export const doubts = () => root.classList.contains("sure") ? 0 : flat.filter(w => w.unsure).length;

export function highlight(name, ranges) {
  if (ranges.length) CSS.highlights.set(name, new Highlight(...ranges)); else CSS.highlights.delete(name);
}

// position returns the node and offset of a place in a paragraph.
function position(i, at) {
  const {p, base} = places[i];
  let left = base + at;
  if (p.nodeType === 3) return [p, Math.min(left, p.length)];
  const walk = document.createTreeWalker(p, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
  for (let n = walk.nextNode(); n; n = walk.nextNode()) {
    const length = n.nodeType === 3 ? n.length : n.nodeName === "BR" ? 1 : 0;
    if (n.nodeType === 3 && left <= length) return [n, left];
    left -= length;
  }
  return [p, p.childNodes.length];
}

export const fixed = (i, w) => { // cheaper than a Range, which follows changes
  const [startContainer, startOffset] = position(i, w.at), [endContainer, endOffset] = position(i, w.at + w.length);
  return new StaticRange({startContainer, startOffset, endContainer, endOffset});
};

export function rangeOf(i, at, length) {
  const r = document.createRange();
  r.setStart(...position(i, at));
  r.setEnd(...position(i, at + length));
  return r;
}

// mark highlights found ranges {paragraph, at, length}, the current one differently, which comes into view.
export function mark(list, current) {
  highlight("found", list.map(f => fixed(f.paragraph, f)));
  highlight("here", current ? [fixed(current.paragraph, current)] : []);
  if (current) reveal(rangeOf(current.paragraph, current.at, current.length), true);
}

// goTo brings a place {paragraph, at, length} into view and, while the text is edited, moves the caret there or selects its letters.
export function goTo({paragraph, at, length = 0}) {
  if (!places[paragraph]) return;
  const [, before, letters] = /^([^\p{L}\p{N}]*)(.*?)[^\p{L}\p{N}]*$/su.exec(paragraphs()[paragraph].text.substr(at, length)), range = rangeOf(paragraph, at + before.length, letters.length);
  if (editing()) {
    root.focus({preventScroll: true});
    getSelection().setBaseAndExtent(range.startContainer, range.startOffset, range.endContainer, range.endOffset);
  }
  reveal(rangeOf(paragraph, Math.max(0, at - 1), 1), true);
}

// read returns the text of each line of the pane, and where it is.
export function read() {
  const lines = [];
  for (const p of root.childNodes) {
    let text = "";
    const visit = n => { if (n.nodeType === 3) text += n.data; else if (n.nodeName === "BR") text += "\n"; else n.childNodes.forEach(visit); };
    visit(p);
    let base = 0;
    for (const line of text.split("\n")) {
      if (line.trim()) lines.push({text: line.trim(), place: {p, base: base + line.length - line.trimStart().length}}); else if (p.dataset) delete p.dataset.time;
      base += line.length + 1;
    }
  }
  return lines;
}

// replace takes the paragraphs of an edited text, whose elements stay as they are.
export function replace(list, lines) {
  shown.paragraphs = list;
  places = lines.map(l => l.place);
  places.forEach(({p}, i) => {
    p.index = i;
    label(p, list[i], list[i - 1]);
  });
  now = null;
  index(0);
}

// at returns the index of the word that is spoken at a time, or of the last before it; -1 before the first.
export function at(t) {
  let low = 0, high = flat.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (flat[middle].word.start <= t + 0.02) low = middle + 1; else high = middle;
  }
  return low - 1;
}

// light marks the word that is played, and keeps it in view.
export function light(t, moving) {
  const found = flat[at(t)], spoken = found && t < Math.max(found.word.end, found.word.start + 0.1) + 0.15 ? found : null;
  if (spoken === now) return;
  now = spoken;
  const range = now && rangeOf(now.paragraph, now.word.at, now.word.length);
  highlight("now", range ? [range] : []);
  if (range && moving && following) reveal(range);
}

// follow scrolls along with what is played or, with end, with new text.
export function follow(end) {
  following = true;
  stuck = !!end;
  $("follow").hidden = true;
  if (end) toEnd();
  if (now) reveal(rangeOf(now.paragraph, now.word.at, now.word.length));
}

const scroller = () => wide.matches ? $("pane") : document.scrollingElement;
const toEnd = () => scroller().scrollTo({top: scroller().scrollHeight});
const atEnd = () => scroller().scrollTop > 0 && scroller().scrollHeight - scroller().scrollTop - scroller().clientHeight < 120;

// reveal scrolls until a range is in the upper half of what can be seen.
function reveal(range, always) {
  const r = range.getBoundingClientRect(), top = Math.max(...[".head", ".tools", "#find"].map(n => document.querySelector(n).getBoundingClientRect().bottom)), bottom = $("bar").hidden ? innerHeight : $("bar").getBoundingClientRect().top;
  const room = bottom - Math.max(0, top);
  if (!r.height || !always && r.top > top + 8 && r.bottom < bottom - room / 5 || always && r.top > top + 8 && r.bottom < bottom - 8) return;
  const distance = r.top - Math.max(0, top) - room / 3;
  scroller().scrollBy({top: distance, behavior: still.matches || Math.abs(distance) > 3 * room ? "instant" : "smooth"});
}

// leave stops following what is played.
export function leave() {
  stuck = false;
  if (!now || $("player").paused) return;
  following = false;
  $("follow").hidden = false;
}

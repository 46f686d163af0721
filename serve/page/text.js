// The text of a recording: segments with times that play, words that light up when they are played, and editing.
import {short} from "./formats.js";

const $ = id => document.getElementById(id);
let shown = null; // the job
let words = []; // of all segments in order, with node, start and end
let lit = null;

let following = false; // scroll to new text, since the end is in view

const toEnd = () => scrollTo({top: document.documentElement.scrollHeight});
addEventListener("scroll", () => { following = innerHeight + scrollY >= document.documentElement.scrollHeight - 120; });

export function follow() {
  following = true;
  toEnd();
}

export function show(job) {
  shown = job;
  words = [];
  $("text").replaceChildren();
  $("tentative").textContent = "";
  for (const s of job.segments) draw(s);
}

// add shows a new segment, or more text of one.
export function add(job, s) {
  if (job !== shown) return;
  const end = following;
  draw(s);
  if (end) toEnd();
}

export function tentative(job, text) {
  if (job !== shown) return;
  const end = following;
  $("tentative").textContent = text;
  if (end) toEnd();
}

function draw(s) {
  let row = [...$("text").children].find(r => r.segment === s);
  if (!row) {
    row = document.createElement("div");
    row.className = "segment";
    row.segment = s;
    const time = document.createElement("button");
    time.className = "time";
    time.textContent = short(s.start);
    time.setAttribute("aria-label", "Play from " + short(s.start));
    time.onclick = () => play(s.start);
    row.append(time, document.createElement("p"));
    $("text").append(row);
  }
  const p = row.lastChild;
  words = words.filter(w => w.segment !== s);
  p.replaceChildren();
  appendWords(p, s);
  words.sort((a, b) => a.start - b.start);
  if ($("edit").getAttribute("aria-pressed") === "true") p.contentEditable = "plaintext-only";
}

// appendWords appends the text of a segment. A click on a word plays it. Text between words, such as spaces, stays.
function appendWords(into, s) {
  const text = s.text.trimStart(), offset = s.text.length - text.length;
  let at = 0, from = 0;
  const cuts = (s.pieces || []).map(p => ({from: from - offset, to: (from += p.text.length) - offset, accepted: p.accepted})).filter(p => p.accepted);
  for (const w of s.words && s.words.length ? s.words : [{word: text, start: s.start, end: s.end}]) {
    const found = w.word ? text.indexOf(w.word, at) : -1;
    if (found < 0) continue;
    appendMarked(into, text, at, found, cuts);
    const b = document.createElement("span"); // not a button, which cannot break into lines
    b.setAttribute("role", "button");
    b.tabIndex = $("text").querySelector("[tabindex='0']") || words.length ? -1 : 0;
    b.start = w.start;
    at = found + w.word.length;
    appendMarked(b, text, found, at, cuts);
    into.append(b);
    words.push({node: b, start: w.start, end: w.end, segment: s});
  }
  appendMarked(into, text, at, text.length, cuts);
}

// appendMarked appends a part of a text, and wraps what the assistant drafted in elements.
function appendMarked(into, text, from, to, cuts) {
  let done = from;
  for (const c of cuts) {
    const a = Math.max(c.from, done), b = Math.min(c.to, to);
    if (a >= b) continue;
    const mark = document.createElement("span");
    mark.className = "accepted";
    mark.textContent = text.slice(a, b);
    into.append(text.slice(done, a), mark);
    done = b;
  }
  if (done < to) into.append(text.slice(done, to));
}

function play(t) {
  $("player").currentTime = t;
  $("player").play().catch(() => {});
}

// highlight marks the word that is being played.
function highlight() {
  const t = $("player").currentTime;
  const now = words.findLast(w => w.start <= t + 0.02 && t < Math.max(w.end, w.start + 0.1) + 0.15);
  if (now !== lit) {
    if (lit) lit.node.classList.remove("now");
    if (now) now.node.classList.add("now");
    lit = now;
  }
  if (!$("player").paused) requestAnimationFrame(highlight);
}

function focusWord(node) {
  for (const b of $("text").querySelectorAll("[tabindex='0']")) b.tabIndex = -1;
  node.tabIndex = 0;
  node.focus();
}

// setEditing switches between words to click and text to edit. Changed segments lose the times of their words.
function setEditing(on) {
  $("edit").setAttribute("aria-pressed", on);
  $("edit").textContent = on ? "Done editing" : "Edit";
  let changed = false;
  for (const row of $("text").children) {
    const p = row.lastChild, s = row.segment;
    if (on) {
      p.contentEditable = "plaintext-only";
      p.setAttribute("role", "textbox");
      p.setAttribute("aria-multiline", "true");
      p.setAttribute("aria-label", "Text from " + short(s.start));
      continue;
    }
    for (const name of ["contenteditable", "role", "aria-multiline", "aria-label"]) p.removeAttribute(name);
    if (p.textContent === s.text.trimStart()) continue;
    s.text = (/^\s/.test(s.text) ? " " : "") + p.textContent.trim();
    s.words = s.pieces = undefined;
    changed = true;
    draw(s);
  }
  return changed;
}

// connect adds the event handlers. edited is called with a job that was changed.
export function connect(edited) {
  $("text").onclick = e => {
    const word = e.target.closest("[role=button]");
    if (!word || $("edit").getAttribute("aria-pressed") === "true") return;
    focusWord(word);
    play(word.start);
  };
  $("text").onkeydown = e => {
    const here = e.target.closest("[role=button]");
    if (!here || $("edit").getAttribute("aria-pressed") === "true") return;
    const all = [...$("text").querySelectorAll("[role=button]")], i = all.indexOf(here);
    const next = {ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: all.length - 1}[e.key];
    if (e.key === "Enter" || e.key === " ") play(here.start);
    else if (next === undefined) return;
    else if (all[next]) focusWord(all[next]);
    e.preventDefault();
  };
  $("player").onplay = highlight;
  $("player").onseeked = highlight;
  $("edit").onclick = () => {
    const on = $("edit").getAttribute("aria-pressed") !== "true";
    if (setEditing(on)) edited(shown);
  };
}

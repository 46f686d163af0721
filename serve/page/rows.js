// The view of subtitles: a row for each, to read, type in, split and merge.
import * as edit from "./edit.js";
import * as player from "./player.js";
import {Strip} from "./strip.js";
import * as subtitles from "./subtitles.js";
import * as text from "./text.js";
import {$, make} from "./ui.js";

// clock writes a time as 1:02.30, and seconds reads one like that, 62.3 or 1:02,3; NaN if it is none.
export const clock = t => `${Math.floor(t / 60)}:${(t % 60).toFixed(2).padStart(5, "0")}`;

function seconds(typed) {
  const parts = typed.trim().replace(",", ".").split(":");
  return parts.every((part, i) => /^\d+(\.\d+)?$/.test(part) && (!i || part < 60)) ? parts.reduce((n, part) => n * 60 + +part, 0) : NaN;
}

let job = null, rows = [], strip = null, focus = null, current = -1, typing = null; // focus: the word and the caret to go to with the next rows; typing: until what was typed is in the rows

const lines = () => [...$("cues").children];
const chosen = () => $("cueTools").closest("#cues li");
const typed = li => li.field.value.trim() !== li.text;
const faults = row => [row.fast && Math.ceil(row.cps) + "/s too fast", row.long && row.lines.length + 1 + " lines", row.wide && "line too wide"].filter(x => x);
const hard = row => faults(row).length > 0;
export const solid = text => text.replace(/\s/g, "");

// sync keeps what was typed into a row.
export function sync(li = document.activeElement.closest("#cues li")) {
  if (!li || !typed(li)) return typing;
  li.text = li.field.value.trim();
  return typing = subtitles.retype(li.row, li.text);
}

async function split(li) {
  const before = solid(li.field.value.slice(0, li.field.selectionStart)).length;
  await sync(li);
  const word = subtitles.split(li.row, before);
  if (word !== undefined) focus = {word, caret: 0};
}

async function merge(li, next) {
  await sync(li);
  await sync(next);
  const caret = li.text.length + 1;
  if (subtitles.merge(li.row, next.row)) focus = {word: li.row.first, caret};
}

function line() {
  const time = make("button", {className: "time", title: "Play", tabIndex: -1, onclick: () => player.playFrom(li.row.start)}), speed = make("span");
  const field = make("textarea", {dir: "auto", onchange: () => sync(li), onfocus: () => choose(li), onkeydown: e => key(e, li), oninput: () => { field.rows = field.value.split("\n").length; }});
  const li = make("li", {time, field, speed, text: ""}, time, field, speed);
  return li;
}

// key: Enter splits, with Shift it begins a line, Backspace and Delete merge at the ends, and arrows go on to other rows.
function key(e, li) {
  const {selectionStart: from, selectionEnd: to, value} = li.field, before = li.previousElementSibling, next = li.nextElementSibling;
  const act = {
    Enter: !e.shiftKey && (() => split(li)),
    Backspace: before && !to && (() => merge(before, li)),
    Delete: next && from === value.length && (() => merge(li, next)),
    ArrowUp: before && !value.slice(0, from).includes("\n") && (() => before.field.focus()),
    ArrowDown: next && !value.slice(to).includes("\n") && (() => next.field.focus()),
    z: (e.ctrlKey || e.metaKey) && !typed(li) && (() => edit.undo(job, e.shiftKey)),
  }[e.key.length === 1 ? e.key.toLowerCase() : e.key];
  if (!act || e.isComposing || e.altKey) return;
  e.preventDefault();
  e.stopPropagation();
  act();
}

// choose shows a row on the waveform, and its times to type.
function choose(li) {
  for (const l of lines()) l.classList.toggle("chosen", l === li);
  $("cueTools").hidden = false;
  if (chosen() !== li) li.append($("cueTools"));
  showTimes();
  strip.reveal(li.row);
}

function showTimes() {
  const li = chosen();
  if (!li) return;
  [$("cueStart").value, $("cueEnd").value] = [li.row.start, li.row.end].map(clock);
  refuse();
  $("merge").disabled = !li.nextElementSibling;
}

// refuse says why a time that was typed is not taken; without arguments, that none is wrong.
function refuse(id, why = "") {
  $("cueError").textContent = why;
  for (const field of ["cueStart", "cueEnd"]) $(field).ariaInvalid = field === id;
}

function fill(li, row, order) {
  const {line} = subtitles.pieces(row), first = subtitles.words(row)[0], who = first ? order.indexOf(job.paragraphs[first.paragraph].speaker) : -1, [start, end] = [row.start, row.end].map(clock), wrong = faults(row).join(", ");
  li.row = row;
  li.className = (who >= 0 ? "s" + who % 6 : "") + (row.fixed ? " fixed" : "") + (li === chosen() ? " chosen" : "") + (li.classList.contains("found") ? " found" : "");
  li.time.replaceChildren(start.slice(0, -1) + " ", make("small", {textContent: end.slice(0, -1)}));
  if (document.activeElement !== li.field || !typed(li)) {
    li.text = line;
    if (li.field.value !== line) li.field.value = line;
    li.field.rows = line.split("\n").length;
  }
  li.field.ariaLabel = `Subtitle from ${start} to ${end}, ${Math.round(row.cps)} characters a second` + (wrong && ", " + wrong);
  Object.assign(li.speed, {className: "speed" + (wrong && " bad"), textContent: wrong || Math.round(row.cps) + "/s", title: `${Math.round(row.cps)} characters a second` + (row.fixed ? "; made by hand" : "")});
}

// show shows rows.
export function show(next, list) {
  [job, rows, current] = [next, list, -1];
  const bad = rows.filter(hard).length, order = text.speakers(), all = lines();
  for (const li of all.slice(rows.length)) {
    if (li === chosen()) { $("cueTools").hidden = true; $("strip").after($("cueTools")); }
    li.remove();
  }
  for (let i = all.length; i < rows.length; i++) $("cues").append(line());
  lines().forEach((li, i) => fill(li, rows[i], order));
  const to = focus && lines().findLast(li => li.row.first <= focus.word);
  if (to) {
    to.field.focus();
    to.field.setSelectionRange(focus.caret, focus.until ?? focus.caret);
    focus = null;
  }
  showTimes();
  $("bad").hidden = !bad;
  $("bad").textContent = `${bad} of ${rows.length} hard to read`;
  $("fresh").hidden = !rows.some(r => r.fixed);
  if (job) strip.load(job, rows, order);
}

// mark marks the row of a word that was found, and brings it into view.
export function mark(place) {
  const at = place ? text.words().findLastIndex(w => w.paragraph === place.paragraph && w.word.at <= place.at) : -1;
  lines().forEach(li => li.classList.toggle("found", at >= li.row.first && at < li.row.first + li.row.words));
  $("cues").querySelector(".found")?.scrollIntoView({block: "center"});
}

// light marks the row that is played.
export function light(t) {
  if (!rows.length) return;
  strip.at(t);
  const i = rows.findIndex(r => t >= r.start && t < r.end), all = $("cues").children;
  if (i === current) return;
  all[current]?.classList.remove("now");
  current = i;
  all[i]?.classList.add("now");
  if (all[i] && !$("player").paused && !$("cues").contains(document.activeElement)) all[i].scrollIntoView({block: "nearest"});
}

export function connect() {
  const go = (li, block) => { li.field.focus({preventScroll: true}); li.scrollIntoView({block}); };
  strip = new Strip(subtitles.move, row => { go(lines().find(l => l.row === row), "nearest"); player.seek(row.start); });
  $("bad").onclick = () => {
    const all = lines(), from = all.indexOf(chosen());
    go(all.find((li, i) => i > from && hard(li.row)) || all.find(li => hard(li.row)), "center");
  };
  $("split").onclick = () => split(chosen());
  $("merge").onclick = () => merge(chosen(), chosen().nextElementSibling);
  $("newCue").onclick = async () => {
    await sync(chosen());
    const word = subtitles.insert(chosen().row, $("player").currentTime);
    if (word) focus = {word, caret: 0, until: 1}; // what is typed replaces the mark
  };
  $("cueTools").onpointerdown = e => { if (e.target.localName === "button") e.preventDefault(); }; // the cursor stays in the text
  for (const id of ["cueStart", "cueEnd"]) {
    const set = to => {
      const {row} = chosen(), first = id === "cueStart", why = subtitles.refused(row, to, first);
      if (why) refuse(id, why); else subtitles.move(row, first ? to : row.start, first ? row.end : to);
    };
    $(id + "Here").onclick = async () => { await sync(chosen()); set($("player").currentTime); };
    $(id).onchange = () => set(seconds($(id).value));
    $(id).onkeydown = e => {
      const by = {ArrowUp: 0.1, ArrowDown: -0.1}[e.key];
      if (!by) return;
      e.preventDefault();
      set(seconds($(id).value) + by);
    };
  }
}

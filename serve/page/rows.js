// The view of subtitles: a row for each, to read, type in, split and merge.
import * as edit from "./edit.js";
import * as player from "./player.js";
import {Strip} from "./strip.js";
import * as subtitles from "./subtitles.js";
import * as text from "./text.js";
import {$, announce, make} from "./ui.js";

const clock = t => `${Math.floor(t / 60)}:${(t % 60).toFixed(2).padStart(5, "0")}`;
const seconds = typed => typed.trim().split(":").reduce((n, part) => n * 60 + parseFloat(part.replace(",", ".")), 0);
let job = null, rows = [], strip = null, focus = null, current = -1; // focus: the word and the caret to go to with the next rows

const lines = () => [...$("cues").children];
const chosen = () => $("cueTools").closest("#cues li");
const typed = li => li.field.value.trim() !== li.text;
const hard = row => row.fast || row.long;
const solid = text => text.replace(/\s/g, "").length;

// sync keeps what was typed into a row.
export function sync(li = document.activeElement.closest("#cues li")) {
  if (!li || !typed(li)) return;
  li.text = li.field.value.trim();
  return subtitles.retype(li.row, li.text);
}

async function split(li) {
  const before = solid(li.field.value.slice(0, li.field.selectionStart));
  await sync(li);
  const word = subtitles.split(li.row, before);
  if (word !== undefined) focus = {word, caret: 0};
}

async function merge(li, next) {
  await sync(li);
  await sync(next);
  const caret = li.text.length + 1;
  subtitles.merge(li.row, next.row);
  focus = {word: li.row.first, caret};
}

function line() {
  const time = make("button", {className: "time", tabIndex: -1, onclick: () => player.playFrom(li.row.start)}), speed = make("span");
  const field = make("textarea", {dir: "auto", onchange: () => sync(li), onfocus: () => choose(li), onkeydown: e => key(e, li), oninput: () => { field.rows = field.value.split("\n").length; }});
  const li = make("li", {time, field, speed, text: ""}, time, field, speed);
  return li;
}

// key: Enter splits, Backspace and Delete merge at the ends, and arrows go on to other rows.
function key(e, li) {
  const {selectionStart: from, selectionEnd: to, value} = li.field, before = li.previousElementSibling, next = li.nextElementSibling;
  const act = {
    Enter: () => split(li),
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
  $("merge").disabled = !li.nextElementSibling;
}

function fill(li, row, order) {
  const {line} = subtitles.pieces(row), first = subtitles.words(row)[0], who = first ? order.indexOf(job.paragraphs[first.paragraph].speaker) : -1, speed = row.fast ? Math.ceil(row.cps) : Math.round(row.cps), start = clock(row.start);
  li.row = row;
  li.className = (who >= 0 ? "s" + who % 6 : "") + (row.fixed ? " fixed" : "") + (li === chosen() ? " chosen" : "") + (li.classList.contains("found") ? " found" : "");
  Object.assign(li.time, {textContent: start.slice(0, -1), title: `${start} to ${clock(row.end)}`, ariaLabel: "Play from " + start.slice(0, -1)});
  if (document.activeElement !== li.field || !typed(li)) {
    li.text = line;
    if (li.field.value !== line) li.field.value = line;
    li.field.rows = line.split("\n").length;
  }
  li.field.ariaLabel = `Subtitle at ${start}, ${speed} characters a second` + (row.fast ? ", too fast" : row.long ? ", too long" : "");
  Object.assign(li.speed, {className: "speed" + (hard(row) ? " bad" : ""), textContent: row.fast ? speed + "/s too fast" : row.long ? "too long" : speed + "/s", title: `${speed} characters a second` + (row.fixed ? "; made by hand" : "")});
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
    to.field.setSelectionRange(focus.caret, focus.caret);
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
  if (all[current]) all[current].classList.remove("now");
  current = i;
  if (!all[i]) return;
  all[i].classList.add("now");
  if (!$("player").paused && !$("cues").contains(document.activeElement)) all[i].scrollIntoView({block: "nearest"});
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
  for (const id of ["cueStart", "cueEnd"]) {
    const set = by => {
      const {row} = chosen(), to = seconds($(id).value) + by, [start, end] = id === "cueStart" ? [to, row.end] : [row.start, to];
      if (Number.isFinite(to) && end - start >= subtitles.shortest) return subtitles.move(row, start, end);
      showTimes();
      announce(Number.isFinite(to) ? `The end must be at least ${subtitles.shortest} s after the start.` : "Type a time like 0:05.20.", {bad: true});
    };
    $(id).onchange = () => set(0);
    $(id).onkeydown = e => {
      const by = {ArrowUp: 0.1, ArrowDown: -0.1}[e.key];
      if (!by) return;
      e.preventDefault();
      set(by);
    };
  }
}

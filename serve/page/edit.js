// Editing the text as a whole, finding and replacing. Words keep their times where they stand.
import {rewrite} from "./align.js";
import * as caret from "./caret.js";
import {exchange, placeAt, remember, step} from "./history.js";
import {needsSpace} from "./paragraphs.js";
import * as rows from "./rows.js";
import * as text from "./text.js";
import {$} from "./ui.js";

let changed = () => {}, open = null, timer = 0, typed = 0, removing = false; // typed: when what is not yet synced was begun
let hits = [], hit = -1;

// toggle begins or ends editing a recording.
export function toggle(job) {
  if (open) return end();
  draw(job, true);
  $("text").focus({preventScroll: true});
}

// end ends editing, if there is any.
export function end() {
  if (!open) return;
  sync();
  const job = open;
  draw(job, false);
  changed(job);
  if (!$("find").hidden) search();
}

// draw shows a recording to be edited, or not.
function draw(job, editing) {
  [open, job.editing, $("edit").ariaPressed, $("edit").textContent] = editing ? [job, true, true, "Done"] : [null, false, false, "Edit"];
  text.show(job, editing);
}

// sync makes the recording what the pane shows.
export function sync() {
  if (!open) return;
  clearTimeout(timer);
  typed = 0;
  const lines = text.read(), texts = lines.map(l => l.text), old = open.paragraphs;
  if (texts.length === old.length && texts.every((t, i) => t === old[i].text)) return;
  remember(open);
  text.replace(rewrite(old, texts), lines);
  changed(open);
}

// confirm says that a word is right.
export function confirm({word, paragraph}) {
  remember(text.shownJob());
  text.confirm(paragraph, word);
  changed(text.shownJob());
}

// undo takes back the last change of a recording or, with again, makes it once more, also after editing has ended.
export function undo(job, again) {
  if (open === job) sync();
  const place = step(job, again);
  if (!place) return;
  redraw(job);
  text.goTo(place);
  changed(job, {undone: true});
  if (!$("find").hidden) search();
}

// show shows another version of a recording; without a number, all others are deleted.
export function show(job, version) {
  end();
  exchange(job, version);
  redraw(job);
  changed(job, {message: version === undefined ? "The other versions were deleted." : ""});
}

const redraw = job => text.show(job, open === job);

// hold syncs a recording that is edited, and returns a function that shows it with other borders of paragraphs, the caret in its place.
export function hold(job) {
  sync();
  const [caretAt] = document.activeElement === $("text") ? caret.selected() : [];
  const at = caretAt && job.paragraphs.slice(0, caretAt.paragraph).reduce((n, p) => n + p.text.length + 1, caretAt.at);
  return () => {
    redraw(job);
    if (caretAt) text.goTo(placeAt(job.paragraphs, at));
  };
}

// search finds what is typed, and goes to the first place from the current one on.
function search() {
  const wanted = $("findText").value.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), edge = $("wholeWords").checked ? ["(?<![\\p{L}\\p{N}])", "(?![\\p{L}\\p{N}])"] : ["", ""];
  const pattern = new RegExp(edge[0] + wanted + edge[1], $("matchCase").checked ? "gu" : "giu"), from = hits[hit] || {paragraph: 0, at: 0};
  hits = wanted ? text.paragraphs().flatMap((p, paragraph) => Array.from(p.text.matchAll(pattern), m => ({paragraph, at: m.index, length: m[0].length}))) : [];
  hit = hits.length ? Math.max(0, hits.findIndex(h => h.paragraph > from.paragraph || h.paragraph === from.paragraph && h.at >= from.at)) : -1;
  mark();
}

function mark() {
  text.mark(hits, hits[hit]);
  rows.mark(hits[hit]);
  $("found").textContent = $("findText").value ? hits.length ? `${hit + 1} of ${hits.length}` : "not found" : "";
}

function go(by) {
  sync();
  if (!hits.length) return search();
  hit = (hit + by + hits.length) % hits.length;
  mark();
}

export function openFind(wanted) {
  $("find").hidden = false;
  if (wanted) $("findText").value = wanted;
  else $("findText").select(), $("findText").focus();
  search();
}

export function closeFind() {
  if ($("find").hidden) return false;
  $("find").hidden = true;
  [hits, hit] = [[], -1];
  mark();
  $("text").focus({preventScroll: true});
  return true;
}

// replaceHits replaces hits, from the last to the first so that places stay right.
function replaceHits(list) {
  const job = text.shownJob(), texts = job.paragraphs.map(p => p.text), by = $("replaceText").value;
  for (const h of [...list].reverse()) texts[h.paragraph] = texts[h.paragraph].slice(0, h.at) + by + texts[h.paragraph].slice(h.at + h.length);
  const last = list[list.length - 1];
  remember(job);
  job.paragraphs = rewrite(job.paragraphs, texts);
  [hits, hit] = [[{...last, at: last.at + by.length}], 0];
  redraw(job);
  changed(job, {message: list.length + " replaced."});
  search();
  $("found").textContent = list.length + " replaced";
}

// before makes the changes that move the borders of paragraphs itself, as the browser would leave lines and styles.
function before(e) {
  const s = getSelection(), [p, q] = [s.anchorNode, s.focusNode].map(caret.paragraphOf), across = p !== q, forward = e.inputType.endsWith("Forward");
  const removes = /^delete/.test(e.inputType), typed = /^insert(Paragraph|LineBreak)$/.test(e.inputType) ? "\n" : e.data ?? (e.dataTransfer ? e.dataTransfer.getData("text/plain") : "");
  if (removes !== removing) sync(); // what was typed and what was deleted are undone one after the other
  removing = removes;
  if (!p || !q || e.inputType === "insertCompositionText") return;
  const other = removes && s.isCollapsed && caret.atEdge(p, forward) && (forward ? p.nextElementSibling : p.previousElementSibling);
  if (!across && !other && (removes || !/\n/.test(typed))) return;
  e.preventDefault();
  sync();
  let [from, to] = caret.selected();
  if (other && forward) to = {paragraph: from.paragraph + 1, at: 0};
  if (other && !forward) from = {paragraph: to.paragraph - 1, at: open.paragraphs[to.paragraph - 1].text.length};
  splice(from, to, removes ? "" : (p.textContent ? "" : "\n") + typed); // an empty paragraph is not yet one of the recording
}

// splice puts text in place of what is between two places. Its lines are paragraphs.
function splice(from, to, put) {
  const texts = open.paragraphs.map(p => p.text), head = texts[from.paragraph].slice(0, from.at), tail = texts[to.paragraph].slice(to.at);
  const glue = !put && (from.at === texts[from.paragraph].length || !to.at) && needsSpace(head, tail) ? " " : "", made = (head + glue + put + tail).split("\n").map(t => t.trim());
  const last = made.at(-1), kept = made.filter(t => t).length;
  remember(open);
  open.paragraphs = rewrite(open.paragraphs, texts.toSpliced(from.paragraph, to.paragraph - from.paragraph + 1, ...made));
  redraw(open);
  if (last) text.goTo({paragraph: from.paragraph + kept - 1, at: last.length - tail.trimStart().length});
  else caret.begin(from.paragraph + kept);
  changed(open);
}

export function connect(onChange) {
  changed = onChange;
  $("text").addEventListener("input", () => {
    const now = performance.now();
    typed ||= now;
    clearTimeout(timer);
    timer = setTimeout(sync, Math.min(500, Math.max(0, typed + 2000 - now)));
  });
  $("text").addEventListener("beforeinput", e => { // the browser's own history ends where the page changes the text
    if (!open) return;
    if (!/^history/.test(e.inputType)) return before(e);
    e.preventDefault();
    undo(open, e.inputType === "historyRedo");
  });
  $("text").addEventListener("drop", e => { if (open) e.preventDefault(); }); // what is dropped are files
  $("find").onsubmit = e => { e.preventDefault(); go(1); };
  $("findText").oninput = () => { sync(); search(); };
  $("findText").onkeydown = e => { if (e.key === "Enter" && e.shiftKey) { e.preventDefault(); go(-1); } };
  $("findBack").onclick = () => go(-1);
  $("closeFind").onclick = closeFind;
  for (const [id, some] of [["replaceOne", () => hits.slice(hit, hit + 1)], ["replaceAll", () => hits]]) $(id).onclick = () => {
    sync();
    search();
    if (hits.length) replaceHits(some());
  };
  for (const id of ["matchCase", "wholeWords"]) $(id).onchange = search;
  $("replace").onclick = () => $("replace").setAttribute("aria-expanded", $("replace").ariaExpanded !== "true");
}

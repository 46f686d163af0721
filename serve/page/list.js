// The list of recordings. Each has a row that stays in place while its state changes, so that the focus stays too.
import {away} from "./away.js";
import {firstWords, losses, short} from "./formats.js";
import {$, icon, make, size} from "./ui.js";

const rows = new Map(); // by id of a recording

// day returns a date as people say it: a time today, else a day.
function day(ms) {
  const d = new Date(ms), now = new Date();
  if (d.toDateString() === now.toDateString()) return d.toLocaleTimeString(undefined, {hour: "numeric", minute: "2-digit"});
  return d.toLocaleDateString(undefined, {day: "numeric", month: "short", year: d.getFullYear() === now.getFullYear() ? undefined : "numeric"});
}

// left estimates the remaining time, once enough is done.
function left(job) {
  const took = (performance.now() - job.first.at) / 1000, done = job.progress - job.first.progress;
  return took < 3 || done < 0.03 ? "" : ", " + short(Math.ceil(took / done * (1 - job.progress))) + " left";
}

const part = j => j.progress ? " · " + Math.round(j.progress * 100) + " %" + left(j) : "";

// stage names what is done now, as the server has it.
const stage = j => j.stage === "speech" ? "speech found" : j.stage === "speakers" ? "telling voices apart" : j.options?.align ? "finding the words of the text" : j.kept ? "writing it again" : "transcribing";

const states = {
  new: () => "not started",
  queued: () => away ? "waiting for Verity" : "waiting",
  working: j => (j.uploading ? "sending" : j.before != null ? `waiting, ${j.before} before it` : j.apart ? "finding out who speaks" + part(j) : j.progress == null ? "reading the file" : stage(j) + part(j)) + (j.place ? ` · file ${j.place}` : ""),
  live: j => j.stopping ? "writing the rest" : j.paused ? "paused" : j.offline ? "recording without text" : j.began ? "recording" : "starting", elsewhere: () => "open in another tab",
  done: j => j.resume ? "waiting for Verity" : [day(j.created), j.duration && short(j.duration), losses[j.lost]].filter(x => x).join(" · "),
  stopped: () => "stopped", failed: j => (j.error || "").split(/(?<=[.?!]) /)[0],
};

export const state = job => states[job.state](job);
export const readable = job => !!job && !!job.paragraphs && (job.state === "done" || !!job.kept); // and can be changed: its text is not coming
export const busy = job => ["queued", "working", "live", "elsewhere"].includes(job.state);
export const hasSound = job => job.state !== "failed" || job.remedy !== "file"; // else it is a file that cannot be read

// row makes a row, with the functions that show gets.
function row(job, on) {
  const title = make("strong"), line = make("span", {className: "state"}), words = make("span", {className: "words"}), bar = make("progress", {max: 1});
  const action = (sign, label, act) => make("button", {className: "icon", label, tabIndex: -1, onclick: () => act(job)}, icon(sign));
  const stop = action("close", "Stop", on.stop), remove = action("bin", "Delete", on.remove), again = action("retry", "Try again:", on.again);
  const name = make("button", {className: "name", onclick: e => {
    if (picked || e.ctrlKey || e.metaKey || e.shiftKey) return pick(job, e.shiftKey);
    on.choose(job);
    if (e.detail) $("text").focus({preventScroll: true}); // after a click, Space and the arrows are the player's
  }}, title, line, words), li = make("li", {}, name, stop, remove, again, bar);
  return {li, show: (chosen, entry, found) => {
    title.textContent = name.title = job.name;
    line.textContent = line.title = found ? "… " + found.input.slice(found.index, found.index + 80) : state(job).replace(/^transcribing · /, "").replace(/^(finding out who speaks|telling voices apart) · /, "speakers · "); // the bar says it
    line.classList.toggle("bad", job.state === "failed");
    words.textContent = found ? "" : firstWords(job);
    li.className = job.state + (job.paused && !job.stopping ? " paused" : "") + (job === chosen && !picked ? " chosen" : "") + (picked && picked.has(job) ? " picked" : "");
    name.setAttribute("aria-current", job === chosen);
    if (picked) name.setAttribute("aria-pressed", picked.has(job)); else name.removeAttribute("aria-pressed");
    name.tabIndex = job === entry ? 0 : -1;
    stop.hidden = job.state !== "working" && job.state !== "queued";
    again.hidden = !canRetry(job);
    remove.hidden = busy(job) || !!picked;
    for (const b of [stop, again, remove]) b.setAttribute("aria-label", b.title = b.label + " " + job.name);
    bar.hidden = job.state !== "working";
    bar.setAttribute("aria-label", "Progress of " + job.name);
    if (job.progress != null && job.before == null) bar.value = job.progress; else bar.removeAttribute("value");
  }};
}

export const canRetry = job => (job.state === "failed" || job.state === "stopped") && !!(job.sound || job.file) && !["file", "settings", "text"].includes(job.remedy);

// Recordings can be selected to be saved or deleted together: picked has them, and is null when none are to be.
let picked = null, anchor = null, open = null, listed = [], changed = () => {};

export const selected = () => listed.filter(j => picked && picked.has(j));

// select begins to select recordings, or with none ends it, and reports whether that changed anything.
export function select(list) {
  if (!list && !picked) return false;
  picked = list && new Set(list.filter(j => !busy(j)));
  changed();
  return true;
}

// pick adds a recording or takes it away or, with range, adds all from the one before.
function pick(job, range) {
  const from = listed.indexOf(picked ? anchor : open), to = listed.indexOf(job), list = new Set(picked || (from < 0 ? [] : [listed[from]]));
  if (range && from >= 0) for (const j of listed.slice(Math.min(from, to), Math.max(from, to) + 1)) list.add(j);
  else if (!list.delete(job)) list.add(job);
  if (!range) anchor = job; else if (!picked) anchor = open;
  select([...list]);
}

// pattern matches what is searched; null if nothing is.
export function pattern() {
  const typed = $("filter").value.trim();
  return typed ? new RegExp(typed.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "iu") : null;
}

// show shows the recordings in order, and what they take. on has choose, stop, again and remove, all of a recording, and changed.
export function show(jobs, chosen, on) {
  const wanted = pattern(), shown = jobs.filter(j => !wanted || wanted.test(j.name) || wanted.test(j.searched || ""));
  [listed, open, changed] = [shown, chosen, on.changed];
  for (const [id, r] of rows) if (!shown.some(j => j.id === id)) { r.li.remove(); rows.delete(id); }
  const focused = shown.find(j => rows.has(j.id) && rows.get(j.id).li.contains(document.activeElement)), entry = focused || (shown.includes(chosen) ? chosen : shown[0]);
  shown.forEach((job, i) => {
    if (!rows.has(job.id)) rows.set(job.id, row(job, on));
    const r = rows.get(job.id);
    r.show(chosen, entry, wanted && wanted.exec(job.searched || ""));
    if ($("jobs").children[i] !== r.li) $("jobs").insertBefore(r.li, $("jobs").children[i] || null);
  });
  $("filters").hidden = jobs.length < 6 && !wanted;
  const sound = jobs.reduce((n, j) => n + (j.sound || 0), 0), n = jobs.filter(hasSound).length;
  $("kept").textContent = wanted && !shown.length ? "No recording matches." : `${n} ${n === 1 ? "recording" : "recordings"}${sound ? ", " + size(sound) : ""}`;
  $("select").hidden = !jobs.some(j => !busy(j));
  $("picked").hidden = !picked;
  $("kept").parentElement.hidden = !!picked;
  $("jobs").classList.toggle("picking", !!picked);
  $("pickedCount").textContent = selected().length + " selected";
  $("againPicked").hidden = !selected().some(canRetry);
  for (const b of $("picked").querySelectorAll(".some")) b.toggleAttribute("inert", !selected().length);
}

// The list is one stop of the Tab key: arrows go from row to row and to the buttons of a row, Delete deletes.
$("jobs").addEventListener("keydown", e => {
  const li = e.target.closest("li"), lines = [...$("jobs").children], buttons = [...li.querySelectorAll("button")].filter(b => !b.hidden);
  if (e.key.toLowerCase() === "a" && (e.ctrlKey || e.metaKey)) {
    e.preventDefault();
    return select(listed);
  }
  const i = lines.indexOf(li), row = lines[{ArrowUp: i - 1, ArrowDown: i + 1, Home: 0, End: lines.length - 1}[e.key]];
  const to = row ? row.querySelector(".name") : buttons[buttons.indexOf(e.target) + {ArrowLeft: -1, ArrowRight: 1}[e.key]];
  if (e.key === "Delete") {
    (picked ? $("deletePicked") : buttons.find(b => b.label === "Delete"))?.click();
    if (!picked && !li.isConnected) (lines[i + 1] || lines[i - 1])?.querySelector(".name").focus();
  } else if (!to) return;
  else {
    for (const b of $("jobs").querySelectorAll(".name")) b.tabIndex = -1;
    to.closest("li").querySelector(".name").tabIndex = 0;
    to.focus();
    if (row && e.shiftKey) pick(listed[lines.indexOf(row)], true);
  }
  e.preventDefault();
  e.stopPropagation();
});

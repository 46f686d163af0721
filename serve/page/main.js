// The page: what its buttons and keys do.
import {goHome, home, sentence, unreachable} from "./api.js";
import {away, goOn, waitForServer, watch} from "./away.js";
import * as doubts from "./doubts.js";
import {onDrop} from "./drop.js";
import {titleOf} from "./formats.js";
import * as captions from "./captions.js";
import * as edit from "./edit.js";
import * as highlights from "./highlights.js";
import * as jobs from "./jobs.js";
import * as list from "./list.js";
import * as opening from "./opening.js";
import * as pane from "./pane.js";
import * as people from "./people.js";
import * as player from "./player.js";
import * as point from "./point.js";
import * as recording from "./recording.js";
import * as save from "./save.js";
import * as settings from "./settings.js";
import {findPeaks} from "./sound.js";
import * as rows from "./rows.js";
import * as start from "./start.js";
import * as store from "./store.js";
import * as subtitles from "./subtitles.js";
import * as text from "./text.js";
import * as trash from "./trash.js";
import {$, announce, closeMenus, hide} from "./ui.js";

const page = document.title;
const narrow = matchMedia("(max-width: 51.24em)");
let former = null, removed = false, wanting = null; // former: what was open before a recording was begun; removed: whether the last change was to delete recordings; wanting: the recording for which a sound is chosen

// choose shows a recording; on a phone, instead of the list.
function choose(job, stay) {
  const found = list.pattern();
  pane.open(job).then(() => { if (found && found.test(job.searched || "") && job === pane.job() && ready()) edit.openFind($("filter").value.trim()); });
  if (!stay) view("text");
  if (job.state === "failed") hide("bad"); // the pane says it
  refresh();
}

function view(name) {
  if (document.body.dataset.view === name) return;
  document.body.dataset.view = name;
  if (!narrow.matches) return;
  if (name === "text") history.pushState({view: "text"}, "");
  scrollTo(0, 0);
}

// refresh shows the list, and the current work in the page's title.
function refresh() {
  list.show(jobs.jobs, pane.job(), {choose, stop: jobs.stop, again: jobs.again, remove: j => remove([j]), changed: refresh});
  const working = jobs.current();
  document.title = recording.current() ? "● Recording – " + page : working ? [working.place, working.progress && Math.round(working.progress * 100) + " %"].filter(x => x).join(", ") + " – " + page : page;
}

function remove(some) {
  const at = jobs.jobs.indexOf(pane.job());
  trash.remove(some, some.length === 1 ? `“${some[0].name}” was deleted.` : `${some.length} recordings were deleted.`);
  removed = true;
  if (some.includes(pane.job())) {
    const next = jobs.jobs[Math.min(at, jobs.jobs.length - 1)] || null;
    pane.open(next);
    if (!next || narrow.matches) leave();
  }
  refresh();
  ($("jobs").querySelector(".chosen .name") || $("choose0")).focus({preventScroll: true});
}

const leave = () => { if (history.state && history.state.view === "text") history.back(); else view("list"); };

const twin = file => jobs.jobs.find(j => j.sound === file.size && [file.name, titleOf(file)].includes(j.name));

// addFiles opens files, or adds them; those that are in the list already only with again. One of sound may be that of a text. With now,
// they begin at once, as while a recording is made, whose text is read.
async function addFiles(files, text, now = recording.current(), again = false) {
  if (files.length === 1 && start.addScript(files[0])) return;
  const {opened, others} = await opening.open([...files], text), here = again ? [] : others.filter(twin), fresh = jobs.add(others.filter(f => !here.includes(f)));
  const waits = !now && fresh[0], added = [...opened, ...fresh, ...here.map(twin)];
  if (now) jobs.begin(fresh);
  if (waits || added.length && !recording.current()) choose(waits || added[0], !waits && added.length > 1);
  if (waits) $("begin").focus({preventScroll: true});
  if (here.length) announce(here.length > 1 ? here.map(f => f.name).join(", ") + " are in the list already." : `“${here[0].name}” is in the list already` + (pane.job() === twin(here[0]) ? ". Here it is." : "."), {act: ["Add it again", () => addFiles(here, null, now, true)]});
  refresh();
}

// chooseFiles lets the user choose files or, with a recording, its sound.
function chooseFiles(job) {
  wanting = job;
  $("file").click();
}

function record(source) {
  const before = pane.job(), job = recording.record(source);
  if (job) choose(job);
  if (job) former = before;
}

async function sample() {
  try {
    addFiles([new File([await (await fetch("page/sample.mp3")).blob()], "Kennedy 1961.mp3", {type: "audio/mpeg"})], null, true);
  } catch {
    announce(unreachable().message, {bad: true});
  }
}

async function showFailure(e, job) {
  if (e.remedy === "key") { hide("bad"); await settings.askKey(); } // the message is shown in it
  const other = job && job === pane.job() && e.remedy === "file" && jobs.waiting()[0], listed = !narrow.matches || document.body.dataset.view === "list";
  if (other) choose(other, true);
  else if (job && job === pane.job() && !(narrow.matches && listed)) return; // the pane says it
  announce((job ? `“${job.name}”: ` : "") + sentence(e), {bad: true, quiet: !!job && listed && e.remedy !== "key"}); // its row says it
}

// load finds the server, with an API key that was typed.
async function load(typed) {
  try {
    await settings.load();
    hide("bad");
    if (typed) announce("The API key works.");
    if (pane.job()) pane.update(pane.job());
    goOn(); // also with what waited when the page was closed
  } catch (e) {
    if (!away && e.remedy !== "server") showFailure(e); // else a line says it
    if (e.remedy !== "key") waitForServer();
  }
}

const times = () => $("times").getAttribute("aria-pressed") === "true";

function toggleTimes(on) {
  $("times").setAttribute("aria-pressed", on);
  $("text").classList.toggle("timed", on);
  settings.write({times: on});
}

jobs.connect({
  changed: (job, all) => {
    if (all && !jobs.jobs.includes(pane.job())) pane.open(jobs.jobs.includes(former) ? former : jobs.jobs[0] || null);
    pane.update(all ? pane.job() : job);
    recording.show();
    captions.update(job);
    refresh();
  },
  restored: job => {
    choose(job, true);
    $("jobs").querySelector(".chosen .name").focus({preventScroll: true});
  },
  text: (job, from) => {
    captions.text(job, from);
    if (job !== pane.job()) return;
    if (from === undefined) text.show(job); else text.add(job, from);
    if (job.paragraphs.length && job.state !== "live") player.refresh();
  },
  tentative: (...some) => { text.tentative(...some); captions.tentative(...some); },
  level: (job, x) => { if (job.state === "live") player.level(job, x); },
  room: sentence => { $("room").hidden = !sentence; $("room").textContent = sentence; },
  failed: showFailure,
  hold: edit.hold,
  retry: () => load(),
});

point.connect({seek: player.seek, play: player.playFrom, speaker: people.edit, edit: place => {
  if (!ready()) return;
  player.pause();
  edit.toggle(pane.job());
  text.goTo(place);
}});
pane.connect({choose: chooseFiles, record, remove, changed: refresh});
const edited = (job, {undone, message, resume = ""} = {}) => {
  removed = false;
  if (undone) hide("undo"); // its message may offer to undo the same
  if (message) announce(message, {job, undo: () => edit.undo(job)});
  delete job.searched;
  job.resume = resume;
  jobs.save(job, text.editing());
  pane.update(job);
  player.refresh();
  refresh();
};
edit.connect(edited);
people.connect((job, message) => { text.show(job); edited(job, {message, resume: job.resume}); });
subtitles.connect(edited);
highlights.connect(edited);
player.connect(findPeaks, job => jobs.save(job, true));
const tint = () => $("text").classList.toggle("sure", !$("doubts").checked);
const stored = settings.connect(tint, load);
toggleTimes(!!stored.times);
captions.connect(stored.captions);
tint();
$("speed").onchange();
$("where").textContent = home ? "Nothing leaves this computer." : "Sound goes to the computer where Verity runs, and nowhere else.";

for (const id of ["record", "record0", "stopLive"]) $(id).onclick = () => record();
for (const b of document.querySelectorAll("[data-source]")) b.onclick = () => record(b.dataset.source);
$("pauseLive").onclick = recording.pause;
for (const id of ["choose", "choose0"]) $(id).onclick = () => chooseFiles(null);
$("file").onchange = () => {
  addFiles($("file").files, wanting);
  wanting = null;
  $("file").value = ""; // so that the same file can be chosen again
};
for (const id of ["sample", "sample2"]) $(id).onclick = sample;
$("times").onclick = () => toggleTimes(!times());
$("openFind").onclick = () => edit.openFind();
$("undoEdit").onclick = () => edit.undo(pane.job());
$("redoEdit").onclick = () => edit.undo(pane.job(), true);
$("skip").onclick = e => { e.preventDefault(); view("text"); $("text").focus(); };
$("back").onclick = leave;
addEventListener("popstate", e => { document.body.dataset.view = e.state && e.state.view === "text" && pane.job() ? "text" : "list"; });
save.connect(pane.job, times);
$("againPicked").onclick = () => {
  const some = list.selected().filter(list.canRetry);
  list.select(null);
  for (const job of some.reverse()) jobs.again(job); // from the oldest on
};
$("select").onclick = () => list.select([]);
$("selectAll").onclick = () => list.select(jobs.jobs);
$("selectNone").onclick = () => list.select(null);
$("deletePicked").onclick = () => {
  const gone = list.selected();
  list.select(null);
  remove(gone);
};
$("openHelp").onclick = () => $("help").showModal();
$("filter").oninput = async () => {
  for (const j of jobs.jobs) j.searched ??= (j.paragraphs || await store.text(j.id)).map(p => p.text).join(" ");
  refresh();
};

onDrop(files => addFiles(files));

// Keys. Those with a letter do nothing while text is typed.
const typing = e => e.target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName) && e.target.type !== "checkbox";
const writing = e => text.editing() || e.target.closest("#cues");
const ready = () => list.readable(pane.job()), reading = () => ready() && !subtitles.viewed();
const keys = {
  " ": player.toggle, ArrowLeft: () => player.skip(-1), ArrowRight: () => player.skip(1), "<": () => player.faster(-1), ">": () => player.faster(1),
  d: () => doubt(1), r: () => reading() && doubts.confirm(), "/": () => ready() && edit.openFind(), "?": () => $("help").showModal(), e: () => reading() && edit.toggle(pane.job()), h: () => reading() && highlights.toggle(), q: () => reading() && highlights.copyChosen(), t: () => toggleTimes(!times()), c: captions.open, Delete: () => erase(),
};
const shifted = {D: () => doubt(-1), ArrowLeft: () => player.step(-1), ArrowRight: () => player.step(1), ArrowUp: () => player.step(-1, true), ArrowDown: () => player.step(1, true)};
// erase deletes the recording that is open, or those that are selected.
const erase = () => { if (!$("picked").hidden) $("deletePicked").click(); else if (pane.job() && !list.busy(pane.job()) && getSelection().isCollapsed && document.activeElement.matches("body, #text")) remove([pane.job()]); };
const endSearch = () => { $("filter").value = ""; $("filter").blur(); refresh(); };
const doubt = by => reading() && doubts.go(by);
const always = {
  Escape: e => { if (e.target === $("filter")) endSearch(); else if (!closeMenus() && !edit.closeFind() && !list.select(null) && writing(e)) player.toggle(); },
  F4: e => doubt(e.shiftKey ? -1 : 1), F8: () => reading() && doubts.confirm(),
};

document.addEventListener("keydown", e => {
  if (document.querySelector("dialog[open]") || e.altKey || e.isComposing) return;
  if (e.ctrlKey || e.metaKey) {
    const key = e.key.toLowerCase(), field = typing(e) && !e.target.isContentEditable;
    if (key === "enter" && text.editing()) { edit.end(); $("text").focus({preventScroll: true}); }
    else if (/^arrow(left|right)$/.test(key) && writing(e) && !e.shiftKey) player.skip(key === "arrowleft" ? -1 : 1);
    else if (key === "z" && !e.shiftKey && !field && removed) removed = !trash.restore();
    else if ((key === "z" || key === "y") && ready() && !field) edit.undo(pane.job(), key === "y" || e.shiftKey);
    else return;
    return e.preventDefault();
  }
  if (e.key === " " && e.target.closest("button:not(.time), summary")) return; // presses it
  const act = always[e.key] || !typing(e) && ($("letters").checked || e.key === " " || e.key.length > 1) && (e.shiftKey && shifted[e.key] || keys[e.key] || keys[e.key.toLowerCase()]);
  if (!act) return;
  e.preventDefault();
  act(e);
});
addEventListener("beforeunload", e => {
  jobs.expectEnd();
  recording.flush(); // while the browser asks
  if (recording.current() || jobs.current()) e.preventDefault();
});
// After a click with the mouse, Space and the arrows are the player's.
document.addEventListener("click", e => { if (e.detail && e.target.closest(".tools button, #bar button") === document.activeElement) document.activeElement.blur(); });

// Browsers may end a page that is left or hidden.
function leavePage(e) {
  edit.sync();
  rows.sync();
  if (document.activeElement === $("title")) $("title").onchange();
  jobs.leave(e.type === "pagehide");
}
addEventListener("pagehide", e => { leavePage(e); trash.clear(); });
document.addEventListener("visibilitychange", e => { if (document.hidden) leavePage(e); });

await jobs.load();
if (!jobs.jobs.length) goHome().catch(() => {}); // no server
const last = jobs.jobs.find(j => j.id === stored.open);
if (narrow.matches && last && history.state && history.state.view === "text") document.body.dataset.view = "text";
pane.open(narrow.matches && document.body.dataset.view !== "text" ? null : last || jobs.jobs.find(j => j.state === "done") || jobs.jobs[0] || null);
refresh();
watch();
await load();

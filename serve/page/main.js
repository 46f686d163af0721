// The page: a list of recordings, a queue of files, and the microphone.
import {Failure, models, transcribe} from "./api.js";
import {formats, short} from "./formats.js";
import * as history from "./history.js";
import {Live} from "./live.js";
import * as text from "./text.js";

const $ = id => document.getElementById(id);
const page = document.title;
const jobs = []; // newest first
let chosen = null, working = null, live = null, model = null, id = Date.now(), tick = 0;

function showStatus(message, bad) { $("status").textContent = message; $("status").classList.toggle("bad", !!bad); }

// options returns the current values of the fields.
function options() {
  const typed = $("language").value.trim(), low = typed.toLowerCase();
  const known = model && (model.languages || []).find(l => l.code === low || l.name.toLowerCase() === low);
  if (typed && model && model.languages && !known) throw new Failure("“" + typed + "” is not a language of this model. Choose one from the list, or leave it empty.");
  return {model: model ? model.id : "", language: known ? known.code : typed, task: $("task").value, prompt: $("prompt").value.trim(), silence: $("silence").checked,
    assisted: !!model && model.assisted, key: $("key").value};
}

// loadModels fetches the models, and shows what the chosen one can do.
async function loadModels() {
  try {
    const all = await models($("key").value);
    if ($("use").length !== all.length) $("use").replaceChildren(...all.map(m => new Option(m.id)));
    $("uses").hidden = all.length < 2;
    model = all[$("use").selectedIndex];
    if ($("status").classList.contains("bad")) showStatus("");
    if ($("key").value && $("remember").checked) localStorage.setItem("key", $("key").value);
  } catch (e) {
    failed(e);
    return false;
  }
  const known = model.languages || [], n = known.length; // unknown until a model is first used
  $("model").textContent = model.id + " · " + (!n ? "will be loaded when needed" : n > 1 ? n + " languages" : known[0].name) + (model.translates ? " · translates to English" : "");
  $("languages").replaceChildren(...known.map(l => Object.assign(document.createElement("option"), {value: l.name[0].toUpperCase() + l.name.slice(1)})));
  $("language").parentElement.hidden = n === 1;
  $("tasks").hidden = !model.translates && n > 0;
  $("marks").hidden = !model.assisted;
  return true;
}

function failed(e) {
  if (e.remedy === "key") {
    $("keys").hidden = $("remembers").hidden = false;
    $("key").focus();
  }
  showStatus(e.message, true);
}

function add(job) {
  jobs.unshift(Object.assign({segments: [], state: "queued", id: id++}, job));
  return jobs[0];
}

function files(list) {
  let o;
  try {
    o = options();
  } catch (e) {
    return failed(e);
  }
  const added = [...list].map(file => add({name: file.name, file, options: o, task: o.task}));
  if (!added.length) return;
  if (!live) choose(added[0]);
  if (!live && !working) showStatus("");
  next();
}

// next transcribes the oldest waiting file.
async function next() {
  const job = !working && jobs.findLast(j => j.state === "queued");
  if (!job) return list();
  working = job;
  Object.assign(job, {state: "working", segments: [], error: "", progress: null, abort: new AbortController(), began: performance.now()});
  if (job === chosen) choose(job);
  list();
  try {
    await transcribe(job.file, job.file.name || job.name, {...job.options, key: $("key").value}, job.abort.signal, e => event(job, e));
    job.state = "done";
    showStatus(job.segments.length ? `${job.name}: done in ${((performance.now() - job.began) / 1000).toFixed(1)} s.` : `${job.name}: no speech was found.`);
    if (job.segments.length) history.save(job);
  } catch (e) {
    job.state = e.name === "AbortError" ? "stopped" : "failed";
    job.error = e.name === "AbortError" ? "" : e instanceof Failure ? e.message : "This page failed: " + e.message;
    if (e.remedy) failed(e);
    else if (e.name !== "AbortError") showStatus(""); // the recording shows it, with a button to try again
  }
  working = null;
  if (job === chosen) choose(job);
  next();
}

function event(job, e) {
  switch (e.type) {
    case "waiting":
      job.before = e.before;
      break;
    case "verity.progress":
      job.before = null;
      job.progress = e.total > 0 ? e.done / e.total : 1;
      break;
    case "transcript.text.segment":
      job.segments.push(e);
      text.add(job, e);
      break;
    case "transcript.text.done":
      Object.assign(job, {language: e.language, duration: e.duration, lost: e.damaged ? ", damaged in places" : e.truncated ? ", cut short" : ""});
  }
  list();
}

// left estimates the remaining time, once enough is done.
function left(job) {
  const took = (performance.now() - job.began) / 1000;
  if (!job.progress || took < 3 || job.progress < 0.05) return "";
  return ", " + short(Math.ceil(took / job.progress * (1 - job.progress))) + " left";
}

const states = {
  queued: () => "waiting",
  working: j => j.before != null ? `waiting for the server, ${j.before} before it` : Math.round((j.progress || 0) * 100) + " %" + left(j),
  live: () => "live", done: j => (j.duration ? short(j.duration) : "done") + (j.lost || ""), stopped: () => "stopped", failed: j => j.error,
};

// list shows the recordings, and the current work in the page's title.
function list() {
  $("jobs").hidden = !jobs.length;
  $("welcome").hidden = !!jobs.length || !model;
  const focused = document.activeElement && document.activeElement.dataset.key;
  $("jobs").lastElementChild.replaceChildren(...jobs.map(j => {
    const li = document.createElement("li");
    const button = (label, name, f, kind) => {
      const b = Object.assign(document.createElement("button"), {textContent: label, onclick: f, className: kind || "quiet"});
      b.dataset.key = j.id + label;
      if (name) b.setAttribute("aria-label", name);
      li.append(b);
      return b;
    };
    li.classList.toggle("chosen", j === chosen);
    button(j.name, "", () => choose(j), "name").setAttribute("aria-current", j === chosen);
    li.append(Object.assign(document.createElement("span"), {className: "state" + (j.state === "failed" ? " bad" : ""), textContent: states[j.state](j)}));
    if (j.state === "working" || j.state === "queued") button("Stop", "Stop " + j.name, () => stop(j));
    if ((j.state === "failed" || j.state === "stopped") && j.file && j.options) button("Try again", "Try again: " + j.name, () => again(j));
    if (j.state !== "working" && j.state !== "live" && j.state !== "queued") button("Forget", "Forget " + j.name, () => forget(j));
    if (j.state === "working") li.append(Object.assign(document.createElement("progress"), {max: 1, ariaLabel: "Progress of " + j.name}, j.progress != null && {value: j.progress}));
    return li;
  }));
  const back = focused && document.querySelector(`[data-key="${CSS.escape(focused)}"]`);
  if (back) back.focus();
  document.title = live ? "● Recording – " + page : working ? Math.round((working.progress || 0) * 100) + " % – " + page : page;
}

function stop(job) {
  if (job === working) return job.abort.abort();
  job.state = "stopped";
  list();
}

function again(job) {
  try {
    job.options = options();
  } catch (e) {
    return failed(e);
  }
  Object.assign(job, {state: "queued", error: "", task: job.options.task});
  choose(job);
  next();
}

function forget(job) {
  jobs.splice(jobs.indexOf(job), 1);
  history.remove(job.id);
  if (job === chosen) choose(jobs[0] || null);
  list();
}

function choose(job) {
  if ($("edit").getAttribute("aria-pressed") === "true") $("edit").click(); // saves the changes
  const other = job !== chosen;
  chosen = job;
  $("result").hidden = !job || !job.segments.length && job.state !== "live" && job.state !== "working";
  if (!job) return list();
  $("title").textContent = job.name;
  $("result").querySelector(".tools").hidden = !job.segments.length || job.state === "live" || job.state === "working";
  if (other || job.url === undefined) {
    URL.revokeObjectURL($("player").src);
    job.url = job.file ? URL.createObjectURL(job.file) : "";
    $("player").src = job.url;
  }
  $("player").hidden = !job.file;
  if (other || job.state !== "working" || !job.segments.length) text.show(job);
  list();
}

function record() {
  if (live) return live.stop();
  let o;
  try {
    o = options();
  } catch (e) {
    return failed(e);
  }
  const now = new Date(), pad = n => String(n).padStart(2, "0");
  const job = add({name: `Recording ${now.getFullYear()}-${pad(now.getMonth() + 1)}-${pad(now.getDate())} ${pad(now.getHours())}-${pad(now.getMinutes())}`, state: "live", task: "transcriptions"});
  choose(job);
  showStatus("Asking for the microphone …");
  const button = label => { $("recordText").textContent = label; $("record").classList.toggle("live", label !== "Record"); };
  live = new Live(job, o, {
    level: x => { $("level").hidden = !x; $("level").firstElementChild.style.width = 100 * x + "%"; },
    began: () => {
      showStatus(o.task === "translations" ? "Speak now. Live text is in the language that is spoken." : "Speak now.");
      const began = performance.now();
      tick = setInterval(() => button("Stop " + short((performance.now() - began) / 1000)), 250);
      button("Stop 0:00");
      text.follow();
    },
    text: s => text.add(job, s),
    tentative: t => text.tentative(job, t),
    delay: (s, behind) => { if (!live.stopping) showStatus(`${behind ? "The server is busy: text" : "Text"} comes ${s.toFixed(1)} s after the words.`); },
    ended: e => {
      clearInterval(tick);
      live = null;
      button("Record");
      delete job.url;
      job.state = e ? "failed" : "done";
      if (e) job.error = e.message;
      showStatus(e ? "" : job.segments.length ? "Done." : "No speech was found.");
      if (e && e.remedy) failed(e);
      if (job.segments.length) history.save(job);
      else if (!e) jobs.splice(jobs.indexOf(job), 1);
      choose(jobs.includes(job) ? job : jobs[0] || null);
    },
  });
  list();
  live.start();
}

async function save(format) {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(new Blob([formats[format](chosen)], {type: "text/plain"}));
  a.download = chosen.name.replace(/\.[^.\s]{1,5}$/, "") + "." + format;
  a.click();
  showStatus("Saved " + a.download + ".");
}

$("record").onclick = record;
$("file").onchange = () => {
  files($("file").files);
  $("file").value = ""; // so that the same file can be chosen again
};
$("key").onchange = $("use").onchange = loadModels;
$("keys").onsubmit = e => { e.preventDefault(); loadModels(); };
$("remember").onchange = () => $("remember").checked ? localStorage.setItem("key", $("key").value) : localStorage.removeItem("key");
$("mark").onchange = () => $("text").classList.toggle("marked", $("mark").checked);
$("copy").onclick = async () => {
  const all = formats.txt(chosen);
  try {
    await navigator.clipboard.writeText(all);
  } catch { // without https
    const area = document.body.appendChild(Object.assign(document.createElement("textarea"), {value: all}));
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  showStatus("Copied.");
};
$("forget").onclick = () => {
  for (const j of [...jobs]) if (!["working", "live", "queued"].includes(j.state)) forget(j);
  history.clear();
  showStatus("Forgotten.");
};
for (const b of document.querySelectorAll("[data-format]")) b.onclick = () => save(b.dataset.format);
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, e => {
    e.preventDefault();
    document.body.classList.toggle("over", kind === "dragover");
    if (kind === "drop") files(e.dataTransfer.files);
  });
}
addEventListener("beforeunload", e => { if (live || working) e.preventDefault(); });
text.connect(job => { history.save(job); showStatus("Changed. Words in a changed segment play together."); });
if (localStorage.getItem("key")) {
  $("key").value = localStorage.getItem("key");
  $("keys").hidden = $("remembers").hidden = false;
  $("remember").checked = true;
}
await loadModels();
for (const old of await history.all()) if (!jobs.some(j => j.id === old.id)) jobs.push({...old, state: "done"});
list();

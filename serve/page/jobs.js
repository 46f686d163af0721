// The recordings: a queue of files, the microphone, and what is stored of them.
import {Failure, transcribe} from "./api.js";
import {remember, stateOf, versionOf} from "./history.js";
import {Live} from "./live.js";
import {append} from "./paragraphs.js";
import * as settings from "./settings.js";
import * as store from "./store.js";
import * as trash from "./trash.js";
import {announce, size} from "./ui.js";
import {peaksOf} from "./wave.js";

export const jobs = []; // newest first; files that were chosen together in the order chosen
const saveEach = 2000; // ms between two writes of a text that is still coming
const nearlyFull = 0.8; // of the browser's room

const undoable = 120000; // ms in which what was deleted can come back

let working = null, live = null, id = Date.now(), turn = 0;
let on = null; // changed(job), text(job, first changed paragraph; none: another text), tentative(job, text), level(job, 0 … 1),
// began(job), stopping(job), room(sentence), failed(failure)

export function connect(handlers) {
  on = handlers;
  trash.connect(jobs, job => { if (job) on.changed(job, true); checkRoom(); });
  store.connect(sentence => announce(sentence, {bad: true}));
  addEventListener("pagehide", () => { jobs.forEach(flush); trash.clear(); });
  document.addEventListener("visibilitychange", () => { if (document.hidden) jobs.forEach(flush); });
}

export const recording = () => live;
export const current = () => working;

// load reads the stored recordings. Those whose page ended amid work say so.
export async function load() {
  const elsewhere = await store.locked();
  for (const job of await store.all()) {
    if (["queued", "working", "live"].includes(job.state)) {
      if (elsewhere(job)) job.state = "elsewhere"; else await interrupted(job);
    }
    jobs.push(job);
  }
  jobs.sort((a, b) => b.created - a.created || a.id - b.id);
  checkRoom();
}

async function interrupted(job) {
  const paragraphs = await store.text(job.id), last = paragraphs[paragraphs.length - 1], sound = await store.sound(job);
  const live = job.state === "live";
  Object.assign(job, {state: live || paragraphs.length ? "done" : "stopped", sound: sound ? sound.size : 0, lost: ", cut off", peaks: live ? null : job.peaks});
  if (!job.duration && last) job.duration = last.words[last.words.length - 1].end;
  if (job.state === "stopped") job.error = "the page was closed before this was done";
  store.save(job);
}

// save stores a recording: at once, or soon while its text is still coming.
export function save(job, soon) {
  if (soon) {
    job.saving ||= setTimeout(() => flush(job), saveEach);
    return;
  }
  flush(job, true);
}

function flush(job, always) {
  if (!job.saving && always !== true) return;
  clearTimeout(job.saving);
  job.saving = 0;
  if (!job.gone) store.save(job);
}

// checkRoom says when the browser's room is nearly full.
async function checkRoom() {
  const room = await trash.room();
  on.room(trash.full(room) ?
    `The room for recordings in this browser is ${Math.round(100 * room.used / room.limit)}\u00a0% full: ${size(room.used)} of ${size(room.limit)}. Delete recordings that you no longer need.` : "");
}

function create(job) {
  return Object.assign({id: id++, created: Date.now(), paragraphs: [], task: "transcriptions"}, job);
}

// add adds files to the queue and returns their recordings.
export function add(list) {
  const options = settings.options(), created = Date.now();
  const added = [...list].map((file, i) => create({name: file.name, file, kind: file.type, created, options, task: options.task, place: list.length > 1 ? `${i + 1} of ${list.length}` : ""}));
  jobs.unshift(...added);
  for (const job of added) enqueue(job);
  storeSounds(added);
  next();
  return added;
}

function enqueue(job) {
  Object.assign(job, {state: "queued", turn: turn++, error: "", remedy: "", lost: "", progress: null});
  store.lock(job);
  save(job);
}

async function storeSounds(added) {
  store.persist();
  for (const job of added) {
    const room = await trash.room();
    if (room && room.used + job.file.size > 0.95 * room.limit) {
      announce(`There is no room in this browser for the sound of “${job.name}” (${size(job.file.size)}). Its text is kept.`, {bad: true});
    } else if (await store.addSound(job, 0, job.file)) job.sound = job.file.size;
    job.note = job.sound ? "" : "its sound is not kept";
    if (job.gone) store.remove([job.id]); // meanwhile
    else save(job);
    on.changed(job);
  }
  checkRoom();
}

// sound returns the sound of a recording, or null.
export const sound = async job => job.file ||= job.sound ? await store.sound(job) : null;

// open reads the text and the sound of a recording, and finds its peaks.
export async function open(job) {
  job.paragraphs ||= await store.text(job.id);
  job.versions = job.storedVersions ||= await store.versions(job.id);
  await sound(job);
}

export async function findPeaks(job, duration) {
  if (job.lost && Math.abs(duration - job.duration) > 0.5) { // the page that recorded it could not tell
    job.duration = duration;
    save(job);
    on.changed(job);
  }
  if (job.peaks || job.peaking) return;
  job.peaking = true; // also stays after a failure, until the page is opened again
  const peaks = await peaksOf(job.file, duration).catch(() => null);
  if (!peaks) return;
  job.peaks = peaks;
  save(job);
  on.changed(job);
}

// next transcribes the first waiting file.
async function next() {
  const job = !working && jobs.filter(j => j.state === "queued").sort((a, b) => a.turn - b.turn)[0];
  if (!job) return;
  working = job;
  const {from, paragraphs, former} = job, same = former && former.options && former.options.speakers === job.options.speakers;
  Object.assign(job, {state: "working", paragraphs: from ? structuredClone(paragraphs) : [], names: from || same ? job.names : null, progress: null, before: null, gaps: null, named: null, uploading: true, abort: new AbortController(), began: performance.now()});
  on.changed(job);
  on.text(job);
  try {
    if (!await sound(job)) throw new Failure("The sound of this recording is no longer here. Choose the file again.", "file");
    await transcribe(job.file, job.file.name || job.name, {...job.options, from, key: settings.key()}, job.abort.signal, e => event(job, e));
    job.state = "done";
    finished(job);
  } catch (e) {
    const stopped = e.name === "AbortError";
    Object.assign(job, {state: stopped ? "stopped" : "failed", error: stopped ? "" : e instanceof Failure ? e.message : "This page failed: " + e.message, remedy: e.remedy || ""});
    if (former && !(from && stopped)) restore(job, stopped);
    else if (stopped && job.paragraphs.length) Object.assign(job, {state: "done", lost: ", stopped", error: ""});
    if (!stopped) on.failed(e, job);
  }
  working = null;
  delete job.former;
  delete job.from;
  store.unlock(job);
  save(job);
  on.changed(job);
  next();
}

function finished(job) {
  const took = ((performance.now() - job.began) / 1000).toFixed(1), {former, from} = job;
  if (former) {
    remember(job, former);
    if (!from) job.versions = [...former.versions || [], versionOf(former)];
    job.edited = !!from && former.edited;
  }
  announce(`${job.name}: ` + (job.paragraphs.length ? `done in ${took} s.` : "no speech was found.") + (former && !from ? " The version from before is kept." : ""));
}

function restore(job, stopped) {
  const why = job.error;
  Object.assign(job, job.former);
  on.text(job);
  if (!stopped) announce(why + " The text from before is back.", {bad: true});
}

function event(job, e) {
  job.uploading = false;
  switch (e.type) {
    case "waiting":
      job.before = e.before;
      break;
    case "verity.progress":
      job.before = null;
      job.progress = e.total > 0 ? e.done / e.total : 1;
      job.duration = e.total;
      break;
    case "verity.segment":
      on.text(job, append(job.paragraphs, e));
      save(job, true);
      break;
    case "transcript.text.delta":
      job.logprobs = e.logprobs; // of the segment that follows
      return;
    case "transcript.text.segment":
      if (job.options.speakers) append(job.named ||= [], {...e, logprobs: job.logprobs}); // all come at the end
      else on.text(job, append(job.paragraphs, {...e, logprobs: job.logprobs}));
      delete job.logprobs;
      save(job, true);
      break;
    case "transcript.text.done":
      if (job.named) {
        job.paragraphs = job.named;
        on.text(job);
      }
      Object.assign(job, {language: e.language, duration: e.duration, gaps: e.gaps, lost: e.damaged ? ", damaged in places" : e.truncated ? ", cut short" : ""});
  }
  on.changed(job);
}

export function stop(job) {
  if (live && job === live.job) return live.stop();
  if (job === working) return job.abort.abort();
  if (job.former) restore(job, true);
  else job.state = "stopped";
  delete job.former;
  delete job.from;
  store.unlock(job);
  save(job);
  on.changed(job);
}

// again transcribes a recording again, with the settings of now and what is asked for: a language, speakers, the second to
// begin from, before which the text stays.
export function again(job, {from, ...wanted} = {}) {
  if (job.state === "done" && job.paragraphs && job.paragraphs.length) job.former = {...stateOf(job), state: "done"};
  job.from = from;
  job.place = "";
  job.options = {...settings.options(), ...wanted};
  job.task = job.options.task;
  enqueue(job);
  on.changed(job);
  next();
}

// record begins a recording; again, it ends the one that is being made.
export function record() {
  if (live) return live.stop();
  const options = {...settings.options(), key: settings.key()}, now = new Date(), pad = n => String(n).padStart(2, "0");
  const job = create({name: `Recording ${pad(now.getHours())}.${pad(now.getMinutes())}`, state: "live", peaks: []});
  jobs.unshift(job);
  announce("Asking for the microphone …");
  live = new Live(job, options, {
    level: x => on.level(job, x),
    began: () => {
      job.began = performance.now();
      store.lock(job);
      save(job);
      store.persist();
      announce(options.task === "translations" ? "Speak now. Live text is in the language that is spoken." : "Speak now.");
      on.began(job);
    },
    text: from => { on.text(job, from); save(job, true); },
    tentative: t => on.tentative(job, t),
    delay: (s, behind) => { if (!live.stopping) announce(`${behind ? "The server is busy: text" : "Text"} comes ${s.toFixed(1)} s after the words.`); },
    unstored: sentence => announce(sentence, {bad: true}),
    stopping: () => { on.stopping(job); on.changed(job); },
    ended: e => ended(job, e),
  });
  live.start();
  on.changed(job);
  return job;
}

function ended(job, e) {
  live = null;
  delete job.stopping;
  store.unlock(job);
  Object.assign(job, {state: e && !job.paragraphs.length ? "failed" : "done", error: e ? e.message : "", remedy: e && e.remedy || "", lost: e ? ", cut off" : ""});
  if (e) on.failed(e); else announce(job.paragraphs.length ? "Done." : "No speech was found.");
  if (job.file || job.paragraphs.length || e) save(job);
  else jobs.splice(jobs.indexOf(job), 1);
  on.changed(job, true);
}

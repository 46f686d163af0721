// The recordings: a queue of files, the microphone, and what is stored of them.
import {punctuated} from "./align.js";
import {Failure, sentence, transcribe} from "./api.js";
import {away, lose, mostLosses} from "./away.js";
import * as elsewhere from "./elsewhere.js";
import {remember, stateOf, versionOf} from "./history.js";
import {short, titleOf, versionsAt} from "./formats.js";
import {append, capital, withSpeakers} from "./paragraphs.js";
import * as settings from "./settings.js";
import {checkRoom, sound, storeSounds} from "./sound.js";
import * as store from "./store.js";
import * as trash from "./trash.js";
import {announce} from "./ui.js";

export const jobs = []; // newest first; files that were chosen together in the order chosen
const saveEach = 2000; // ms between two writes of a text that is still coming

let working = null, id = Date.now(), turn = 0;
export let ending = false; // the page is about to end
export let on = null; // changed(job), text(job, first changed paragraph; none: another text), tentative(job, text, begins), level(job, 0 … 1),
// restored(job), room(sentence), failed(failure), retry(), when the server may be back, hold(job), which is edited

export function connect(handlers) {
  on = handlers;
  trash.connect(jobs, job => { if (job) on.restored(job); checkRoom(); });
  store.connect(sentence => announce(sentence, {bad: true}), elsewhere.merged, elsewhere.update);
}

// expectEnd is called when the page is about to end, which ends its connections: that is no failure.
export function expectEnd() {
  ending = true;
  setTimeout(() => { ending = false; }, 3000); // the user may have stayed
}

// leave stores everything, as the page may end now, or ends.
export function leave(ends) {
  if (ends && working) store.changed(Object.assign(working, {losses: (working.losses || 0) - 1})); // which is no fault of the file
  jobs.filter(job => job.saving).forEach(flush);
  store.journal();
}

export const current = () => working;

// load reads the stored recordings.
export async function load() {
  const locked = await store.locked();
  for (const job of await store.all()) {
    if (["queued", "working", "live"].includes(job.state)) {
      if (locked(job)) job.state = "elsewhere"; else await interrupted(job);
    }
    jobs.push(job);
  }
  jobs.sort((a, b) => b.created - a.created || a.id - b.id);
  checkRoom();
}

// interrupted is called with a recording amid whose work the page ended. A file goes on by itself, unless that happened several times.
async function interrupted(job) {
  const paragraphs = await store.text(job.id), last = paragraphs[paragraphs.length - 1], sound = await store.sound(job), live = job.state === "live";
  if (job.state === "working") job.losses = (job.losses || 0) + 1;
  const goesOn = !live && !!sound && (job.losses || 0) < mostLosses;
  if (goesOn && !last) {
    store.lock(job);
    return Object.assign(job, {state: "queued", turn: turn++});
  }
  // kept: the text is whole, and was being written again, as that of a recording is
  Object.assign(job, {state: live || last ? "done" : "stopped", sound: sound ? sound.size : 0, lost: job.kept ? job.lost : "cut", peaks: live ? null : job.peaks, resume: !sound ? "" : live ? "sound" : !goesOn ? "" : job.kept ? "again" : "rest", kept: false});
  if (!job.duration && last) job.duration = last.words[last.words.length - 1].end;
  job.left = live; // unstored: the user may want to go on
  if (job.state === "stopped") job.error = "The page was closed before this was done.";
  store.save(job);
}

// save stores a recording: at once, or soon while its text is still coming.
export function save(job, soon) {
  if (!soon) return flush(job);
  store.changed(job);
  job.saving ||= setTimeout(() => flush(job), saveEach);
}

function flush(job) {
  clearTimeout(job.saving);
  job.saving = 0;
  if (job.former) job.corrected = job.kept && job.former.paragraphs !== job.paragraphs;
  if (!job.gone) store.save(job);
}

export const create = job => Object.assign({id: id++, created: Date.now(), paragraphs: [], task: "transcriptions"}, job);

// add adds files and returns their recordings, which wait to be begun.
export function add(list) {
  const created = Date.now();
  const added = [...list].map((file, i) => create({name: titleOf(file), file, kind: file.type, created, state: "new", place: list.length > 1 ? `${i + 1} of ${list.length}` : ""}));
  jobs.unshift(...added);
  for (const job of added) save(job);
  if (added.length) storeSounds(added);
  return added;
}

// begin adds recordings to the queue, with the settings of now and more options.
export function begin(list, more) {
  const options = {...settings.options(), ...more};
  for (const job of list) {
    Object.assign(job, {options, task: options.task});
    enqueue(job);
    on.changed(job);
  }
  next();
}

// change lets the user change the options of a recording that has no text.
export function change(job) {
  Object.assign(job, {state: "new", error: "", remedy: "", lost: ""});
  save(job);
  on.changed(job);
}

function enqueue(job, at = turn++) {
  Object.assign(job, {state: "queued", turn: at, error: "", remedy: "", lost: job.kept ? job.lost : "", progress: null, resume: ""});
  store.lock(job);
  save(job);
}

// open reads the text and the sound of a recording.
export async function open(job) {
  if (!job.paragraphs) Object.assign(job.base ||= {}, {paragraphs: job.paragraphs = await store.text(job.id)});
  job.versions = job.storedVersions ||= await store.text([job.id]);
  await sound(job);
}

// waiting returns the files that wait, in order.
export const waiting = () => jobs.filter(j => j.state === "queued").sort((a, b) => a.turn - b.turn);

// next transcribes the first waiting file.
export async function next() {
  const job = !working && !away && waiting()[0];
  if (!job) return;
  working = job;
  if (job.options && !job.options.model) job.options = {...job.options, ...settings.options(), task: job.task}; // it was added before the server was there
  const {from, kept, options, apart} = job;
  let later = "";
  Object.assign(job, {state: "working", progress: null, stage: "", before: null, named: null, first: null, uploading: true, abort: new AbortController(), began: performance.now()});
  if (kept) job.fresh = [];
  else Object.assign(job, {paragraphs: from ? structuredClone(job.paragraphs) : [], names: from ? job.names : null, gaps: null, damaged: null, differences: null});
  save(job); // a file at which the page ends is not begun again with the page
  on.changed(job);
  if (!kept) on.text(job);
  try {
    if (!await sound(job)) throw new Failure("The sound of this recording is no longer here. Choose the file again.", "file");
    await transcribe(job.file, job.file.name || job.name, {...options, from, key: settings.key()}, job.abort.signal, e => event(job, e));
    Object.assign(job, {options}, !apart && {task: options.task}); // undoing may have changed them
    finished(job);
    later = options.later;
  } catch (e) {
    if (ending) return;
    const stopped = e.name === "AbortError";
    if (e.remedy === "server") {
      working = null;
      return lose(job);
    }
    Object.assign(job, {state: stopped ? "stopped" : "failed", error: stopped ? "" : sentence(e), remedy: e.remedy || ""});
    if (e.remedy === "file") job.name = job.file?.name || job.name; // its ending may say why
    if (kept) restore(job, stopped);
    else if (from || job.paragraphs.length) Object.assign(job, {state: "done", lost: stopped ? "stopped" : "cut", remedy: ""});
    if (!stopped) on.failed(e, job);
  }
  working = null;
  release(job);
  save(job);
  on.changed(job);
  if (later && job.paragraphs.length) again(job, {...job.options, later: "", speakers: later, apart: true}); // behind the others
  next();
}

// release ends the work on a recording.
export function release(job) {
  for (const member of ["former", "from", "fresh", "named", "apart", "corrected"]) delete job[member];
  job.kept = false;
  store.unlock(job);
}

function finished(job) {
  const show = job.editing ? on.hold(job) : () => on.text(job);
  const took = (performance.now() - job.began) / 1000, {former, fresh, named, apart} = job, voices = new Set((named || []).map(p => p.speaker ?? null)).size, asked = +job.options.speakers;
  const heard = !named?.length || voices === 1 && !asked && !apart ? "" : (voices > 1 ? voices + " speakers were found" : "one voice was heard") + (asked && asked !== voices ? `, though you asked for ${asked}` : "");
  if (voices === 1) for (const p of named) delete p.speaker; // one voice needs no name
  let found = named || fresh || job.paragraphs;
  job.state = "done";
  const same = fresh && job.paragraphs === former.paragraphs, corrected = fresh && (job.editing || !same); // while it was written again
  if (fresh && !found.length) {
    restore(job, true);
    return announce(`“${job.name}”: no speech was heard this time. The text stays as it is.`);
  }
  if (corrected && !apart) {
    const version = {...versionOf(stateOf(job)), paragraphs: found, names: null, live: false, edited: false};
    restore(job, true);
    job.versions = [...job.versions || [], version];
    return announce(`“${job.name}”: ${same ? "you are editing the text" : "you have corrected the text"}, so it stays. The new one is in the ${versionsAt}.`);
  }
  if (!apart) Object.assign(job, {missed: false, live: job.live && !!(fresh || job.from)});
  if (fresh) {
    if (!former.options || former.options.speakers !== job.options.speakers) job.names = null;
    if (apart) found = withSpeakers(job.paragraphs, found);
    else Object.assign(job, {versions: [...former.versions || [], versionOf(former)], live: false});
  }
  if (former) {
    remember(job, {...former, ...fresh && {paragraphs: job.paragraphs}});
    job.edited = (!fresh || apart) && (!!former.edited || corrected);
  }
  if (former?.live && found.length) {
    found = punctuated(found, former.paragraphs);
    found[0].text = capital(found[0].text); // as the live text has it
  }
  job.paragraphs = found;
  if (!found.length && !job.lost) job.lost = "silent";
  if (fresh || named) show();
  if (fresh && apart) return announce(`“${job.name}”: ${heard}.`);
  announce(`“${job.name}”: ` + (found.length ? `done in ${took < 60 ? took.toFixed(1) + "\u00a0s" : short(took) + "\u00a0min"}${heard && "; " + heard}.` : "no speech was found.") + (!fresh ? "" : ` The ${former.live ? "live text" : "version from before"} is kept.`));
}

// restore ends an attempt at another text: the recording is again what it was, with what was corrected meanwhile.
export function restore(job, stopped) {
  const why = job.error, {name, paragraphs, names, versions, edited, highlights} = job;
  Object.assign(job, job.former, {name, paragraphs, names, versions, edited, highlights});
  if (!stopped) announce(`“${name}”: ${why} The text stays as it was.`, {bad: true});
}

function event(job, e) {
  const add = segment => {
    const first = append(job.fresh || job.paragraphs, segment);
    if (job.fresh) return; // the text from before is shown until this one is whole
    job.losses = 0; // what comes next goes on from here
    on.text(job, first);
    save(job, true);
  };
  job.uploading = false;
  if (e.type === "transcript.text.delta") return job.logprobs = e.logprobs; // of the segment that follows
  ({
    reading: () => { job.note ||= e.warning; },
    waiting: () => { job.before = e.before; },
    "verity.progress": () => {
      Object.assign(job, {before: null, progress: e.total > 0 ? e.done / e.total : 1, duration: e.total, stage: e.stage});
      job.first ??= {at: performance.now(), progress: job.progress};
    },
    "verity.segment": () => add(e),
    "transcript.text.segment": () => {
      const segment = {...e, logprobs: job.logprobs, fixed: /-->/.test(job.options.align)}; // subtitles that are given stay as they are
      if (job.options.speakers) append(job.named ||= [], segment); else add(segment); // with speakers, all come at the end
      delete job.logprobs;
    },
    "transcript.text.done": () => Object.assign(job, {language: e.language, duration: e.duration, gaps: e.gaps, damaged: e.damaged, differences: e.differences, lost: e.damaged ? "damaged" : e.truncated ? "short" : ""}),
  })[e.type]?.();
  on.changed(job);
}

export function stop(job) {
  if (job.session) return job.session.stop();
  if (job === working) return job.abort.abort();
  if (job.former) restore(job, true);
  else job.state = "stopped";
  release(job);
  save(job);
  on.changed(job);
}

// again transcribes a recording again, with its own options, or else the settings of now, and what is asked for: a language, speakers, the second to
// begin from, before which the text stays; or, with apart, only who speaks. The text from before is shown, and stored, until
// the new one is whole. With at, its place in the queue, an attempt goes on at which the page or the server ended.
export function again(job, {from, apart, at, ...wanted} = {}) {
  if (at === undefined) Object.assign(job, {losses: 0, place: "", corrected: false});
  if (job.state === "done" && job.paragraphs && job.paragraphs.length) job.former = {...stateOf(job), state: "done", ...job.corrected && {paragraphs: [...job.paragraphs]}}; // no longer the same
  Object.assign(job, {from, apart});
  job.kept = !!job.former && !from;
  job.options = {...settings.options(), ...job.options, later: "", ...wanted};
  if (from || apart) job.options.align = ""; // of the whole
  if (!job.kept) job.task = job.options.task;
  enqueue(job, at);
  on.changed(job);
  next();
}

// Recordings in this browser's IndexedDB, until the user deletes them. Three stores: jobs has what the list shows, texts
// the paragraphs by id and other versions by [id], and sounds pieces of sound by id and number, so that text that is still coming need not be
// written together with hours of sound.
import {firstWords} from "./formats.js";
import {merge} from "./tabs.js";

const version = 2;
const members = ["id", "created", "name", "state", "error", "remedy", "language", "duration", "task", "lost", "gaps", "damaged", "differences", "highlights", "options", "names", "rules", "subtitleNames", "peaks", "kind", "sound", "note", "gone", "edited", "live", "kept", "heard", "missed", "corrected", "resume", "losses", "apart", "place", "revision"];
const unsaved = new Map(); // by id: the recording, and the number of its last change, which IndexedDB may not have yet
const journalKey = "unsaved "; // before an id, in localStorage
let database = null, failed = null, merged = null, changes = 0;

// whenFull is called with a sentence when something could not be stored; whenMerged with a recording that another tab
// changed, and whether that text became a version; whenChanged with the id of each that another tab stored or deleted.
export function connect(whenFull, whenMerged, whenChanged) {
  [failed, merged] = [whenFull, whenMerged];
  channel.onmessage = e => whenChanged(e.data);
}

function open() {
  return database ||= new Promise((yes, no) => {
    const r = indexedDB.open("verity", version);
    r.onupgradeneeded = () => {
      r.result.createObjectStore("jobs", {keyPath: "id"});
      for (const s of ["texts", "sounds"]) r.result.createObjectStore(s);
    };
    r.onsuccess = () => { r.result.onversionchange = () => { r.result.close(); database = null; }; yes(r.result); };
    r.onerror = () => { database = null; no(r.error); };
  });
}

// transact runs work in a transaction, and returns the result of the request that it returns.
async function transact(stores, mode, work) {
  const db = await open();
  return new Promise((yes, no) => {
    const t = db.transaction(stores, mode), r = work(...stores.map(s => t.objectStore(s)));
    t.oncomplete = () => yes(r && r.result);
    t.onerror = t.onabort = () => no(t.error || new DOMException("", "QuotaExceededError"));
  });
}

// write reports failures in a sentence, and returns whether there was none.
async function write(stores, work, what) {
  try {
    await transact(stores, "readwrite", work);
    return true;
  } catch (e) {
    failed(e && e.name === "QuotaExceededError" ? `There is no room in this browser for ${what}. Delete recordings, or save them as files.` :
      `This browser does not keep ${what}: it forbids storage, as in a private window. Save it as a file before you close the page.`);
    return false;
  }
}

const channel = new BroadcastChannel("verity"); // of all tabs

const range = id => IDBKeyRange.bound([id], [id, []]);

export const record = job => ({...Object.fromEntries(members.map(m => [m, job[m] ?? null])), begins: firstWords(job)});

// changed notes that a recording has a change that is not stored.
export function changed(job) { unsaved.set(job.id, {job, change: ++changes}); }

// save writes a recording: what the list shows, and its text if there is one in memory.
export async function save(job) {
  changed(job);
  const {change} = unsaved.get(job.id);
  let outcome = "", versions;
  const stored = await write(["jobs", "texts"], (jobs, texts) => {
    const put = old => {
      job.revision = (old && old.revision || 0) + 1;
      versions = job.versions;
      if (job.paragraphs) texts.put(job.paragraphs, job.id);
      if (versions !== job.storedVersions) texts.put(versions, [job.id]);
      jobs.put(record(job));
      job.base = {...record(job), paragraphs: job.paragraphs}; // from which this tab's changes are told
    };
    jobs.get(job.id).onsuccess = ({target: {result: old}}) => {
      if (!old || (old.revision || 0) <= (job.revision || 0)) return put(old);
      texts.get(job.id).onsuccess = ({target: {result: paragraphs}}) => {
        texts.get([job.id]).onsuccess = ({target: {result: others}}) => {
          outcome = merge(job, {...old, paragraphs: paragraphs || [], versions: others});
          put(old);
        };
      };
    };
  }, `“${job.name}”`);
  if (stored) job.storedVersions = versions;
  if (stored) channel.postMessage(job.id);
  if (stored && unsaved.get(job.id)?.change === change) settled(job.id);
  if (outcome) merged(job, outcome === "both");
  return stored;
}

// one returns a recording with its text and versions, or nothing.
export async function one(id) {
  const job = await transact(["jobs"], "readonly", s => s.get(id)).catch(() => null);
  return job && !job.gone ? {...job, paragraphs: await text(id), versions: await text([id])} : null;
}

function settled(id) {
  unsaved.delete(id);
  localStorage.removeItem(journalKey + id);
}

// journal writes what IndexedDB may not have yet to localStorage, at once: a page that is left does not wait for IndexedDB.
export function journal() {
  for (const {job} of unsaved.values()) {
    const {peaks, ...rest} = record(job), versions = job.versions === job.storedVersions ? undefined : job.versions;
    try {
      localStorage.setItem(journalKey + job.id, JSON.stringify({...rest, paragraphs: job.paragraphs, versions}));
    } catch { // there is no room for it
    }
  }
}

// replay stores what the journal has.
async function replay(list) {
  for (const key of Object.keys(localStorage).filter(k => k.startsWith(journalKey))) {
    const {paragraphs, versions, ...rest} = JSON.parse(localStorage.getItem(key)), old = list.find(j => j.id === rest.id);
    if (!old) list.push(rest); else Object.assign(old, rest);
    const job = {...old || rest, paragraphs, versions};
    await save(job);
    (old || rest).revision = job.revision;
  }
}

// addSound stores piece n of the sound of a recording.
export const addSound = (job, n, blob) => write(["sounds"], s => { s.put(blob, [job.id, n]); }, `the sound of “${job.name}”`);

// all returns the recordings without their texts. What was deleted when the page closed is deleted now.
export async function all() {
  const list = await transact(["jobs"], "readonly", s => s.getAll()).catch(() => []);
  await replay(list);
  await remove(list.filter(j => j.gone).map(j => j.id));
  for (const job of list) job.base = {...job};
  return list.filter(j => !j.gone);
}

// text returns the paragraphs of a recording or, of [id], the versions of its text that are not shown.
export const text = id => transact(["texts"], "readonly", s => s.get(id)).then(p => p || [], () => []);

// sound returns the sound of a recording, or null.
export async function sound(job) {
  const pieces = await transact(["sounds"], "readonly", s => s.getAll(range(job.id))).catch(() => []);
  return !pieces.length ? null : pieces.length === 1 ? pieces[0] : new Blob(pieces, {type: job.kind});
}

export const remove = ids => !ids.length ? null : write(["jobs", "texts", "sounds"], (jobs, texts, sounds) => {
  for (const id of ids) { jobs.delete(id); texts.delete(id); texts.delete([id]); sounds.delete(range(id)); }
}, "the change").then(done => { if (done) for (const id of ids) { settled(id); channel.postMessage(id); } }); // until then the journal has the deletion: a page that ends may take the transaction with it

// room returns the bytes that are used and the browser's limit; nothing if the browser does not tell.
export async function room() {
  const e = navigator.storage && navigator.storage.estimate ? await navigator.storage.estimate().catch(() => null) : null;
  return e && e.quota ? {used: e.usage, limit: e.quota} : null;
}

// persist asks the browser not to clear the store by itself.
export const persist = () => navigator.storage && navigator.storage.persist ? navigator.storage.persist().catch(() => false) : false;

// lock shows other tabs that a recording is worked on in this one.
const lockName = job => "verity-" + job.id;

export function lock(job) {
  if (navigator.locks && !job.unlock) navigator.locks.request(lockName(job), () => new Promise(done => { job.unlock = done; }));
}

export function unlock(job) {
  if (job.unlock) job.unlock();
  delete job.unlock;
}

// locked returns a function that reports whether another tab works on a recording.
export async function locked() {
  const names = navigator.locks ? (await navigator.locks.query()).held.map(l => l.name) : [];
  return job => names.includes(lockName(job));
}

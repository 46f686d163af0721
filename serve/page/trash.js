// Deleted recordings. They can come back for two minutes, while the page is open and the browser has room.
import * as store from "./store.js";
import {announce, hide} from "./ui.js";

const undoable = 120000; // ms
const deleted = []; // {list, before}: recordings, and all that there were
let jobs = [], changed = null;

// connect sets the list of recordings. onChange is called with one that came back, or null when some are gone for good.
export function connect(list, onChange) { [jobs, changed] = [list, onChange]; }

// remove takes recordings out of the list.
export function remove(list, message) {
  const entry = {list, before: [...jobs]};
  for (const job of list) {
    job.gone = true;
    jobs.splice(jobs.indexOf(job), 1);
    clearTimeout(job.saving);
    job.saving = 0;
    store.save(job);
  }
  deleted.push(entry);
  setTimeout(() => { if (deleted.includes(entry)) clear(entry); }, undoable);
  announce(message, {undo: restore});
}

// restore brings back what was deleted last, and reports whether there was anything.
export function restore() {
  const {list, before} = deleted.pop() || {};
  if (!list) return false;
  for (const job of list) {
    delete job.gone;
    jobs.push(job);
    store.save(job);
  }
  jobs.sort((a, b) => before.indexOf(a) - before.indexOf(b));
  hide("undo"); // its Undo
  announce(list.length > 1 ? `${list.length} recordings are back.` : `“${list[0].name}” is back.`);
  changed(list[0]);
  return true;
}

// clear deletes for good what was deleted, or one entry of it.
export async function clear(one) {
  const gone = one ? deleted.splice(deleted.indexOf(one), 1) : deleted.splice(0);
  await store.remove(gone.flatMap(e => e.list.map(j => j.id)));
  changed(null);
}

export const full = room => room && room.used > 0.8 * room.limit;

// room returns the bytes that are used and the browser's limit. Where that is near, what was deleted goes first.
export async function room() {
  const now = await store.room();
  if (!full(now) || !deleted.length) return now;
  await clear();
  hide("undo"); // its Undo
  announce("This browser is short of space: deleted recordings cannot be brought back.");
  return store.room();
}

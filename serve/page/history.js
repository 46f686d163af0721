// Recordings and their texts, stored in this browser until the user forgets them.

const maxJobs = 20, maxSound = 100 << 20; // recordings; bytes of a sound, larger ones are not stored

function open() {
  return new Promise((yes, no) => {
    const r = indexedDB.open("verity", 1);
    r.onupgradeneeded = () => r.result.createObjectStore("jobs", {keyPath: "id"});
    r.onsuccess = () => yes(r.result);
    r.onerror = () => no(r.error);
  });
}

async function store(mode, work) {
  const db = await open();
  try {
    return await new Promise((yes, no) => {
      const t = db.transaction("jobs", mode), r = work(t.objectStore("jobs"));
      t.oncomplete = () => yes(r && r.result);
      t.onerror = t.onabort = () => no(t.error);
    });
  } finally {
    db.close();
  }
}

// Browsers may forbid storage: the page works without.
const quietly = p => p.catch(() => undefined);

export async function save(job) {
  const {id, name, segments, language, duration, task, lost, file} = job;
  const sound = file && file.size <= maxSound ? file : null;
  await quietly(store("readwrite", s => s.put({id, name, segments, language, duration, task, lost, file: sound})));
  const all = (await quietly(store("readonly", s => s.getAllKeys()))) || [];
  for (const old of all.sort((a, b) => a - b).slice(0, -maxJobs)) await remove(old);
}

export const all = async () => ((await quietly(store("readonly", s => s.getAll()))) || []).sort((a, b) => b.id - a.id);
export const remove = id => quietly(store("readwrite", s => s.delete(id)));
export const clear = () => quietly(store("readwrite", s => s.clear()));

// Recordings and their texts, kept in this browser until they are forgotten.

const most = 20, largest = 100 << 20; // recordings; bytes of one, above which its sound is not kept

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

// Browsers may forbid storage: then nothing is kept, and the page works.
const quietly = p => p.catch(() => undefined);

export async function keep(job) {
  const {id, name, segments, language, duration, task, lost, file} = job;
  const sound = file && file.size <= largest ? file : null;
  await quietly(store("readwrite", s => s.put({id, name, segments, language, duration, task, lost, file: sound})));
  const all = (await quietly(store("readonly", s => s.getAllKeys()))) || [];
  for (const old of all.sort((a, b) => a - b).slice(0, -most)) await drop(old);
}

export const all = async () => ((await quietly(store("readonly", s => s.getAll()))) || []).sort((a, b) => b.id - a.id);
export const drop = id => quietly(store("readwrite", s => s.delete(id)));
export const clear = () => quietly(store("readwrite", s => s.clear()));

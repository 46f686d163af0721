// The recording that is being made.
import {sentence} from "./api.js";
import {short} from "./formats.js";
import * as jobs from "./jobs.js";
import {Live} from "./live.js";
import * as settings from "./settings.js";
import * as store from "./store.js";
import {$, announce, hide} from "./ui.js";

let live = null, awake = null;

export const current = () => live;

// record begins a recording of a source (inputs.js); again, it ends the one that is being made.
export function record(source = "microphone") {
  if (live) return live.stop();
  const options = {...settings.options(), source, key: settings.key()}, last = Math.max(0, ...jobs.jobs.map(j => +(/^Recording (\d+)$/.exec(j.name) || [])[1] || 0));
  const job = jobs.create({name: `Recording ${last + 1}`, state: "live", live: true, peaks: []});
  jobs.jobs.unshift(job);
  announce(source === "microphone" ? "If the browser asks, allow the microphone." : "Choose a tab or the screen, and switch its sound on.");
  job.session = live = new Live(job, options, {
    level: x => jobs.on.level(job, x),
    began: () => {
      job.began = performance.now();
      store.lock(job);
      jobs.save(job);
      store.persist();
      stayAwake();
      const ready = source === "computer" ? "Recording. " : "Speak now. ";
      announce(ready + (!job.kind ? "This browser can keep the text, but not its sound." : !job.missed && options.task === "translations" ? "Live text is in the language that is spoken; the translation follows." : ""));
      jobs.on.changed(job);
    },
    text: from => { jobs.on.text(job, from); jobs.save(job, true); },
    tentative: (t, begins) => jobs.on.tentative(job, t, begins),
    changed: () => jobs.on.changed(job),
    ended: e => ended(job, e),
  });
  live.start();
  jobs.on.changed(job);
  return job;
}

// show shows on the buttons what is being recorded, whichever recording is open.
export function show() {
  const job = live && live.job, stopping = !!job && !!job.stopping, stop = "Stop" + (job && job.began ? " " + short(job.duration || 0) : "");
  $("bar").classList.toggle("recording", !!job);
  $("record").classList.toggle("live", !!job);
  for (const id of ["record", "stopLive", "pauseLive"]) $(id).disabled = stopping;
  $("recordText").textContent = !job ? "Record" : stopping ? "Stopped" : stop;
  $("stopLive").lastChild.data = stopping ? "Writing the rest…" : stop;
  $("pauseLive").setAttribute("aria-pressed", !!job && !!job.paused);
  $("pauseLive").textContent = job && job.paused ? "Resume" : "Pause";
}

// stayAwake stops a phone from sleeping, which would end the recording. Browsers end the lock while the page is hidden.
async function stayAwake() {
  if (!live || document.hidden || !navigator.wakeLock) return;
  awake = await navigator.wakeLock.request("screen").catch(() => null);
  if (!live && awake) awake.release();
}
document.addEventListener("visibilitychange", stayAwake);

export const pause = () => live && live.pause();
export const flush = () => live && live.flush();

function ended(job, e) {
  if (e && jobs.ending) return;
  live = null;
  if (awake) awake.release();
  for (const member of ["session", "stopping", "paused", "silent", "hearing", "device", "offline", "late"]) delete job[member];
  store.unlock(job);
  Object.assign(job, {state: e && !job.paragraphs.length ? "failed" : "done", error: e ? sentence(e) : "", remedy: e && e.remedy || "", lost: e && job.duration ? "cut" : ""});
  const again = !e && job.file && (job.missed || job.paragraphs.length && settings.options().polish); // live text is poorer than that of the whole sound
  if (e) hide("news"); else announce(again ? "Recorded. Now the text is written once more, from the whole sound." : job.paragraphs.length ? "Recorded, and written." : "Nobody was heard. Is the right microphone chosen in the settings?");
  const some = job.file || job.paragraphs.length;
  if (some) jobs.save(job);
  else jobs.jobs.splice(jobs.jobs.indexOf(job), 1);
  jobs.on.changed(job, true);
  if (e) jobs.on.failed(e, some && job);
  if (again) jobs.again(job);
}

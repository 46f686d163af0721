// A server that cannot be reached: what waits goes on when it is back, and a text that ends early is completed.
import {home, starting, unreachable} from "./api.js";
import {again, ending, jobs, next, on, open, release, restore, save} from "./jobs.js";
import {copy} from "./save.js";
import * as settings from "./settings.js";
import {$, announce} from "./ui.js";

export const mostLosses = 3; // of the server or the page amid a recording, which may be what ends it; then the user decides
const checkEach = 4000; // ms between two looks whether Verity runs
const retryEach = 2000; // ms between two attempts to reach the server
export let away = false;
let timer = 0;

// watch notices that Verity has ended, also while nothing is asked of it. A line says so until it is back.
export function watch() {
  $("starting").textContent = starting;
  $("copyStarting").onclick = () => copy(starting);
  if (!home) $("away").textContent = unreachable().message;
  const check = async () => {
    if (!away && !document.hidden) await fetch("readyz").catch(() => ending || waitForServer());
    setTimeout(check, checkEach);
  };
  check();
}

// lose lets a recording, at which the server was lost, wait with all others. The text of a part stays, and can be edited.
export function lose(job) {
  if (!job.uploading) job.losses = (job.losses || 0) + 1;
  const goesOn = (job.losses || 0) < mostLosses, part = !job.kept && job.paragraphs.length > 0;
  if (goesOn && !part) Object.assign(job, {state: "queued", fresh: null, named: null, progress: null});
  else {
    if (job.kept) restore(job, true);
    else Object.assign(job, part ? {state: "done", lost: "cut", resume: goesOn ? "rest" : ""} : {state: "failed"});
    job.error = goesOn ? "" : `Verity ended ${mostLosses} times while it worked on this recording. The terminal where it ran may say why. Try again, or cut the recording into parts.`;
    release(job);
  }
  save(job);
  waitForServer();
  on.changed(job);
}

export function waitForServer() {
  const first = !away;
  away = true;
  $("away").hidden = false;
  clearTimeout(timer);
  timer = setTimeout(on.retry, retryEach);
  if (first) for (const job of jobs) if (job.state === "queued") on.changed(job);
}

// goOn goes on with what waits, now that the server can be reached.
export async function goOn() {
  if (away) announce("Verity is back.");
  away = false;
  $("away").hidden = true;
  for (const job of jobs.filter(j => j.resume)) {
    await open(job);
    const {apart, resume} = job, options = {...settings.options(), ...job.options}, last = job.paragraphs.at(-1);
    job.resume = "";
    if (job.editing || !last && resume !== "sound") on.changed(job);
    else if (resume === "sound" && (options.polish || !last)) again(job); // a recording
    else if (resume === "again" || apart) again(job, {...options, apart, at: job.turn ?? -1});
    else again(job, {...options, from: last.words.at(-1).end, speakers: "", later: options.speakers, at: job.turn ?? -1}); // voices are told apart in the whole, after the rest
  }
  next();
}

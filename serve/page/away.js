// A server that cannot be reached: what waits goes on when it is back, and a text that ends early is completed.
import {unreachable} from "./api.js";
import {again, jobs, next, on, open, release, restore, save} from "./jobs.js";

export const mostLosses = 3; // of the server or the page amid a recording, which may be what ends it; then the user decides
export let away = false;

// lose lets a recording, at which the server was lost, wait with all others. The text of a part stays, and can be edited.
export function lose(job) {
  if (!job.uploading) job.losses = (job.losses || 0) + 1;
  const goesOn = (job.losses || 0) < mostLosses, part = !job.kept && job.paragraphs.length > 0;
  if (goesOn && !part) Object.assign(job, {state: "queued", fresh: null, named: null, progress: null});
  else {
    if (job.kept) restore(job, true);
    else Object.assign(job, part ? {state: "done", lost: ", cut off", resume: goesOn} : {state: "failed"});
    job.error = goesOn ? "" : `The server was lost ${mostLosses} times at this recording. Its log may say why.`;
    release(job);
  }
  save(job);
  if (!away && !job.missed) on.failed(unreachable());
  waitForServer();
  on.changed(job);
}

export function waitForServer() {
  const first = !away;
  away = true;
  on.away();
  if (first) for (const job of jobs) if (job.state === "queued") on.changed(job);
}

// goOn goes on with what waits, now that the server can be reached.
export async function goOn() {
  away = false;
  for (const job of jobs.filter(j => j.resume)) {
    await open(job);
    const {options, apart} = job, last = job.paragraphs.at(-1), rest = /cut off/.test(job.lost) && !apart;
    if (rest && options.speakers) Object.assign(options, {later: options.speakers, speakers: ""}); // voices are told apart in the whole, after the rest
    job.resume = false;
    if (job.editing || !last) on.changed(job);
    else again(job, {...options, apart, from: rest ? last.words.at(-1).end : undefined, at: job.turn ?? -1});
  }
  next();
}

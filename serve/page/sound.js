// The sounds of recordings in this browser, and the room for them.
import {short} from "./formats.js";
import {on, save} from "./jobs.js";
import * as store from "./store.js";
import * as trash from "./trash.js";
import {announce, size} from "./ui.js";
import {peaksOf} from "./wave.js";

// checkRoom says when the browser's room is nearly full.
export async function checkRoom() {
  const room = await trash.room();
  on.room(trash.full(room) ?
    `The room for recordings in this browser is ${Math.round(100 * room.used / room.limit)}\u00a0% full: ${size(room.used)} of ${size(room.limit)}. Delete recordings that you no longer need.` : "");
}

// storeSounds stores the sounds of recordings that were added.
export async function storeSounds(added) {
  store.persist();
  for (const job of added) {
    const room = await trash.room();
    if (room && room.used + job.file.size > 0.95 * room.limit) {
      announce(`There is no room in this browser for the sound of “${job.name}” (${size(job.file.size)}). Its text is kept. Delete other recordings to make room.`, {bad: true});
    } else if (await store.addSound(job, 0, job.file)) job.sound = job.file.size;
    if (!job.sound && job.file.size) job.note = "its sound is not kept";
    if (job.gone) store.remove([job.id]); // meanwhile
    else save(job);
    on.changed(job);
  }
  checkRoom();
}

// sound returns the sound of a recording, or null.
export const sound = async job => job.file ||= await store.sound(job);

// findPeaks finds the length and the waveform of a recording whose sound can be played.
export async function findPeaks(job, duration) {
  if ((job.lost === "cut" || job.joined && duration > job.duration) && Math.abs(duration - job.duration) > 0.5) { // the page that recorded it could not tell, or that opened its text
    if (duration < job.duration) job.note = `${short(duration)} of ${short(job.duration)} kept`;
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

// Undo and redo of what a user changes in a recording: text, speakers, names, the version that is shown. A state is small,
// since paragraphs and lists are replaced and never changed, except while text is still coming.
import {equalEnds} from "./align.js";

const parts = ["name", "paragraphs", "names", "language", "task", "options", "duration", "lost", "gaps", "damaged", "differences", "error", "edited", "live", "highlights", "versions"];
const most = 200; // states that are kept

export const stateOf = job => Object.fromEntries(parts.map(k => [k, job[k]]));

// versionOf returns what a version of a recording has of a state.
export const versionOf = ({versions, name, highlights, ...rest}) => rest;

// exchange shows version i of a recording, and keeps the one shown; without a number, all others are deleted.
export function exchange(job, i) {
  const now = versionOf(stateOf(job));
  remember(job);
  if (i === undefined) Object.assign(job, {versions: [], edited: now.edited}); // no word is changed
  else Object.assign(job, job.versions[i], {versions: job.versions.with(i, now)});
}

// remember must be called before a change, or with the state from before.
export function remember(job, state = stateOf(job)) {
  job.past = [...(job.past || []).slice(1 - most), state];
  job.future = [];
  job.edited = true;
}

// step goes back or, with on, forward by a change. It returns where the text differs, as {paragraph, at} after the
// difference; {} if it does not, null if there is no such change.
export function step(job, on) {
  const [from, to] = on ? ["future", "past"] : ["past", "future"], state = job[from] && job[from].pop();
  if (!state) return null;
  const before = job.paragraphs;
  (job[to] ||= []).push(stateOf(job));
  Object.assign(job, state);
  return difference(before, job.paragraphs);
}

function difference(before, after) {
  const [first, same] = equalEnds(before, after, (a, b) => a.text === b.text), text = list => list.slice(first, list.length - same).map(p => p.text).join("\n");
  const [old, now] = [text(before), text(after)], [, tail] = equalEnds(old, now);
  return old === now ? {} : placeAt(after, now.length - tail, first);
}

// placeAt returns the place {paragraph, at} after some characters from a paragraph on, whose borders count as one.
export function placeAt(paragraphs, at, paragraph = 0) {
  for (; paragraph < paragraphs.length - 1 && at > paragraphs[paragraph].text.length; paragraph++) at -= paragraphs[paragraph].text.length + 1;
  return {paragraph, at};
}

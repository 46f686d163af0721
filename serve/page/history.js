// Undo and redo of what a user changes in a recording: text, speakers, names, the version that is shown. A state is small,
// since paragraphs and lists are replaced and never changed, except while text is still coming.
const parts = ["name", "paragraphs", "names", "language", "task", "options", "duration", "lost", "gaps", "error", "edited", "versions"];
const most = 200; // states that are kept

export const stateOf = job => Object.fromEntries(parts.map(k => [k, job[k]]));

// versionOf returns what a version of a recording has of a state.
export const versionOf = ({versions, name, ...rest}) => rest;

// exchange shows version i of a recording, and keeps the one shown; without a number, all others are deleted.
export function exchange(job, i) {
  const now = versionOf(stateOf(job));
  remember(job);
  if (i === undefined) job.versions = [];
  else Object.assign(job, job.versions[i], {versions: job.versions.with(i, now)});
}

// remember must be called before a change, or with the state from before.
export function remember(job, state = stateOf(job)) {
  job.past = [...(job.past || []).slice(1 - most), state];
  job.future = [];
  job.edited = true;
}

// step goes back or, with on, forward by a change. It returns where the text differs, as {paragraph, at} after the
// difference, or null if there is no such change.
export function step(job, on) {
  const [from, to] = on ? ["future", "past"] : ["past", "future"], state = job[from] && job[from].pop();
  if (!state) return null;
  const before = job.paragraphs;
  (job[to] ||= []).push(stateOf(job));
  Object.assign(job, state);
  return difference(before, job.paragraphs);
}

function difference(before, after) {
  let paragraph = 0, tail = 0;
  while (paragraph < after.length - 1 && paragraph < before.length && before[paragraph].text === after[paragraph].text) paragraph++;
  const old = before[paragraph] ? before[paragraph].text : "", now = after[paragraph] ? after[paragraph].text : "";
  while (tail < Math.min(old.length, now.length) && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail++;
  return {paragraph, at: now.length - tail};
}

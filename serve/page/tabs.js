// A recording in two tabs: nothing of what either changes is lost.
import {remember, stateOf, versionOf} from "./history.js";

const plain = paragraphs => (paragraphs || []).map(p => (p.speaker ?? "") + ": " + p.text).join("\n");
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// working reports whether this tab is at work on a recording.
export const working = job => ["queued", "working", "live"].includes(job.state);

// merge gives a recording what another tab stored since job.base was read here. Where both changed the text, that of
// the other tab becomes a version. It returns "both" then, "theirs" if the text is that of the other tab, else "".
export function merge(job, {paragraphs, versions = [], ...members}) {
  const base = job.base || {}, atWork = working(job) || working(base), theirs = plain(paragraphs);
  const mine = job.paragraphs && (job.editing || atWork || job.paragraphs !== base.paragraphs), differs = plain(job.paragraphs) !== theirs;
  const rival = versionOf(stateOf({...members, paragraphs}));
  let outcome = "";
  if (job.paragraphs) {
    const own = job.versions === job.storedVersions ? [] : job.versions.filter(v => v !== job.rival && !versions.some(w => same(v, w)));
    job.storedVersions = versions;
    const known = [base, job.former || base, ...versions].some(v => plain(v.paragraphs) === theirs) || atWork && plain(job.paragraphs).startsWith(theirs);
    if (mine && differs && !known) {
      outcome = "both";
      job.rival = rival; // replaces the one before of the same editing
      own.push(rival);
    } else if (!mine) {
      if (differs && !working(members)) remember(job);
      outcome = differs ? "theirs" : "";
      job.paragraphs = paragraphs;
    }
    job.versions = own.length ? [...versions, ...own] : versions;
  }
  for (const m of Object.keys(members)) if ((job[m] ?? null) === (base[m] ?? null)) job[m] = members[m];
  job.base = {...members, paragraphs: mine ? paragraphs : job.paragraphs};
  job.revision = members.revision;
  return outcome;
}

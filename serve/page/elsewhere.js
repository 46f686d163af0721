// What other tabs change, shown in this one.
import {versionsAt} from "./formats.js";
import {jobs, on} from "./jobs.js";
import * as store from "./store.js";
import {merge, working} from "./tabs.js";
import {announce} from "./ui.js";

// update reads a recording that another tab stored, unless it is changed here too: then the next save merges both.
export async function update(id) {
  const theirs = await store.one(id), old = jobs.find(j => j.id === id);
  if (old && (working(old) || old.editing || old.saving)) return;
  if (!theirs) {
    if (old) jobs.splice(jobs.indexOf(old), 1);
    return old && on.changed(old, true);
  }
  const {paragraphs, versions, ...members} = theirs, job = old || {...members, base: members}, was = job.state;
  if (old && old.revision >= theirs.revision) return;
  if (was === "elsewhere") job.state = job.base.state;
  if (!old) {
    jobs.push(job);
    jobs.sort((a, b) => b.created - a.created || a.id - b.id);
  } else if (merge(job, theirs)) on.text(job);
  if (working(job)) job.state = "elsewhere";
  else if (was === "elsewhere") job.file = null; // its sound has grown
  delete job.searched;
  on.changed(job, !old);
}

// merged says what became of a recording that was changed in two tabs.
export function merged(job, both) {
  if (working(job) && !job.unlock) job.state = "elsewhere";
  if (both) announce(`“${job.name}” was also changed in another tab. That text is in the ${versionsAt}.`, {bad: true});
  else on.text(job);
  on.changed(job);
}

// Texts and sounds as files, and on the clipboard.
import {zip} from "./docx.js";
import {ending, formats, plain, titleOf} from "./formats.js";
import * as jobs from "./jobs.js";
import * as settings from "./settings.js";
import {announce} from "./ui.js";

const $ = id => document.getElementById(id);

function download(blob, name) {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(blob);
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 60000);
  announce(`Saved ${name}.`);
}

const write = (job, format, o) => formats[format](job, {...o, key: settings.key(), rules: $("subtitles").value});

// text saves the text of a recording, with times and speakers as the menu has them.
export async function text(job, format) {
  try {
    download(new Blob([await write(job, format, {times: $("withTimes").checked, speakers: $("withSpeakers").checked})]), titleOf(job) + "." + format);
  } catch (e) {
    announce(e.message, {bad: true});
  }
}

// several saves the texts of several recordings, or without a format their sounds, in one archive.
export async function several(list, format) {
  const files = {};
  try {
    for (const job of list) {
      await jobs.open(job);
      if (format ? !job.paragraphs.length : !job.file) continue;
      const title = titleOf(job), same = Object.keys(files).filter(n => n.startsWith(title)).length;
      files[title + (same ? ` (${same + 1})` : "") + "." + (format || soundEnding(job))] = new Uint8Array(await new Blob([format ? await write(job, format, {}) : job.file]).arrayBuffer());
    }
    if (Object.keys(files).length) download(zip(files), "Recordings.zip"); else announce(`These recordings have no ${format ? "text" : "sound"}.`);
  } catch (e) {
    announce(e.message, {bad: true});
  }
}

// soundEnding returns the ending that the file of a recording had, or should have.
function soundEnding({file, name}) {
  const kind = {"audio/webm": "webm", "audio/mp4": "m4a", "audio/ogg": "ogg"}[file.type], [, named] = ending.exec(file.name || name) || [];
  return named || kind || "wav";
}

export function sound(job) { download(job.file, titleOf(job) + "." + soundEnding(job)); }

export async function copy(job, times) {
  const all = plain(job, {times});
  try {
    await navigator.clipboard.writeText(all);
  } catch { // without https
    const area = document.body.appendChild(Object.assign(document.createElement("textarea"), {value: all}));
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  announce("Copied.");
}

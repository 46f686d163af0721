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

// texts saves those of several recordings in one archive.
export async function texts(list, format) {
  const files = {};
  try {
    for (const job of list) {
      await jobs.open(job);
      if (!job.paragraphs.length) continue;
      const title = titleOf(job), same = Object.keys(files).filter(n => n.startsWith(title)).length;
      files[title + (same ? ` (${same + 1})` : "") + "." + format] = new Uint8Array(await new Blob([await write(job, format, {})]).arrayBuffer());
    }
    if (Object.keys(files).length) download(zip(files), "Recordings.zip"); else announce("These recordings have no text.");
  } catch (e) {
    announce(e.message, {bad: true});
  }
}

// sound saves the sound of a recording, with the ending that its file had.
export function sound(job) {
  const kind = {"audio/webm": "webm", "audio/mp4": "m4a", "audio/ogg": "ogg"}[job.file.type], [, named] = ending.exec(job.file.name || job.name) || [];
  download(job.file, titleOf(job) + "." + (named || kind || "wav"));
}

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

// Texts and sounds as files, and on the clipboard.
import {unreachable} from "./api.js";
import {blob, ending, plain, titleOf} from "./formats.js";
import * as jobs from "./jobs.js";
import {downloadZip} from "./lib/client-zip.js";
import {busy, selected} from "./list.js";
import * as settings from "./settings.js";
import {record} from "./store.js";
import {names} from "./subtitles.js";
import {$, announce} from "./ui.js";

export function download(blob, name) {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(blob);
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 60000);
  announce(`Saved ${name} to your downloads.`);
}

const write = (job, format, o) => blob(job, format, {...o, key: settings.key()});

// text saves the text of a recording, with times and speakers as the menu has them.
export async function text(job, format, table) {
  try {
    const speakers = $("withSpeakers").checked;
    download(await write(job, format, {times: $("withTimes").checked, speakers, table, names: speakers && names(job)}), titleOf(job) + "." + format);
  } catch (e) {
    announce(e.message, {bad: true});
  }
}

// several saves the texts of several recordings, or without a format their sounds, in one archive. That of a backup has both.
export async function several(list, format) {
  const files = [], titles = {}, all = format === "backup";
  try {
    for (const job of list) {
      await jobs.open(job);
      const title = titleOf(job), n = titles[title] = (titles[title] || 0) + 1;
      const put = (ending, input) => files.push({name: title + (n > 1 ? ` (${n})` : "") + "." + ending, lastModified: new Date(job.created), input});
      if (all) put("json", await write(job, "json", {more: {recording: {...record(job), peaks: null, paragraphs: job.paragraphs, versions: job.versions}}}));
      else if (format && job.paragraphs.length) put(format, await write(job, format, {}));
      if (job.file && (all || !format)) put(soundEnding(job), job.file);
    }
    const name = all ? `Verity ${new Date().toLocaleDateString("sv")}.zip` : "Recordings.zip";
    if (files.length) download(await downloadZip(files).blob(), name); else announce(`These recordings have no ${format ? "text" : "sound"}: nothing was saved.`);
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

// copy puts text on the clipboard.
export async function copy(all) {
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

// connect adds the handlers of the menus. shown returns the recording that is shown, times whether its times are.
export function connect(shown, times) {
  for (const b of $("save").querySelectorAll("[data-format]")) {
    b.onclick = () => text(shown(), b.dataset.format, !!b.dataset.table);
    if (b.dataset.table) continue;
    const all = b.cloneNode(true);
    $("saveSounds").before(all);
    all.onclick = () => several(selected(), b.dataset.format);
  }
  $("save").addEventListener("toggle", () => { $("withTimes").checked = times(); });
  for (const menu of [$("save"), $("saveAll")]) menu.addEventListener("toggle", async () => {
    const away = menu.open && await fetch("readyz").then(() => false, () => true), note = menu.querySelector(".note");
    note.hidden = !away;
    note.textContent = unreachable().message + " Text and JSON can be saved without it.";
    for (const b of menu.querySelectorAll("[data-format]")) b.disabled = away && !/^(txt|json)$/.test(b.dataset.format);
  });
  $("copy").onclick = () => copy(plain(shown(), {times: times()}));
  $("saveSound").onclick = () => sound(shown());
  $("saveSounds").onclick = () => several(selected());
  $("backup").onclick = () => several(jobs.jobs.filter(j => !busy(j)), "backup");
}

// Texts and sounds as files, and on the clipboard.
import {sentence} from "./api.js";
import {blob, ending, plain, titleOf} from "./formats.js";
import * as jobs from "./jobs.js";
import {downloadZip} from "./lib/client-zip.js";
import {busy, hasSound, selected} from "./list.js";
import * as settings from "./settings.js";
import {record} from "./store.js";
import {names} from "./subtitles.js";
import {$, announce} from "./ui.js";

// download saves a file, and says so and what is in it.
export function download(blob, name, what = "") {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(blob);
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 60000);
  announce(`Saved ${name} to your downloads${what}.`);
}

const write = (job, format, o) => blob(job, format, {...o, key: settings.key()});

// attempt calls make to save a file, or says why that cannot be.
const attempt = (name, make) => make(name).catch(e => announce(`${name} was not saved. ${sentence(e)}`, {bad: true}));

// text saves the text of a recording, with times and speakers as the menu has them.
export const text = (job, format, table) => attempt(titleOf(job) + "." + format, async name => {
  const speakers = $("withSpeakers").checked;
  download(await write(job, format, {times: $("withTimes").checked, speakers, table, names: speakers && names(job)}), name);
});

// several saves the texts of several recordings, or without a format their sounds, in one archive. That of a backup has both.
export function several(list, format) {
  const files = [], titles = {}, all = format === "backup", what = format ? "text" : "sound";
  return attempt(all ? `Verity ${new Date().toLocaleDateString("sv")}.zip` : "Recordings.zip", async archive => {
    for (const job of list) {
      await jobs.open(job);
      const title = titleOf(job), n = titles[title] = (titles[title] || 0) + 1;
      const put = (ending, input) => files.push({name: title + (n > 1 ? ` (${n})` : "") + "." + ending, lastModified: new Date(job.created), input});
      if (all) put("json", await write(job, "json", {more: {recording: {...record(job), peaks: null, paragraphs: job.paragraphs, versions: job.versions}}}));
      else if (format && job.paragraphs.length) put(format, await write(job, format, {}));
      if (job.file && (all || !format)) put(soundEnding(job), job.file);
    }
    const n = files.length, has = all ? `${list.length} recordings, ${n - list.length} with sound` : `${n} ${what}${n > 1 ? "s" : ""}` + (n < list.length ? `; ${list.length - n} of what you selected ${list.length - n > 1 ? "have" : "has"} no ${what}` : "");
    if (n) download(await downloadZip(files).blob(), archive, ": " + has); else announce(`Nothing was saved: these recordings have no ${what}.`, {bad: true});
  });
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
    note.textContent = "Verity cannot be reached. Until it is back, text, JSON and audio can be saved.";
    for (const b of menu.querySelectorAll("[data-format]")) b.disabled = away && !/^(txt|json)$/.test(b.dataset.format);
  });
  $("copy").onclick = () => copy(plain(shown(), {times: times()}));
  $("print").onclick = () => print();
  $("saveSound").onclick = () => sound(shown());
  $("saveSounds").onclick = () => several(selected());
  $("backup").onclick = () => several(jobs.jobs.filter(j => !busy(j) && hasSound(j)), "backup");
}

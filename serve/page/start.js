// An added recording waits here until Start is pressed. Its language, speakers, terms and, if there is one, its text can be set.
import * as jobs from "./jobs.js";
import * as settings from "./settings.js";
import {$} from "./ui.js";

let shown = null;

// together returns a file and those that were added with it and wait, too.
const together = job => jobs.jobs.filter(j => j.state === "new" && j.created === job.created);

// show shows the form of a recording that waits for it.
export function show(job) {
  const waits = !!job && job.state === "new", isNew = waits && job !== shown;
  shown = waits ? job : null;
  $("start").hidden = !waits;
  const n = waits ? together(job).length : 0;
  $("begin").textContent = n > 1 ? `Start all ${n}` : "Start";
  $("given").hidden = n > 1;
  if (!isNew) return;
  settings.place();
  settings.setTask(job.options?.task || "transcriptions");
  write(job.options?.align || "");
}

// set stores an option of the recording.
function set(job, options) {
  job.options = {...job.options, ...options};
  jobs.save(job, true);
}

const write = text => { [$("script").value, $("given").open] = [text, !!text]; };

// addScript uses a text file as the text of the recording that waits, and returns whether one does.
export function addScript(file) {
  if (!shown || $("given").hidden || !/\.(txt|srt|vtt)$/i.test(file.name)) return false;
  const job = shown;
  $("begin").disabled = true; // until it is read
  file.arrayBuffer().then(raw => {
    set(job, {align: decode(new Uint8Array(raw))});
    if (job === shown) write(job.options.align);
  }).finally(() => { $("begin").disabled = false; });
  return true;
}

// decode returns the text of a file in UTF-8, in UTF-16 or, as old programs write it, in Windows-1252.
function decode(raw) {
  const encoding = {"255,254": "utf-16le", "254,255": "utf-16be"}[raw.slice(0, 2)] || "utf-8";
  try {
    return new TextDecoder(encoding, {fatal: true}).decode(raw);
  } catch {
    return new TextDecoder("windows-1252").decode(raw);
  }
}

export function connect() {
  $("start").onsubmit = e => {
    e.preventDefault();
    const align = $("given").hidden ? "" : $("script").value.trim();
    jobs.begin(together(shown), {align, ...align && {task: "transcriptions"}});
    $("text").focus({preventScroll: true});
  };
  $("script").oninput = () => set(shown, {align: $("script").value});
  $("task").addEventListener("change", () => { if (shown) set(shown, {task: $("task").value}); });
  $("chooseScript").onclick = () => $("scriptFile").click();
  $("scriptFile").onchange = () => {
    addScript($("scriptFile").files[0]);
    $("scriptFile").value = "";
  };
}

// An added recording waits here until Start is pressed. Its language, speakers, terms and, if there is one, its text can be set.
import * as jobs from "./jobs.js";
import * as settings from "./settings.js";

const $ = id => document.getElementById(id);
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
  write(job.options && job.options.align || "");
}

function write(text) {
  $("script").value = text;
  $("given").open = !!text;
}

// addScript uses a text file as the text of the recording that waits, and returns whether one does.
export function addScript(file) {
  if (!shown || $("given").hidden || !/\.(txt|srt|vtt)$/i.test(file.name)) return false;
  const job = shown;
  file.arrayBuffer().then(raw => {
    job.options = {...job.options, align: decode(new Uint8Array(raw))};
    if (job === shown) write(job.options.align);
  });
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
  $("script").oninput = () => { shown.options = {...shown.options, align: $("script").value}; };
  $("chooseScript").onclick = () => $("scriptFile").click();
  $("scriptFile").onchange = () => {
    addScript($("scriptFile").files[0]);
    $("scriptFile").value = "";
  };
}

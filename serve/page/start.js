// What was added waits here until Start is pressed: for its language, speakers and terms, and for its text, if there is one.
import * as jobs from "./jobs.js";
import * as settings from "./settings.js";

const $ = id => document.getElementById(id);
let shown = null;

// together returns the files that were added with one, and wait too.
const together = job => jobs.jobs.filter(j => j.state === "new" && j.created === job.created);

// show shows the form of a recording that waits for it.
export function show(job) {
  const waits = !!job && job.state === "new", other = waits && job !== shown;
  shown = waits ? job : null;
  $("start").hidden = !waits;
  if (!other) return;
  settings.place();
  const n = together(job).length;
  $("begin").textContent = n > 1 ? `Start all ${n}` : "Start";
  $("given").hidden = n > 1;
  write(job.options && job.options.align || "");
}

function write(text) {
  $("script").value = text;
  $("given").open = !!text;
}

// addScript uses a text file as the text of the recording that waits, and returns whether there is one.
export function addScript(file) {
  if (!shown || $("given").hidden || !/\.(txt|srt|vtt)$/i.test(file.name)) return false;
  const job = shown;
  file.arrayBuffer().then(raw => {
    job.options = {...job.options, align: decode(new Uint8Array(raw))};
    if (job === shown) write(job.options.align);
  });
  return true;
}

// decode returns the text of a file, which old programs write in other encodings.
function decode(raw) {
  const code = raw[0] === 255 && raw[1] === 254 ? "utf-16le" : "utf-8";
  try {
    return new TextDecoder(code, {fatal: true}).decode(raw);
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

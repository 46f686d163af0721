// The settings, which this browser keeps, and the models of the server.
import {Failure, models} from "./api.js";
import {languageName} from "./formats.js";

const $ = id => document.getElementById(id);
const kept = ["use", "language", "task", "speakers", "prompt", "microphone", "silence", "polish", "subtitles", "doubts", "speed"];
const value = id => $(id).type === "checkbox" ? $(id).checked : $(id).value;
let all = [], changed = () => {};

export const model = () => all[$("use").selectedIndex] || all[0] || null;

// languages returns those of the model or, as a model has none before it is first used, those of another.
export const languages = () => ((model() && model().languages || (all.find(m => m.languages) || {}).languages) || []).map(l => ({code: l.code, name: languageName(l.name)})).sort((a, b) => a.name < b.name ? -1 : 1);

// options returns what a new recording is made with.
export function options() {
  const m = model();
  return {model: m ? m.id : "", language: $("languages").hidden ? "" : $("language").value, task: $("tasks").hidden ? "transcriptions" : $("task").value, prompt: $("prompt").value.trim(), speakers: $("speakers").value,
    first: m === all[0], silence: $("silence").checked, polish: $("polish").checked, microphone: $("microphone").value};
}

export const key = () => $("key").value;

// load fetches the models, and shows what the chosen one can do. It throws a Failure.
export async function load() {
  const stored = read();
  all = await models(key());
  if (!all.length) throw new Failure("The server has no models.");
  $("use").replaceChildren(...all.map(m => new Option(m.id)));
  if (all.some(m => m.id === stored.use)) $("use").value = stored.use;
  $("uses").hidden = all.length < 2;
  if (key() && $("remember").checked) localStorage.setItem("key", key());
  show();
}

function show() {
  const m = model(), known = languages(), n = m.languages ? m.languages.length : 0, chosen = $("language").value || read().language || "";
  $("model").textContent = m.id + (!n ? "" : n > 1 ? ` · ${n} languages` : " · " + languageName(m.languages[0].name));
  $("language").replaceChildren(new Option("Detect", ""), ...known.map(l => new Option(l.name, l.code)));
  if (known.some(l => l.code === chosen)) $("language").value = chosen;
  $("languages").hidden = n === 1;
  $("tasks").hidden = !m.translates && n > 0;
  summarize();
}

function summarize() {
  const language = $("languages").hidden ? languageName((model() && model().languages || [{name: ""}])[0].name) : $("language").value ? $("language").selectedOptions[0].text : "Any language";
  $("summary").lastElementChild.textContent = [language, !$("tasks").hidden && $("task").value === "translations" && "in English", $("speakers").value && (+$("speakers").value ? $("speakers").value + " speakers" : "speakers"), $("uses").hidden ? "" : $("use").value].filter(x => x).join(" · ");
}

// askKey opens the settings at the field of the API key.
export async function askKey() {
  $("keys").hidden = false;
  await open();
  $("key").focus();
}

export async function open() {
  await listMicrophones();
  if (!$("settings").open) $("settings").showModal();
}

// listMicrophones lists them by name, which browsers tell once the microphone was used.
async function listMicrophones() {
  if (!navigator.mediaDevices) return;
  const chosen = $("microphone").value || read().microphone || "";
  const list = (await navigator.mediaDevices.enumerateDevices().catch(() => [])).filter(d => d.kind === "audioinput" && d.deviceId && d.deviceId !== "default" && d.label);
  $("microphone").replaceChildren($("microphone").options[0], ...list.map(d => new Option(d.label, d.deviceId)));
  if (list.some(d => d.deviceId === chosen)) $("microphone").value = chosen;
}

function read() {
  try {
    return JSON.parse(localStorage.getItem("settings")) || {};
  } catch {
    return {};
  }
}

export function write(more) {
  const old = read(), now = Object.fromEntries(kept.map(id => [id, value(id)]));
  for (const id of ["use", "language", "microphone"]) if ($(id).length < 2) now[id] = old[id]; // not filled yet, or without a choice
  localStorage.setItem("settings", JSON.stringify({...old, ...now, ...more}));
}

// connect restores the settings and calls onChange after each change; onKey when another API key was typed.
export function connect(onChange, onKey) {
  changed = onChange;
  const stored = read();
  for (const id of kept) {
    if (stored[id] === undefined || id === "use" || id === "language" || id === "microphone") continue;
    if ($(id).type === "checkbox") $(id).checked = stored[id]; else $(id).value = stored[id];
  }
  for (const id of kept) $(id).addEventListener("change", () => {
    if (id === "use") show();
    summarize();
    write();
    changed();
  });
  if (localStorage.getItem("key")) {
    $("key").value = localStorage.getItem("key");
    $("keys").hidden = false;
    $("remember").checked = true;
  }
  $("key").onchange = onKey;
  $("remember").onchange = () => $("remember").checked ? localStorage.setItem("key", key()) : localStorage.removeItem("key");
  for (const b of ["openSettings", "summary"]) $(b).onclick = open;
  if (navigator.mediaDevices) navigator.mediaDevices.addEventListener("devicechange", () => { if ($("settings").open) listMicrophones(); });
  return stored;
}

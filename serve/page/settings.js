// The settings, which this browser keeps, and the model of the server.
import {fetchModel} from "./api.js";
import {languageName} from "./formats.js";
import {$} from "./ui.js";

const kept = ["language", "speakers", "prompt", "microphone", "polish", "doubts", "letters", "stepSize", "stepBack", "speed"];
const value = id => $(id).type === "checkbox" ? $(id).checked : $(id).value;
let model = null;

// languages returns those of the model; none before it is known.
export const languages = () => (model ? model.languages : []).map(l => ({code: l.code, name: languageName(l.name)})).sort((a, b) => a.name < b.name ? -1 : 1);

// options returns what a new recording is made with.
export function options() {
  return {model: model ? model.id : "", language: $("languages").hidden ? "" : $("language").value, task: $("tasks").hidden ? "transcriptions" : $("task").value, prompt: $("prompt").value.trim(), speakers: $("speakers").value,
    silence: true, polish: $("polish").checked, microphone: $("microphone").value};
}

export const key = () => $("key").value;

// load fetches the model, and shows what it can do. It throws a Failure.
export async function load() {
  model = await fetchModel(key());
  if (key() && $("remember").checked) localStorage.setItem("key", key());
  const known = languages(), n = known.length, chosen = $("language").value || read().language || "";
  $("model").textContent = "Model: " + model.id + " · " + (n > 1 ? `${n} languages` : known[0].name);
  $("language").replaceChildren(new Option("Detect", ""), ...known.map(l => new Option(l.name, l.code)));
  if (known.some(l => l.code === chosen)) $("language").value = chosen;
  $("languages").hidden = n === 1;
  $("tasks").hidden = !model.translates;
  summarize();
}

function summarize() {
  const language = $("languages").hidden ? (languages()[0] || {name: ""}).name : $("language").value ? $("language").selectedOptions[0].text : "Any language";
  $("summary").lastElementChild.textContent = [language, !$("tasks").hidden && $("task").value === "translations" && "in English", $("speakers").value && (+$("speakers").value ? $("speakers").value + " speakers" : "speakers")].filter(x => x).join(" · ");
}

// setTask sets whether a translation is wanted, which no file has from the one before.
export function setTask(task) {
  $("task").value = task;
  summarize();
}

// askKey opens the settings at the field of the API key.
export async function askKey() {
  $("keys").hidden = false;
  await open();
  $("key").focus();
}

// place puts the options of what comes next into the form of a file that waits for them, or into the settings.
export function place(inSettings = $("settings").open) {
  if (inSettings || $("start").hidden) $("settingsTitle").after($("choices")); else $("start").prepend($("choices"));
}

export async function open() {
  await listMicrophones();
  place(true);
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

const read = () => JSON.parse(localStorage.getItem("settings")) || {};

export function write(more) {
  const old = read(), now = Object.fromEntries(kept.map(id => [id, value(id)]));
  for (const id of ["language", "microphone"]) if ($(id).length < 2) now[id] = old[id]; // not filled yet, or without a choice
  localStorage.setItem("settings", JSON.stringify({...old, ...now, ...more}));
}

// connect restores the settings and calls onChange after each change; onKey when another API key was typed.
export function connect(onChange, onKey) {
  const stored = read();
  for (const id of kept) {
    if (stored[id] === undefined || id === "language" || id === "microphone") continue;
    if ($(id).type === "checkbox") $(id).checked = stored[id]; else $(id).value = stored[id];
  }
  for (const id of ["task", ...kept]) $(id).addEventListener("change", () => {
    summarize();
    write();
    onChange();
  });
  summarize(); // also without a server
  $("key").value = localStorage.getItem("key");
  $("keys").hidden = !key();
  $("remember").checked = !!key();
  $("key").onchange = () => onKey(key());
  $("remember").onchange = () => $("remember").checked ? localStorage.setItem("key", key()) : localStorage.removeItem("key");
  $("summary").onclick = $("settings0").onclick = open;
  $("settings").onclose = () => place(false);
  if (navigator.mediaDevices) navigator.mediaDevices.addEventListener("devicechange", () => { if ($("settings").open) listMicrophones(); });
  return stored;
}

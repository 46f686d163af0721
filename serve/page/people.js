// Who speaks: the menu of speakers, and their names in the text, which change where they stand.
import {short, speakerName} from "./formats.js";
import {remember} from "./history.js";
import * as jobs from "./jobs.js";
import {busy, readable} from "./list.js";
import * as settings from "./settings.js";
import * as text from "./text.js";
import {$, make} from "./ui.js";

let renamed = null;

// connect adds the handlers. onRename is called with a recording and what changed, as a sentence.
export function connect(onRename) {
  renamed = onRename;
  $("people").ontoggle = () => { if ($("people").open) list(text.shownJob()); };
  $("apart").onsubmit = e => {
    e.preventDefault();
    const job = text.shownJob();
    jobs.again(job, {language: job.options && job.options.language || "", speakers: $("howMany").value, apart: true});
  };
}

// list fills the menu.
function list(job) {
  const all = text.speakers(), spoken = s => job.paragraphs.reduce((n, p) => n + (p.speaker === s ? p.words.at(-1).end - p.words[0].start : 0), 0);
  $("persons").replaceChildren(...all.map((s, i) => {
    const name = make("input", {value: speakerName(job, s), autocomplete: "off", ariaLabel: "Name of " + speakerName(job, s)});
    name.onchange = () => {
      rename(job, s, name.value);
      if (text.speakers().length < all.length) list(job); else name.value = speakerName(job, s);
    };
    name.onkeydown = e => {
      if (e.key !== "Enter") return;
      name.blur();
      [...$("persons").querySelectorAll("input")].findLast((_, at) => at <= i + 1).focus();
    };
    return make("label", {className: "s" + i % 6}, name, make("span", {textContent: short(spoken(s))}));
  }));
  $("apart").hidden = !job.file || busy(job);
  $("apart").querySelector("p").textContent = all.length ? "Not right? Say how many people speak, and try again." : job.options && job.options.speakers ? "One voice was heard. If there were more, say how many." : "Each voice becomes a speaker, whom you can name.";
  $("apart").querySelector("button").textContent = all.length ? "Tell them apart again" : "Tell speakers apart";
  $("howMany").value = job.options?.speakers || settings.options().speakers || "voice";
}

// rename gives a speaker another name or, with a paragraph, that paragraph another speaker. Two speakers with one name become one.
function rename(job, speaker, typed, only) {
  const name = typed.trim(), old = speaker == null ? "" : speakerName(job, speaker), same = text.speakers().find(s => speakerName(job, s) === name);
  if (!name || name === old) return;
  remember(job);
  if (only || !old || same !== undefined) job.paragraphs = job.paragraphs.map(q => (only ? q === only : (q.speaker ?? null) === (speaker ?? null)) ? {...q, speaker: same ?? name} : q);
  else job.names = {...job.names, [speaker]: name};
  renamed(job, (old ? `“${old}” is now “${name}”` : `“${name}” speaks`) + (only ? " in this paragraph." : "."));
}

// edit makes the name of a speaker in the text a field, with the names of the others to choose from.
export function edit(button, paragraph) {
  const job = text.shownJob(), continues = button.classList.contains("who"), others = text.speakers().filter(s => s !== paragraph.speaker).map(s => speakerName(job, s));
  const name = make("input", {value: paragraph.speaker == null ? "" : button.textContent, placeholder: "Name", autocomplete: "off", ariaLabel: "Name of the speaker"}), only = make("input", {type: "checkbox", checked: continues});
  const form = make("form", {className: "rename " + button.className.split(" ")[1]}, name, ...others.map(o => make("button", {type: "button", textContent: o, title: "It is " + o, onclick: () => { end(o); back(); }})),
    make("label", {className: "check"}, only, "This paragraph only"));
  if (!readable(job)) return;
  const at = text.paragraphs().indexOf(paragraph);
  let ended = false;
  const end = value => {
    if (ended) return; // to remove the form takes the focus from it
    ended = true;
    button.hidden = false;
    form.remove();
    if (value !== null) rename(job, paragraph.speaker, value, only.checked && paragraph);
  };
  const back = () => { // to the name, which may stand above another paragraph now
    let row = text.positions()[at].p.parentElement;
    while (row && !row.querySelector(".speaker")) row = row.previousElementSibling;
    (row ? row.querySelector(".speaker") : $("text")).focus({preventScroll: true});
  };
  form.onsubmit = e => { e.preventDefault(); end(name.value); back(); };
  form.onkeydown = e => {
    e.stopPropagation(); // the keys of the page
    if (e.key !== "Escape") return;
    end(null);
    back();
  };
  form.addEventListener("focusout", e => { if (!form.contains(e.relatedTarget)) end(name.value); });
  form.onpointerdown = e => { if (e.target.localName !== "input") e.preventDefault(); }; // the field stays the focused one
  button.hidden = true;
  button.after(form);
  name.select();
}

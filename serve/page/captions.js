// Captions of the live recording, over the whole page: large, the newest line at the bottom.
import {speakerName} from "./formats.js";
import {endsSentence} from "./paragraphs.js";
import {stateSentence} from "./pane.js";
import * as recording from "./recording.js";
import * as settings from "./settings.js";
import {speakers} from "./text.js";
import {$, make} from "./ui.js";

const pause = 1, between = 0.3; // seconds after which a line ends, amid an utterance and between two
const enough = 84; // characters after which a line ends with its sentence
const list = $("lines").firstElementChild, unsettled = make("span", {ariaHidden: "true"}), next = make("p"); // text that may change, and its own line after a pause
let job = null, size = 40, drawn = []; // of each line: its element, and the number of its paragraph

// linesOf returns the lines of a paragraph.
function linesOf({text, words}) {
  const lines = [];
  let from = 0;
  words.forEach((w, i) => {
    const then = words[i + 1], until = w.at + w.length;
    if (then && then.start - w.end < (then.first ? between : pause) && !(until - from >= enough && endsSentence(text.slice(from, until), text.slice(then.at)))) return;
    lines.push(text.slice(from, then && then.at).trim());
    from = then && then.at;
  });
  return lines;
}

// text shows the paragraphs of a recording from one on, which is new or has changed.
export function text(made, from = 0) {
  if (made !== job) return;
  const all = job.paragraphs, order = speakers(all), several = order.length > 1;
  let n = drawn.findIndex(d => d.paragraph >= from);
  if (n < 0) n = drawn.length;
  all.slice(from).forEach((q, i) => linesOf(q).forEach((line, k) => {
    const {p} = drawn[n] ||= {p: list.appendChild(make("p"))}, words = p.firstChild || p.appendChild(new Text());
    if (line.startsWith(words.data)) words.appendData(line.slice(words.length)); else words.data = line; // a screen reader reads what is new
    p.className = q.speaker == null || !several ? "" : "s" + order.indexOf(q.speaker) % 6;
    if (several && q.speaker != null && !k && q.speaker !== all[from + i - 1]?.speaker) p.dataset.speaker = speakerName(job, q.speaker); else delete p.dataset.speaker;
    drawn[n++].paragraph = from + i;
  }));
  for (const {p} of drawn.splice(n)) p.remove();
}

// tentative shows text that may still change, which begins an utterance or goes on with one.
export function tentative(made, text, begins) {
  if (made !== job) return;
  unsettled.textContent = text && (begins ? "" : " ") + text.trim();
  if (begins || !drawn.length) next.append(unsettled); else drawn.at(-1).p.append(unsettled);
  if (text && next.firstChild) list.append(next); else next.remove();
}

// update says what the recording does.
export function update(made) {
  if (made === job) $("hearing").textContent = job.state === "live" ? stateSentence(job) : "The recording has ended.";
}

function resize(by) {
  size = Math.max(20, Math.min(128, Math.round(size * 1.25 ** by)));
  $("lines").style.fontSize = size + "px";
  settings.write({captions: size});
}

export function open() {
  const live = recording.current();
  if (!live) return;
  job = live.job;
  text(job);
  update(job);
  $("captions").showModal();
}

export function connect(stored) {
  if (stored) size = stored;
  resize(0);
  $("openCaptions").onclick = open;
  $("smaller").onclick = () => resize(-1);
  $("larger").onclick = () => resize(1);
  const whole = () => document.fullscreenElement ? document.exitFullscreen() : $("captions").firstElementChild.requestFullscreen();
  $("wholeScreen").onclick = whole;
  $("wholeScreen").hidden = !document.fullscreenEnabled;
  $("closeCaptions").onclick = () => $("captions").close();
  $("captions").onclose = () => {
    if (document.fullscreenElement) document.exitFullscreen();
    job = null;
    drawn = [];
    list.replaceChildren();
  };
  $("captions").onkeydown = e => {
    if (!e.ctrlKey && !e.metaKey && !e.altKey) ({"+": () => resize(1), "=": () => resize(1), "-": () => resize(-1), f: whole})[e.key]?.();
  };
}

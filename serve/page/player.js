// The player: sound, its waveform, and the word that is being spoken.
import {short} from "./formats.js";
import * as recording from "./recording.js";
import * as rows from "./rows.js";
import * as subtitles from "./subtitles.js";
import * as text from "./text.js";
import {Wave} from "./wave.js";
import {$, announce} from "./ui.js";

const audio = $("player"), speeds = [...$("speed").options].map(o => +o.value);
let onLeft = null, wave = null, job = null, sound = null, drawn = 0, paused = false, probing = false; // whether it stands where it was paused; whether the end is looked for

// length returns the duration of the sound: browsers know none of what they recorded themselves.
export const length = () => Number.isFinite(audio.duration) && audio.duration > 0 && audio.duration < 1e6 ? audio.duration : job && job.duration || 0;

// load shows the player of a recording and its sound, if there is any.
export function load(next, file) {
  const same = job === next && sound === file;
  if (!same) keepPlace();
  job = next;
  $("bar").hidden = !job || !file && !recording.current();
  document.body.classList.toggle("playable", !$("bar").hidden);
  if (same) return refresh();
  visited = -1;
  sound = file;
  wave.set(silence);
  $("result").classList.remove("picture");
  audio.pause();
  probing = false;
  const before = audio.src;
  if (file) audio.src = URL.createObjectURL(file); else { audio.removeAttribute("src"); audio.load(); }
  if (before) URL.revokeObjectURL(before);
  audio.playbackRate = audio.defaultPlaybackRate = +$("speed").value;
  showState();
  refresh();
}

// showState shows on the button whether the sound plays.
function showState() {
  $("play").setAttribute("aria-label", audio.paused ? "Play" : "Pause");
  $("play").querySelector("use").setAttribute("href", audio.paused ? "#i-play" : "#i-pause");
}

// refresh shows what has changed of the recording: words, speakers, peaks.
export function refresh() {
  if (!job) return;
  const order = text.speakers();
  $("bar").classList.toggle("live", !sound);
  if (!sound) return;
  wave.set({peaks: job.peaks, duration: length(), words: text.words(), gaps: job.gaps || [], time: probing ? 0 : audio.currentTime, speakers: text.paragraphs().map(p => p.speaker == null ? -1 : order.indexOf(p.speaker))});
  showTime();
}

// showTime shows the time.
function showTime() {
  const all = length(), t = probing ? 0 : Math.min(audio.currentTime, all);
  $("time").textContent = short(t);
  $("duration").textContent = short(all);
  wave.at(t);
  Object.assign($("wave"), {ariaValueMax: Math.round(all), ariaValueNow: Math.round(t), ariaValueText: short(t) + " of " + short(all)});
}

const shownLevels = 300; // of a recording, a tenth of a second each
const silence = {peaks: [], time: 0, duration: 0, words: [], speakers: [], gaps: []};

// level shows how loud a recording is that is being made, and its length. Four pictures a second are enough.
export function level(made, x) {
  made.peaks = [...made.peaks.slice(1 - shownLevels), Math.round(255 * x)];
  const now = performance.now();
  if (now - drawn < 240) return;
  drawn = now;
  recording.show();
  if (!sound) wave.set({...silence, peaks: [...new Array(shownLevels - made.peaks.length).fill(0), ...made.peaks]});
}

function tick() {
  showTime();
  text.light(audio.currentTime, true);
  rows.light(audio.currentTime);
  if (!audio.paused) requestAnimationFrame(tick);
}

export function seek(t) {
  paused = false;
  audio.currentTime = Math.max(0, Math.min(t, length() || t));
  showTime();
}

export function playFrom(t) {
  if (!sound) return;
  seek(t);
  play();
}

function play() {
  text.follow();
  audio.play().catch(e => { if (e.name === "NotSupportedError") announce("This browser cannot play this kind of sound; another may, such as Chrome. The text is not affected.", {bad: true}); });
}

export function toggle() {
  if (!sound) return;
  if (!audio.paused) return pause();
  if (paused) seek(audio.currentTime - $("stepBack").value); // to hear again what was missed while typing
  play();
}

// pause stops here, at once: the event comes later.
export function pause() { audio.pause(); paused = true; }

// skip goes on, or with -1 back, by the step of the settings.
export const skip = by => { if (sound) seek(audio.currentTime + by * $("stepSize").value); };

// step goes to the next word or, with paragraphs, the beginning of a paragraph.
export function step(by, paragraphs) {
  const words = text.words(), i = text.at(audio.currentTime);
  if (!words.length || !sound) return;
  let to = words[Math.max(0, Math.min(words.length - 1, i + by))];
  if (paragraphs) {
    const all = text.paragraphs(), here = Math.max(0, i < 0 ? 0 : words[i].paragraph);
    to = {word: all[Math.max(0, Math.min(all.length - 1, here + by))].words[0]};
  }
  seek(to.word.start);
  text.follow();
  text.light(to.word.start, true);
}

let visited = -1; // the doubtful word that was gone to last

// doubt goes to the next word, or with -1 the one before, that may be wrong, and returns its place.
export function doubt(by) {
  const words = text.words(), from = sound ? text.at(audio.currentTime) : visited;
  const found = by > 0 ? words.findIndex((w, i) => w.unsure && i > from) : words.findLastIndex((w, i) => w.unsure && i < from);
  if (found < 0) return null;
  visited = found;
  const {word, paragraph} = words[found];
  if (sound) seek(word.start);
  text.light(word.start, true);
  return {paragraph, ...word};
}

// heard returns the words of the sentence that is heard; none without a sound.
export const heard = () => sound && text.words().length ? text.sentence(audio.currentTime) : null;

// doubted returns the doubtful word that is heard, or that was gone to last.
export function doubted() {
  const words = text.words();
  return [sound ? text.at(audio.currentTime) : -1, visited].map(i => words[i]).find(w => w && w.unsure);
}

// faster goes to the next speed of the list, in either direction.
export function faster(by) {
  const i = speeds.indexOf(+$("speed").value) + by;
  if (i < 0 || i >= speeds.length) return;
  $("speed").value = String(speeds[i]);
  $("speed").onchange();
}

// keepPlace notes where the recording was stopped, and goBack goes there.
function keepPlace() {
  if (!job || !sound || probing || audio.readyState < 2 || audio.currentTime === (job.heard || 0)) return;
  job.heard = audio.currentTime;
  onLeft(job);
}

const goBack = () => { audio.currentTime = job.heard && job.heard < length() - 1 ? job.heard : 0; };

// connect adds the handlers. ready is called with a recording and its length once its sound can be played, left with one
// that was stopped at another place.
export function connect(ready, left) {
  onLeft = left;
  wave = new Wave($("wave"), seek);
  audio.onplay = () => { paused = false; showState(); tick(); };
  audio.onpause = audio.onended = () => { paused = !audio.ended; showState(); keepPlace(); };
  audio.onseeked = () => { showTime(); keepPlace(); text.light(audio.currentTime, true); rows.light(audio.currentTime); };
  audio.onerror = () => { if (sound) $("bar").classList.add("mute"); };
  audio.onloadedmetadata = () => {
    $("bar").classList.remove("mute");
    $("result").classList.toggle("picture", audio.videoWidth > 0);
    subtitles.update(job);
    if (audio.duration === Infinity) { // of a recording: going to the end makes the browser find it
      const found = () => {
        if (!probing) return;
        goBack();
        probing = false;
        refresh();
      };
      for (const event of ["durationchange", "seeked"]) audio.addEventListener(event, found, {once: true});
      probing = true;
      audio.currentTime = 1e7;
    } else goBack();
    refresh();
    if (length()) ready(job, length());
  };
  $("play").onclick = audio.onclick = toggle;
  $("fullScreen").onclick = audio.ondblclick = () => audio.requestFullscreen();
  $("earlier").onclick = () => skip(-1);
  $("later").onclick = () => skip(1);
  $("speed").onchange = () => { audio.playbackRate = audio.defaultPlaybackRate = +$("speed").value; };
  $("wave").onkeydown = e => { // the arrows are keys of the whole page
    const to = {Home: 0, End: length(), PageUp: audio.currentTime + 30, PageDown: audio.currentTime - 30}[e.key];
    if (to === undefined) return;
    seek(to);
    e.preventDefault();
  };
}

// The waveform of the player: peaks of the sound, tinted by speaker, with marks below doubtful words and where words are
// missing, and the time at the pointer.
import {short} from "./formats.js";

const perSecond = 25; // peaks, from 0 to 255
const wholeLimit = 40 * 60; // seconds that are decoded at once, at some 2.6 MB a second while the browser decodes
const slice = 4 << 20; // bytes of a longer WAV or MP3 file that are decoded at once
const rate = 8000; // Hz; peaks need no more

// peaksOf decodes a file. It returns null for sound that the browser cannot decode, or that is too long to decode at
// once and has no frames to cut at.
export async function peaksOf(file, duration) {
  const levels = [], each = rate / perSecond;
  for (const part of await parts(file, duration)) {
    const data = await part.arrayBuffer(), sound = await new OfflineAudioContext(1, 1, rate).decodeAudioData(data).catch(() => null);
    if (!sound) return null;
    const channels = Array.from({length: sound.numberOfChannels}, (_, c) => sound.getChannelData(c));
    for (let from = 0; from < sound.length; from += each) {
      let top = 0;
      for (const c of channels) for (let i = from; i < from + each && i < c.length; i++) top = Math.max(top, Math.abs(c[i]));
      levels.push(Math.min(255, Math.round(255 * top)));
    }
  }
  return levels.length ? Uint8Array.from(levels) : null;
}

async function parts(file, duration) {
  if (duration <= wholeLimit) return [file];
  const head = new DataView(await file.slice(0, 4096).arrayBuffer()), four = at => String.fromCharCode(...new Uint8Array(head.buffer, at, 4));
  let before = null, from = 0;
  if (head.byteLength > 44 && four(0) === "RIFF" && four(8) === "WAVE") {
    for (from = 12; from + 8 < head.byteLength && four(from) !== "data";) from += 8 + head.getUint32(from + 4, true) + head.getUint32(from + 4, true) % 2;
    if (from + 8 >= head.byteLength) return [];
    before = head.buffer.slice(0, from += 8);
  } else if (four(0).slice(0, 3) !== "ID3" && (head.getUint16(0) & 0xffe0) !== 0xffe0) return [];
  const list = [], size = slice - slice % 1536; // whole samples of up to eight channels of 8, 16, 24 and 32 bits
  for (; from < file.size; from += size) {
    const piece = file.slice(from, from + size);
    list.push(before ? new Blob([before, piece]) : piece);
  }
  return list;
}

// Wave draws into the canvas of an element, which is a slider. on has seek(seconds).
export class Wave {
  constructor(element, seek) {
    Object.assign(this, {element, canvas: element.firstElementChild, duration: 0, from: 0, span: 0, time: 0, peaks: null, words: [], speakers: [], gaps: []});
    new ResizeObserver(() => this.draw()).observe(element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.colours = null; this.draw(); });
    const to = e => { if (this.duration) seek(this.timeAt(e)); };
    element.onpointerdown = e => {
      if (e.button) return;
      element.setPointerCapture(e.pointerId);
      to(e);
    };
    element.onpointermove = e => {
      if (element.hasPointerCapture(e.pointerId)) to(e);
      this.hover = this.timeAt(e);
      this.draw();
    };
    element.onpointerleave = () => { this.hover = null; this.draw(); };
  }

  timeAt(e) {
    const r = this.element.getBoundingClientRect();
    return Math.max(0, Math.min(1, (e.clientX - r.left) / r.width)) * this.shown() + this.from;
  }

  // shown returns the seconds that are shown: all, unless span is set, which begin at from.
  shown() { return this.span || this.duration || 1; }

  // x returns where a time is, of a width.
  x(time, width) { return (time - this.from) / this.shown() * width; }

  // set changes what is drawn: peaks, duration, words {word, paragraph} with times, the speaker of a paragraph as a
  // number, or -1, gaps, where speech has no words, and the part that is shown.
  set(what) {
    Object.assign(this, what);
    this.draw();
  }

  // at moves the end of what was played.
  at(time) {
    const x = Math.round(this.x(time, this.element.clientWidth));
    this.time = time;
    if (x !== this.played) this.draw();
  }

  draw() {
    const {canvas, element} = this, scale = window.devicePixelRatio || 1, width = element.clientWidth, height = element.clientHeight;
    if (!width || !height) return;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
    const c = canvas.getContext("2d"), colours = this.colours ||= this.readColours();
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.font = "12px system-ui, sans-serif";
    c.clearRect(0, 0, width, height);
    this.played = Math.round(this.x(this.time, width));
    const bars = Math.max(1, Math.floor(width / 3)), room = height - 6, tops = this.tops(bars), who = this.who(bars);
    for (let i = 0; i < bars; i++) {
      const x = i * 3, h = Math.max(2, tops[i] * room), played = x < this.played;
      c.fillStyle = who[i] >= 0 ? colours.speakers[who[i] % 6] : played ? colours.brand : colours.soft;
      c.globalAlpha = who[i] >= 0 && !played ? 0.5 : 1;
      c.fillRect(x, (room - h) / 2, 2, h);
    }
    c.globalAlpha = 1;
    c.fillStyle = colours.doubt;
    if (this.duration) for (const {word, doubtful} of this.words) if (doubtful) c.fillRect(this.x(word.start, width), height - 4, Math.max(3, this.x(word.end, width) - this.x(word.start, width)), 3);
    if (this.duration) for (const g of this.gaps) { // hatched
      for (let x = Math.round(this.x(g.start, width)); x < this.x(g.end, width); x += 4) c.fillRect(x, height - 4, 2, 3);
    }
    c.fillStyle = colours.brand;
    if (this.duration && this.played >= 0 && this.played <= width) c.fillRect(Math.min(width - 2, Math.max(0, this.played - 1)), 0, 2, height);
    if (!this.duration || this.hover == null) return;
    const text = short(this.hover), label = c.measureText(text).width + 10, x = this.x(this.hover, width);
    c.fillStyle = colours.ink;
    c.fillRect(x - 0.5, 0, 1, height);
    const left = Math.max(0, Math.min(width - label, x + (x > width - label - 4 ? -label - 2 : 3)));
    c.fillRect(left, 0, label, 18);
    c.fillStyle = colours.card;
    c.fillText(text, left + 5, 13);
  }

  // readColours returns the colours of the style sheet as a canvas wants them.
  readColours() {
    const read = name => {
      this.canvas.style.color = `var(--${name})`;
      return getComputedStyle(this.canvas).color;
    };
    return {soft: read("wave"), ink: read("ink"), card: read("card"), brand: read("brand"), doubt: read("doubt-mark"), speakers: [0, 1, 2, 3, 4, 5].map(i => read("s" + i))};
  }

  // tops returns the height of each bar, from 0 to 1: of the peaks or, without, where there are words.
  tops(bars) {
    const tops = new Float32Array(bars), {peaks} = this;
    if (peaks && peaks.length) {
      const loudest = peaks.reduce((a, b) => Math.max(a, b), 32), at = i => Math.floor((this.from + i * this.shown() / bars) / (this.duration || 1) * peaks.length);
      for (let i = 0; i < bars; i++) {
        const from = at(i), to = Math.max(from + 1, at(i + 1));
        for (let j = from; j < to && j < peaks.length; j++) tops[i] = Math.max(tops[i], peaks[j] / loudest);
      }
    } else this.mark(bars, i => { tops[i] = 0.4; });
    return tops;
  }

  // who returns the speaker of each bar.
  who(bars) {
    const who = new Int8Array(bars).fill(-1);
    this.mark(bars, (i, paragraph) => { if (this.speakers[paragraph] >= 0) who[i] = this.speakers[paragraph]; });
    return who;
  }

  // mark calls put with each bar of each word, and the paragraph of the word.
  mark(bars, put) {
    if (this.duration) for (const {word, paragraph} of this.words) {
      for (let i = Math.max(0, Math.floor(this.x(word.start, bars))); i <= this.x(word.end, bars) && i < bars; i++) put(i, paragraph);
    }
  }
}

// Some seconds of the waveform, with subtitles as boxes that can be moved and pulled longer.
import * as player from "./player.js";
import * as text from "./text.js";
import {Wave} from "./wave.js";

const each = 56, edge = 9; // pixels of a second, and at the ends of a box that change its length

export class Strip {
  // move is called with a row and its new times, choose with one that was clicked.
  constructor(move, choose) {
    Object.assign(this, {move, choose, element: document.getElementById("strip"), rows: [], from: 0, time: 0});
    this.wave = new Wave(this.element, player.seek);
    new ResizeObserver(() => this.draw()).observe(this.element);
    this.element.addEventListener("wheel", e => {
      if (!e.deltaX && !e.shiftKey) return;
      e.preventDefault();
      this.show(this.from + (e.deltaX || e.deltaY) / each);
    }, {passive: false});
  }

  load(job, rows, order) {
    this.rows = rows;
    Object.assign(this.wave, {peaks: job.peaks, duration: player.length(), words: text.words(), speakers: text.paragraphs().map(p => p.speaker == null ? -1 : order.indexOf(p.speaker))});
    this.draw();
  }

  span() { return this.element.clientWidth / each; }

  // show begins the strip at a time.
  show(from) {
    this.from = Math.max(0, Math.min(from, player.length() - this.span()));
    this.draw();
  }

  reveal(row) { if (row.start < this.from || row.end > this.from + this.span()) this.show(row.start - this.span() / 4); }

  at(t) {
    this.time = t;
    this.wave.at(t);
    if (t < this.from || t > this.from + 0.95 * this.span()) this.show(t - this.span() / 10);
  }

  draw() {
    const span = this.span();
    if (!span || this.held) return;
    this.wave.set({from: this.from, span, time: this.time});
    for (const b of this.element.querySelectorAll("span")) b.remove();
    for (const row of this.rows) if (row.end > this.from && row.start < this.from + span) this.box(row);
  }

  box(row) {
    const box = Object.assign(document.createElement("span"), {textContent: row.text, title: row.text, className: (row.fixed ? "fixed " : "") + (row.fast || row.long || row.wide ? "bad" : "")});
    const place = (start, end) => Object.assign(box.style, {left: (start - this.from) * each + "px", width: Math.max(4, (end - start) * each - 1) + "px"});
    let from = 0, start = row.start, end = row.end, first = true, last = true;
    place(start, end);
    box.onpointerdown = e => {
      if (e.button) return;
      e.stopPropagation();
      e.preventDefault();
      box.setPointerCapture(e.pointerId);
      const r = box.getBoundingClientRect(), near = Math.min(e.pointerType === "touch" ? 2 * edge : edge, r.width / 3);
      [this.held, from] = [box, e.clientX];
      [first, last] = e.clientX < r.left + near ? [true, false] : e.clientX > r.right - near ? [false, true] : [true, true];
    };
    box.onpointermove = e => {
      e.stopPropagation();
      if (this.held !== box) return;
      const by = (e.clientX - from) / each;
      [start, end] = [row.start + (first ? by : 0), row.end + (last ? by : 0)];
      place(start, Math.max(end, start + 0.1));
    };
    box.onpointerup = () => {
      this.held = null;
      if (Math.abs(start - row.start) + Math.abs(end - row.end) < 0.03) this.choose(row); else this.move(row, start, end);
      this.draw();
    };
    box.onpointercancel = () => { this.held = null; this.draw(); };
    this.element.append(box);
  }
}

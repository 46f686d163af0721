// Live sound as confirmed text, and text that may still change. Sound goes to the server in pieces, over OpenAI's
// realtime transcription. The text of a delta is final. What is said is stored as it comes: a page that ends loses seconds.
import {devices, listen, mix, stop} from "./inputs.js";
import {request, explain, Failure, headers} from "./api.js";
import {append, capital, endsSentence} from "./paragraphs.js";
import * as store from "./store.js";

const storedEach = 1000; // ms of sound that are stored at once
const savedEach = 5; // pieces of sound after which the length is stored, with the text
const bitRate = 48000; // of Opus, a second
const quiet = 60; // of 32768: less is the silence of a microphone that is switched off
const retryEach = 2000; // ms between two attempts to reach the server again
const busyDelay = 5000; // ms: with a longer delay the page calls the server busy
const answerIn = 1000; // ms in which a server answers; without one the sound is recorded all the same
const mostEarly = 300; // pieces of sound that a server that answers late still gets as live sound
const missing = " […] "; // in the text where words are missing

export class Live {
  // on has the functions level(0 … 1), began(), text(first changed paragraph), tentative(text, whether it begins an utterance), changed()
  // and ended(failure).
  constructor(job, options, on) {
    Object.assign(this, {job, options, on, inputs: [], items: new Map(), open: 0, pieces: [], levels: [], samples: 0, base: 0}); // base: where in the sound the session began, in seconds
  }

  async start() {
    try {
      this.inputs = await listen(this.options.source, this.options.microphone);
    } catch (e) {
      return this.end(e);
    }
    this.context = new AudioContext();
    const later = new Promise(f => setTimeout(f, answerIn));
    await Promise.race([later, this.context.audioWorklet.addModule(new URL("worklet.js", import.meta.url)).then(() => { this.worklet = true; }, () => {})]); // no server
    if (this.over) return this.close();
    this.connect();
    await later;
    if (this.ready || this.over) return;
    this.job.offline = "slow";
    this.job.missed = true;
    this.listen();
  }

  connect() {
    const address = new URL("v1/realtime?intent=transcription", document.baseURI);
    address.protocol = address.protocol.replace("http", "ws");
    this.socket = new WebSocket(address, ["realtime", ...this.options.key ? ["openai-insecure-api-key." + this.options.key] : []]);
    this.socket.onmessage = m => this.event(JSON.parse(m.data));
    this.socket.onclose = () => this.lost();
  }

  // lost finds out why there is no connection: WebSockets have no reason.
  async lost() {
    if (this.over) return;
    if (this.ready) {
      if (this.why && !this.goesOn) return this.end(this.why);
      if (!this.stopping) return this.away();
      this.job.missed = true; // the second text has the rest
      return this.end(null);
    }
    const why = await request("v1/models", {headers: headers(this.options.key)}).then(() => new Failure("Too many others record at the moment. Try again in a minute."), e => e);
    if (this.over) return;
    if (why.remedy !== "server") return this.end(why);
    this.away();
    if (!this.ready) this.listen();
  }

  // away keeps recording while there is no connection, and tries to have one again.
  away() {
    Object.assign(this, {why: null, goesOn: false, open: 0});
    this.job.offline = this.job.missed = true;
    this.on.tentative("");
    this.hear(0);
    this.timer = setTimeout(() => this.connect(), retryEach);
  }

  send(event) { if (this.socket && this.socket.readyState === 1) this.socket.send(JSON.stringify(event)); }

  event(e) {
    const item = this.items.get(e.item_id);
    for (const x of [e, ...e.words || []]) if (x.start !== undefined) [x.start, x.end] = [x.start + this.base, x.end + this.base];
    ({
      "session.created": () => this.configure(),
      "session.updated": () => this.begin(),
      "input_audio_buffer.speech_started": () => {
        this.hear(1);
        this.items.set(e.item_id, {end: e.audio_start_ms / 1000 + this.base, text: "", words: [], segments: []});
      },
      delta: () => { this.on.tentative(""); this.delta(item, e); },
      tentative: () => this.on.tentative(e.text, !item.text),
      segment: () => { if (e.speaker) item.segments.push(e); },
      completed: () => { this.completed(item, e); this.done(); },
      failed: () => this.done(),
      error: () => this.refused(e.error),
    })[e.type.replace("conversation.item.input_audio_transcription.", "")]?.();
  }

  completed(item, {language, latency}) {
    this.divide(item);
    if (language) this.job.language = language;
    const late = latency?.median_ms > busyDelay ? latency.median_ms / 1000 : 0;
    if (latency?.words > 3 && late !== (this.job.late || 0)) { this.job.late = late; this.on.changed(); }
  }

  done() {
    this.hear(-1);
    this.on.tentative("");
    this.endWhenDone();
  }

  refused(error) {
    if (error.code === "input_audio_buffer_commit_empty" || this.why) return;
    this.goesOn = error.type === "server_error"; // in another session
    this.why = this.goesOn ? new Failure("Verity was stopped during this recording. What was said until then is kept.") : explain(error, 0);
    if (!this.goesOn) this.mute(); // further sound would be ignored
    if (!this.ready) this.end(this.why);
  }

  // hear notes that an utterance begins, or with -1 has its text.
  hear(by) {
    this.open += by;
    this.job.hearing = this.open > 0;
    this.on.changed();
  }

  // begun returns what comes next with a capital where a sentence begins: the model may write the first word of a pass small.
  begun(text) {
    const last = this.job.paragraphs.at(-1);
    return !last || endsSentence(last.text) ? capital(text) : text;
  }

  delta(item, e) {
    const words = e.words || [], start = item.end;
    e.delta = this.begun(e.delta);
    if (words.length) words[0].word = this.begun(words[0].word);
    const end = words.length ? words[words.length - 1].end : start;
    if (!item.before) item.before = structuredClone(this.job.paragraphs.slice(-1));
    item.from ??= this.job.paragraphs.length - item.before.length;
    item.words.push(...words);
    const changed = append(this.job.paragraphs, {text: this.broken ? missing + e.delta.trimStart() : e.delta, start, end, words, follows: item.text !== "", apart: this.broken});
    this.broken = false;
    item.text += e.delta;
    item.end = end;
    this.on.text(changed);
  }

  // divide writes an utterance again by who speaks, which is known at its end.
  divide(item) {
    if (!item.segments.length || !item.before) return;
    const before = this.job.paragraphs.length, voices = () => new Set(this.job.paragraphs.flatMap(p => p.speaker ?? [])).size, few = voices();
    this.job.paragraphs.splice(item.from, before, ...item.before);
    const within = ({start, end}) => item.words.filter(w => w.start + w.end >= 2 * start && w.start + w.end < 2 * end); // by their middle
    for (const s of item.segments) append(this.job.paragraphs, {text: this.begun(s.text), start: s.start, end: s.end, speaker: s.speaker, words: within(s)});
    this.on.text(this.job.paragraphs.length < before || voices() !== few ? undefined : item.from);
  }

  configure() {
    const {speakers, model, language, prompt} = this.options, transcription = {model: speakers ? "gpt-4o-transcribe-diarize" : model, ...language && {language}, ...prompt && {prompt}};
    this.send({type: "session.update", session: {type: "transcription", include: ["item.input_audio_transcription.tentative", "item.input_audio_transcription.words"],
      audio: {input: {format: {type: "audio/pcm", rate: this.context.sampleRate}, transcription, turn_detection: {type: "server_vad", silence_duration_ms: 1200}}}}});
  }

  begin() {
    if (!this.ready) return this.listen();
    this.job.offline = false;
    if (this.early) this.early.forEach(e => this.send(e));
    else [this.base, this.broken] = [this.samples / this.context.sampleRate, true];
    this.job.missed = !this.early;
    this.early = null;
    this.on.changed();
  }

  // listen begins to record.
  listen() {
    this.ready = true;
    this.early = this.job.offline ? [] : null;
    [this.node, this.stream] = mix(this.context, this.inputs, this.worklet, piece => this.add(piece));
    for (const s of this.inputs) s.getTracks()[0].onended = () => this.nameInputs(); // it was unplugged, or is no longer shared
    this.context.resume();
    this.nameInputs();
    this.record();
    this.on.began();
  }

  nameInputs() {
    this.job.device = devices(this.inputs);
    if (this.job.device) this.on.changed(); else this.stop();
  }

  add(piece) {
    if (this.muted || this.job.paused) return;
    let top = 0, binary = "";
    for (const x of piece) top = Math.max(top, Math.abs(x));
    if (top > quiet) this.heard = this.samples;
    const silent = this.samples - (this.heard || 0) > 4 * this.context.sampleRate;
    if (silent !== !!this.job.silent) {
      this.job.silent = silent;
      this.on.changed();
    }
    this.on.level(Math.min(1, top / 32768));
    const bytes = new Uint8Array(piece.buffer);
    for (let i = 0; i < bytes.length; i += 8192) binary += String.fromCharCode(...bytes.subarray(i, i + 8192));
    const event = {type: "input_audio_buffer.append", audio: btoa(binary)};
    if (!this.job.offline) this.send(event); else if (this.early && this.early.push(event) > mostEarly) this.early = null;
    this.levels.push(Math.round(top / 128.5));
    this.samples += piece.length;
    this.job.duration = this.samples / this.context.sampleRate;
  }

  // pause stops recording for a while, or goes on.
  pause() {
    if (!this.ready || this.stopping) return;
    this.job.paused = !this.job.paused;
    if (this.recorder && this.recorder.state !== "inactive") this.recorder[this.job.paused ? "pause" : "resume"]();
    if (this.job.paused) this.send({type: "input_audio_buffer.commit"}); // what was said becomes text
    this.on.level(0);
    this.on.changed();
  }

  // record compresses the sound and stores it piece by piece, if the browser can.
  record() {
    const kind = window.MediaRecorder && ["audio/webm;codecs=opus", "audio/mp4", "audio/ogg;codecs=opus"].find(k => MediaRecorder.isTypeSupported(k));
    if (!kind) return this.job.note = "its sound is not kept";
    this.job.kind = kind.split(";")[0];
    this.recorder = new MediaRecorder(this.stream, {mimeType: kind, audioBitsPerSecond: bitRate});
    this.recorder.ondataavailable = async e => {
      if (!e.data.size) return;
      const n = this.pieces.push(e.data) - 1;
      this.job.sound = (this.job.sound || 0) + e.data.size;
      if (!await store.addSound(this.job, n, e.data)) this.job.note = "its sound is not kept";
      if (!this.over && n % savedEach === 0) store.save(this.job);
    };
    this.recorded = new Promise(done => { this.recorder.onstop = done; });
    this.recorder.start(storedEach);
  }

  // flush stores the sound until now.
  flush() { if (this.recorder && this.recorder.state !== "inactive") this.recorder.requestData(); }

  mute() {
    this.muted = true;
    if (this.recorder && this.recorder.state !== "inactive") this.recorder.stop();
    stop(this.inputs);
    if (this.node) this.node.disconnect();
    this.on.level(0);
  }

  // stop ends the session when all sound has its text; called again, at once.
  stop() {
    if (this.stopping || !this.ready) return this.end(null);
    this.stopping = this.job.stopping = true;
    this.mute();
    this.on.changed();
    this.send({type: "input_audio_buffer.commit"});
    this.endWhenDone();
  }

  endWhenDone() {
    if (!this.stopping) return;
    clearTimeout(this.timer);
    if (this.open > 0 && this.socket && this.socket.readyState === 1) return;
    this.timer = setTimeout(() => { // a commit may have begun an item
      if (this.open <= 0) this.end(null);
    }, 300);
  }

  close() {
    clearTimeout(this.timer);
    this.mute();
    if (this.context && this.context.state !== "closed") this.context.close();
    if (this.socket) this.socket.close(1000);
  }

  async end(failure) {
    if (this.over) return;
    this.over = true;
    this.close();
    await this.recorded;
    if (this.samples) {
      if (this.pieces.length) this.job.file = new Blob(this.pieces, {type: this.job.kind});
      this.job.peaks = Uint8Array.from(this.levels);
    }
    this.on.ended(failure);
  }
}

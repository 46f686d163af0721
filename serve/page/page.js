"use strict";
const $ = id => document.getElementById(id);
// What is transcribed: a file, or what the microphone heard; its name; and its text.
let sound = null, title = "", running = null, segments = [];

function say(message, bad) { $("status").textContent = message; $("status").classList.toggle("bad", !!bad); }

function form() {
  const f = new FormData();
  f.append("stream", "true");
  f.append("timestamp_granularities[]", "segment");
  f.append("timestamp_granularities[]", "word");
  f.append("include[]", "verity.progress");
  if ($("mark").checked) f.append("include[]", "verity.accepted");
  if ($("language").value.trim()) f.append("language", $("language").value.trim());
  f.append("file", sound, sound.name);
  return f;
}

function headers() { return $("key").value ? {Authorization: "Bearer " + $("key").value} : {}; }

// look asks whether there is an assistant, whose drafts could be marked.
async function look() {
  const r = await fetch("v1/models", {headers: headers()}).catch(() => null);
  if (r && r.status === 401) $("keys").hidden = false;
  const known = r && r.ok && (await r.json()).data[0];
  $("mark").disabled = !known || !known.assisted;
  $("why").textContent = !known ? "The server has not said whether it has an assistant." :
    known.assisted ? "" : "This server was started without an assistant (--assistant).";
}

async function call(body) {
  const r = await fetch("v1/audio/" + $("task").value, {method: "POST", body, headers: headers(), signal: running.signal});
  if (r.ok) return r;
  if (r.status === 401) $("keys").hidden = false;
  const problem = await r.json().catch(() => null);
  throw new Error(problem ? problem.error.message : "the server answered " + r.status);
}

// The text as it is decided: server-sent events, one a line behind "data: ".
async function stream(r) {
  const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith("data: {")) continue;
      const event = JSON.parse(line.slice(6));
      if (event.type === "transcript.text.segment") show(event);
      if (event.type === "verity.progress") $("progress").value = event.total > 0 ? event.done / event.total : 1;
      if (event.type === "error") throw new Error(event.error.message);
    }
  }
}

function show(s) {
  segments.push(s);
  spell($("text"), s.text, s.words, s.start, s.pieces);
}

// spell appends text, in which each word can be clicked to be heard. What is no word of
// the list, such as space, stands between. Without words the text is one.
function spell(into, text, words, start, pieces) {
  let at = 0;
  const cuts = drafted(pieces || []);
  for (const w of words && words.length ? words : [{word: text, start}]) {
    const found = w.word ? text.indexOf(w.word, at) : -1;
    if (found < 0) continue;
    into.append(text.slice(at, found));
    into.append(clickable(w, found, text.slice(found, found + w.word.length), cuts));
    at = found + w.word.length;
  }
  into.append(text.slice(at));
}

// drafted returns from where to where the accepted pieces are.
function drafted(pieces) {
  let at = 0;
  return pieces.map(p => ({from: at, to: at += p.text.length, accepted: p.accepted})).filter(p => p.accepted);
}

// clickable is a word at a place of its text. Of all words one is reached by Tab, the
// others from there by the arrow keys.
function clickable(w, at, text, cuts) {
  const b = document.createElement("span"); // not a button, which cannot break into lines
  b.setAttribute("role", "button");
  b.tabIndex = $("text").querySelector("[tabindex='0']") ? -1 : 0;
  b.title = clock(w.start, ".");
  b.start = w.start;
  let done = at;
  for (const c of cuts) {
    const from = Math.max(c.from, done), to = Math.min(c.to, at + text.length);
    if (from >= to) continue;
    const mark = document.createElement("span");
    mark.className = "accepted";
    mark.textContent = text.slice(from - at, to - at);
    b.append(text.slice(done - at, from - at), mark);
    done = to;
  }
  b.append(text.slice(done - at));
  return b;
}

function hear(word) {
  $("player").currentTime = word.start;
  $("player").play();
}

function step(e) {
  const here = e.target.closest("[role=button]");
  if (!here) return;
  if (e.key === "Enter" || e.key === " ") hear(here);
  else {
    const all = [...$("text").querySelectorAll("[role=button]")], i = all.indexOf(here);
    const next = {ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: all.length - 1}[e.key];
    if (next === undefined) return;
    if (all[next]) reach(all[next]);
  }
  e.preventDefault();
}

function reach(word) {
  for (const b of $("text").querySelectorAll("[tabindex='0']")) b.tabIndex = -1;
  word.tabIndex = 0;
  word.focus();
}

function clock(t, point) {
  const ms = Math.round(t * 1000), pad = (n, w) => String(n).padStart(w, "0");
  return pad(Math.floor(ms / 3600000), 2) + ":" + pad(Math.floor(ms / 60000) % 60, 2) + ":" +
    pad(Math.floor(ms / 1000) % 60, 2) + point + pad(ms % 1000, 3);
}

const formats = {
  txt: () => segments.map(s => s.text.trim() + "\n").join(""),
  srt: () => segments.map((s, i) => (i + 1) + "\n" + clock(s.start, ",") + " --> " + clock(s.end, ",") + "\n" + s.text.trim() + "\n\n").join(""),
  vtt: () => "WEBVTT\n\n" + segments.map(s => clock(s.start, ".") + " --> " + clock(s.end, ".") + "\n" + s.text.trim() + "\n\n").join(""),
  json: () => JSON.stringify({text: segments.map(s => s.text).join(""), segments: segments.map(({start, end, text}) => ({start, end, text}))}, null, 1),
};

async function start(file) {
  drop();
  const mine = running = new AbortController();
  sound = file;
  title = file.name;
  begin();
  play(file);
  $("progress").removeAttribute("value"); // not known yet
  $("progress").hidden = false;
  say("Transcribing " + file.name + " …");
  const began = performance.now();
  try {
    await stream(await call(form()));
    say(segments.length ? "Done in " + ((performance.now() - began) / 1000).toFixed(1) + " s." : "No speech was found.");
  } catch (e) {
    if (mine !== running) return;
    say(e.name === "AbortError" ? "Stopped." : e.message, e.name !== "AbortError");
  }
  if (mine === running) finish();
}

// drop ends what runs, at once, for something else to begin.
function drop() {
  if (running instanceof Live) running.close();
  else if (running) running.abort();
}

function begin() {
  segments = [];
  $("text").replaceChildren();
  $("tentative").textContent = "";
  $("player").hidden = true;
  $("progress").hidden = true;
  $("saves").hidden = true;
  $("stop").disabled = false;
}

function finish() {
  running = null;
  $("stop").disabled = true;
  $("listen").disabled = false;
  $("level").hidden = true;
  $("progress").hidden = true;
  $("tentative").textContent = "";
  $("saves").hidden = segments.length === 0;
}

function play(blob) {
  URL.revokeObjectURL($("player").src);
  $("player").src = URL.createObjectURL(blob);
  $("player").hidden = false;
}

function save(format) {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(new Blob([formats[format]()], {type: "text/plain"}));
  a.download = title.replace(/\.[^.]*$/, "") + "." + format;
  a.click();
  say("Saved " + a.download + ".");
}

// The microphone, as text that stands and text that may still change. Sound goes to the
// server in pieces, over OpenAI's realtime transcription; what a delta says is final.
class Live {
  constructor() {
    this.items = new Map(); // by id: where it is in the sound, and its text
    this.open = 0; // items without their last word
    this.pieces = []; // of sound, to be heard again
    this.kept = 0; // samples of them
  }

  abort() { // the Stop button
    if (this.stopping) return this.end("Stopped.");
    this.stopping = true;
    this.mute();
    say("Finishing …");
    this.send({type: "input_audio_buffer.commit"});
    this.settle();
  }

  async start() {
    try {
      this.stream = await navigator.mediaDevices.getUserMedia({audio: {channelCount: 1, echoCancellation: false, autoGainControl: true}});
      this.context = new AudioContext();
      await this.context.audioWorklet.addModule("page/worklet.js");
      if (running !== this) return this.close();
      this.connect();
    } catch (e) {
      this.end(e.name === "NotAllowedError" ? "The browser does not let this page use the microphone." : "The microphone cannot be used: " + e.message, true);
    }
  }

  connect() {
    const address = new URL("v1/realtime?intent=transcription", location.href);
    address.protocol = address.protocol.replace("http", "ws");
    const protocols = ["realtime"];
    if ($("key").value) protocols.push("openai-insecure-api-key." + $("key").value);
    this.socket = new WebSocket(address, protocols);
    this.socket.onmessage = m => this.event(JSON.parse(m.data));
    this.socket.onclose = () => this.lost();
  }

  // lost asks why there is no connection: sockets do not tell.
  async lost() {
    if (running !== this) return;
    if (this.ready) return this.end(this.why || "The connection is lost.", true);
    const r = await fetch("v1/realtime?intent=transcription", {headers: headers()}).catch(() => null);
    const problem = r && await r.json().catch(() => null);
    if (r && r.status === 401) $("keys").hidden = false;
    this.end(problem && r.status !== 426 ? problem.error.message : "The server cannot be reached, or has no room.", true);
  }

  send(event) { if (this.socket && this.socket.readyState === 1) this.socket.send(JSON.stringify(event)); }

  event(e) {
    const item = this.items.get(e.item_id);
    switch (e.type) {
      case "session.created": return this.configure();
      case "session.updated": return this.listen();
      case "input_audio_buffer.speech_started":
        this.open++;
        this.items.set(e.item_id, {start: e.audio_start_ms / 1000, end: 0, text: "", node: null});
        return;
      case "input_audio_buffer.speech_stopped":
        item.end = e.audio_end_ms / 1000;
        return;
      case "conversation.item.input_audio_transcription.delta": return this.add(item, e.delta, e.words);
      case "conversation.item.input_audio_transcription.tentative":
        $("tentative").textContent = (item.node || !segments.length ? "" : "\n") + e.text;
        return;
      case "conversation.item.input_audio_transcription.completed":
      case "conversation.item.input_audio_transcription.failed":
        this.open--;
        $("tentative").textContent = "";
        if (e.error) say(e.error.message, true);
        return this.settle();
      case "error":
        if (e.error.code === "input_audio_buffer_commit_empty") return;
        this.why = e.error.message;
        say(this.why, true);
    }
  }

  configure() {
    const transcription = {};
    if ($("language").value.trim()) transcription.language = $("language").value.trim();
    this.send({type: "session.update", session: {type: "transcription", include: ["item.input_audio_transcription.tentative", "item.input_audio_transcription.words"],
      audio: {input: {format: {type: "audio/pcm", rate: this.context.sampleRate}, transcription, turn_detection: {type: "server_vad", silence_duration_ms: 1200}}}}});
  }

  listen() {
    if (this.ready) return;
    this.ready = true;
    this.node = new AudioWorkletNode(this.context, "microphone", {numberOfOutputs: 0, channelCount: 1, channelCountMode: "explicit"});
    this.node.port.onmessage = m => this.hear(m.data);
    this.context.createMediaStreamSource(this.stream).connect(this.node);
    this.context.resume();
    $("level").hidden = false;
    say("Listening …");
  }

  hear(piece) {
    let top = 0, binary = "";
    for (const x of piece) top = Math.max(top, Math.abs(x));
    $("level").firstElementChild.style.width = Math.min(100, Math.sqrt(top / 32768) * 100) + "%";
    const bytes = new Uint8Array(piece.buffer);
    for (let i = 0; i < bytes.length; i += 8192) binary += String.fromCharCode(...bytes.subarray(i, i + 8192));
    this.send({type: "input_audio_buffer.append", audio: btoa(binary)});
    if (this.kept < 30 * 60 * this.context.sampleRate) { // half an hour can be heard again
      this.pieces.push(piece);
      this.kept += piece.length;
    }
  }

  add(item, text, words) {
    item.text += text;
    if (!item.node) {
      if (segments.length) $("text").append("\n");
      segments.push(item);
      item.node = document.createElement("span");
      $("text").append(item.node);
    }
    spell(item.node, text, words, item.start);
    $("tentative").textContent = "";
  }

  mute() {
    if (this.stream) for (const t of this.stream.getTracks()) t.stop();
    if (this.node) this.node.disconnect();
    $("level").hidden = true;
  }

  // settle ends a session that was stopped when every item has its text.
  settle() {
    if (!this.stopping) return;
    clearTimeout(this.timer);
    if (this.open > 0 && this.socket && this.socket.readyState === 1) return;
    this.timer = setTimeout(() => { // a commit may have begun an item
      if (this.open <= 0 || !this.ready) this.end(segments.length ? "Done." : "No speech was heard.");
    }, 300);
  }

  close() {
    clearTimeout(this.timer);
    this.mute();
    if (this.context && this.context.state !== "closed") this.context.close();
    if (this.socket) this.socket.close(1000);
  }

  end(message, bad) {
    if (running !== this) return;
    for (const s of segments) if (!s.end) s.end = s.start;
    if (this.kept) play(wave(this.pieces, this.kept, this.context.sampleRate));
    finish();
    this.close();
    say(message, bad);
  }
}

// wave makes a sound file of what was heard.
function wave(pieces, samples, rate) {
  const head = new DataView(new ArrayBuffer(44));
  const text = (at, s) => { for (let i = 0; i < s.length; i++) head.setUint8(at + i, s.charCodeAt(i)); };
  text(0, "RIFF"); text(8, "WAVEfmt "); text(36, "data");
  head.setUint32(4, 36 + 2 * samples, true);
  head.setUint32(16, 16, true);
  head.setUint16(20, 1, true);
  head.setUint16(22, 1, true);
  head.setUint32(24, rate, true);
  head.setUint32(28, 2 * rate, true);
  head.setUint16(32, 2, true);
  head.setUint16(34, 16, true);
  head.setUint32(40, 2 * samples, true);
  return new Blob([head, ...pieces], {type: "audio/wav"});
}

$("listen").onclick = () => {
  drop();
  title = "microphone.wav";
  begin();
  $("listen").disabled = true;
  running = new Live();
  say($("task").value === "translations" ? "Live text is in the language spoken …" : "Asking for the microphone …");
  running.start();
};
$("text").onclick = e => {
  const word = e.target.closest("[role=button]");
  if (!word) return;
  reach(word);
  hear(word);
};
$("text").onkeydown = step;
$("mark").onchange = () => $("text").classList.toggle("marked", $("mark").checked);
$("key").onchange = look;
look();
$("file").onchange = () => { if ($("file").files[0]) start($("file").files[0]); };
$("stop").onclick = () => running && running.abort();
for (const b of $("saves").children) b.onclick = () => save(b.dataset.format);
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, e => {
    e.preventDefault();
    $("drop").classList.toggle("over", kind === "dragover");
    if (kind === "drop" && e.dataTransfer.files[0]) start(e.dataTransfer.files[0]);
  });
}

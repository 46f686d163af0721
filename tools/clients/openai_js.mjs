// What OpenAI's JavaScript client expects of verity serve, for files and for live sound. make clients runs it.
//
//   node openai_js.mjs VERITY MODEL SOUND.wav
//
// VERITY is the program, MODEL its checkpoint, SOUND.wav 16 kHz mono of 16 bits.
import assert from "node:assert/strict";
import {execFileSync, spawn} from "node:child_process";
import {createReadStream, readFileSync} from "node:fs";
import {createRequire} from "node:module";
import {join} from "node:path";
import {pathToFileURL} from "node:url";

const [verity, model, sound] = process.argv.slice(2);
const modules = createRequire(join(process.cwd(), "package.json")); // npm install puts them there
const load = async name => await import(pathToFileURL(modules.resolve(name)));
const {default: OpenAI} = await load("openai"), {OpenAIRealtimeWS} = await load("openai/realtime/ws");
const version = JSON.parse(readFileSync("node_modules/openai/package.json")).version;

// The client opens live sessions over TLS only.
process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
process.removeAllListeners("warning");
execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=localhost"], {stdio: "ignore"});
const server = spawn(verity, ["serve", "--model", model, "--listen", "127.0.0.1:0", "--tls-cert", "cert.pem,key.pem"], {stdio: ["ignore", "ignore", "pipe"]});
const address = await new Promise((yes, no) => {
  let text = "";
  server.stderr.on("data", d => { const found = / on (https:\S+)\n/.exec(text += d); if (found) yes(found[1]); });
  server.once("exit", () => no(new Error(text)));
});
const want = execFileSync(verity, ["transcribe", "--quiet", "--model", model, "--output-format", "txt", sound]).toString().split(/\s+/).join(" ").trim();
const client = base => new OpenAI({baseURL: base, apiKey: "none", maxRetries: 0});
const create = (options, base = address + "/v1") => client(base).audio.transcriptions.create({model: "whisper-1", file: createReadStream(sound), ...options});

async function files() {
  assert.equal((await create()).text, want);
  assert.equal((await create({}, address)).text, want, "a base URL without /v1");
  assert.equal((await create({}, address + "/v1/")).text, want, "a base URL with a slash");
  const newer = await create({model: "gpt-transcribe", keywords: ["seven"], languages: ["en"]});
  assert.deepEqual(newer.languages.map(l => l.code), ["en"]);
  assert.equal(newer.usage.total_tokens, newer.usage.input_tokens + newer.usage.output_tokens);
  const speakers = await create({model: "gpt-4o-transcribe-diarize", response_format: "diarized_json", chunking_strategy: "auto"});
  assert.equal(speakers.segments.map(s => s.text).join(" "), want);
  assert.ok(speakers.segments.every(s => s.speaker && s.type === "transcript.text.segment"));
  let deltas = "";
  for await (const e of await create({stream: true})) if (e.type === "transcript.text.delta") deltas += e.delta;
  assert.equal(deltas.split(/\s+/).join(" ").trim(), want);
  await assert.rejects(create({stream: true, response_format: "vtt"}), {status: 400, code: "invalid_value"});
}

// The sound as 16-bit samples at 16 kHz, and as G.711 at 8 kHz.
const pcm = new Int16Array(readFileSync(sound).buffer.slice(44)), narrow = pcm.filter((_, i) => i % 2 === 0);
const muLaw = x => {
  const sign = x < 0 ? 0x80 : 0, v = Math.min(32635, Math.abs(x)) + 132, exponent = Math.floor(Math.log2(v)) - 7;
  return ~(sign | exponent << 4 | v >> exponent + 3 & 15) & 0xff;
};
const aLaw = x => {
  const sign = x < 0 ? 0 : 0x80, v = Math.min(32767, Math.abs(x)), exponent = v < 256 ? 0 : Math.floor(Math.log2(v)) - 7;
  return (sign | exponent << 4 | v >> (exponent ? exponent + 3 : 4) & 15) ^ 0x55;
};
const silence = seconds => Buffer.alloc(32000 * seconds);
const speech = {"audio/pcm": Buffer.from(pcm.buffer), "audio/pcmu": Buffer.from(Array.from(narrow, muLaw)), "audio/pcma": Buffer.from(Array.from(narrow, aLaw))};

// session opens a session with an input, sends pieces of sound and, unless the server cuts into turns, a commit. It
// returns the events until one of a type.
function session(input, pieces, until) {
  const events = [], socket = new OpenAIRealtimeWS({model: "gpt-realtime"}, client(address + "/v1"));
  return new Promise((yes, no) => {
    socket.on("error", e => { if (e.error && e.error.type) return; no(e); });
    socket.on("event", e => {
      events.push(e);
      if (e.type === "session.created") socket.send({type: "session.update", session: {type: "transcription", audio: {input}}});
      if (e.type === "session.updated") {
        for (const piece of pieces) {
          for (let at = 0; at < piece.length; at += 16000) socket.send({type: "input_audio_buffer.append", audio: piece.subarray(at, at + 16000).toString("base64")});
        }
        if (input.turn_detection === null) socket.send({type: "input_audio_buffer.commit"});
      }
      if (e.type === until || e.type === "error" && until !== "error") { socket.close(); if (e.type === until) yes(events); else no(new Error(JSON.stringify(e))); }
    });
  });
}

const completed = "conversation.item.input_audio_transcription.completed";

async function live() {
  const transcription = {model: "gpt-live-transcribe", languages: ["en"], delay: "low"};
  for (const [type, data] of Object.entries(speech)) {
    const format = type === "audio/pcm" ? {type, rate: 16000} : {type};
    const last = (await session({format, transcription, turn_detection: null}, [data], completed)).at(-1);
    assert.ok(last.transcript.split(" ").length >= 5, type + ": " + last.transcript);
  }
  const format = {type: "audio/pcm", rate: 16000};
  const turns = await session({format, transcription, turn_detection: {type: "semantic_vad", eagerness: "high"}}, [speech["audio/pcm"], silence(3)], completed);
  const kind = turns.find(e => e.type === "session.updated").session.audio.input.turn_detection.type;
  assert.equal(kind, "server_vad", "semantic_vad is server_vad, and the session says so");
  assert.ok(turns.some(e => e.type === "input_audio_buffer.speech_stopped"));
  const empty = await session({format, transcription, turn_detection: null}, [], "error");
  assert.equal(empty.at(-1).error.code, "input_audio_buffer_commit_empty");
  const quiet = await session({format, transcription, turn_detection: null}, [silence(2)], completed);
  assert.equal(quiet.at(-1).transcript, "", "a commit without speech");
}

try {
  await files();
  await live();
} finally {
  server.kill();
}
console.log("openai", version, "for JavaScript gets what it expects");

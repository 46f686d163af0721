// Requests to the server, and its errors in the words of this page.
import {decode} from "./decode.js";

// home reports whether Verity runs on this computer.
export const home = /^(localhost|127\.[\d.]+|\[::1\])$/.test(globalThis.location?.hostname);

// goHome opens the address that the terminal shows, if that is another name of this computer: a browser keeps recordings
// by address.
export async function goHome() {
  const [host, port] = home ? (await (await fetch("page/address")).text()).split(/:(?=\d+$)/) : [];
  if (port && port === location.port && host !== location.hostname && location.protocol === "http:") location.replace(`//${host}:${port}/`);
}

// A Failure has a sentence for people, and a remedy: "key" asks for an API key, "file" another file, "ffmpeg" that program, "settings" other
// settings, "text" another text to align, "server" that the server is there again; without one, trying again may help.
export class Failure extends Error {
  constructor(message, remedy) { super(message); this.remedy = remedy; }
}

// sentence says what went wrong. Errors of browsers say nothing to people.
export const sentence = e => e instanceof Failure ? e.message : "This page failed at it. Reload the page and try again.";

const sentences = {
  invalid_api_key: ["Verity wants an API key here. Ask whoever runs Verity for it, and type it in the settings.", "key"],
  uploads_full: ["Verity has no room for more files at the moment. Try again in a minute."],
  rate_limit_exceeded: ["Too many others use Verity at the moment. Try again in a minute."],
  host: ["Verity does not answer at this address. Open the address that its terminal shows."],
};

const languageRefused = ["The model does not know this language. Choose another, or “Detect”.", "settings"];
const byParam = {
  language: languageRefused,
  "session.audio.input.transcription.language": languageRefused,
  model: ["This model cannot translate. Choose the text “as spoken”.", "settings"],
  speakers: ["Speakers cannot be told apart here. Choose “Do not tell them apart”.", "settings"],
  prompt: ["The names and terms cannot be used. Write fewer, with commas between them.", "settings"],
};

const byStatus = {408: "The upload was too slow or was interrupted. Try again.", 503: "Verity is starting, stopping, or too slow with this file. Try again in a minute."};

// withFFmpeg are the files that Verity reads where ffmpeg is installed, and install returns the command that does that.
const withFFmpeg = /MP4|QuickTime|AAC|AMR|AIFF|Sun AU|Core Audio|Ogg|Matroska/;
const install = () => /Win/.test(navigator.platform) ? "winget install Gyan.FFmpeg" : /Mac/.test(navigator.platform) ? "brew install ffmpeg" : "sudo apt install ffmpeg";

// unreadable says in a sentence what a file is that has no sound for the server, and in another what to do, given the
// server's error.
function unreadable(message) {
  const [, kind] = /\b(?:got|is) (an? [^,;:]*?)(?: that ffmpeg|[,;:]|$)/.exec(message) || [];
  if (kind === "a text file") return "This is a text file, not sound. If it is the text of a recording, choose the recording first, then this file.";
  if (/is empty/.test(message)) return "This file is empty. Record or copy it again.";
  if (/no audio track/.test(message)) return "This video has no sound. Choose one that has, or the sound that belongs to it.";
  if (/damaged|cut off|moov atom not found/.test(message)) return `This file is ${/damaged/.test(message) ? "damaged" : "cut off"}. Copy or download it again.`; // MP4 has its index, moov, at the end
  if (!kind || /no known format/.test(kind)) return "Verity finds no sound in this file. It may be damaged: copy it again, or save it as MP3 where it was made.";
  if (!withFFmpeg.test(kind) || /ffmpeg cannot/.test(message)) return `Verity cannot read ${kind}. Save it as WAV, FLAC, MP3 or Opus and choose that file.`;
  return `This is ${kind}, which needs ffmpeg. ` + (home ? `Type ${install()} in a terminal, then start Verity in a new terminal, and try again.` : "Ask whoever runs Verity to install it.");
}

// explain turns an error of the API into a Failure.
export function explain(problem, status) {
  const {code, param, message = ""} = problem || {}, known = sentences[code === "origin" ? "host" : code], [, most] = / than ([^,:]*)/.exec(message) || [];
  if (known) return new Failure(...known);
  if (code === "invalid_audio") {
    const why = unreadable(message);
    return new Failure(why, /ffmpeg/.test(why) ? "ffmpeg" : "file"); // with it, the same file can be tried again
  }
  if (param === "align") return new Failure(message.replace(/^align: ./, s => s.at(-1).toUpperCase()).replace(/, want at least (.*)/, "; at least $1 must be") + ".", "text");
  if (/ of a transcript/.test(message)) return new Failure("There is no text with times in this file. Choose JSON, SRT or VTT that Verity or another program made from speech.");
  if (byParam[param]) return new Failure(...byParam[param]);
  if (status === 502 || /is shutting down/.test(message)) return unreachable();
  if (code === "audio_too_long") return new Failure(`This recording is longer than ${most}, the limit here. Cut it into parts, or start Verity with a larger --max-audio.`, "file");
  if (status === 413 || code === "file_too_large") return new Failure(`This file is larger than ${most ? most + ", the limit here" : "Verity allows"}. Save it as MP3, which is ten times smaller than WAV, or start Verity with a larger --max-upload.`, "file");
  return new Failure(byStatus[status] || (status >= 500 ? "Verity failed at this. Try again; the terminal where it runs says why." : message || "This page does not know the answer of Verity, which may be newer. Reload the page."));
}

// starting is the command that starts Verity at the address of this page.
export const starting = "verity serve" + (globalThis.location?.host === "127.0.0.1:8000" ? "" : " --listen " + globalThis.location?.host);

export const unreachable = () => new Failure("Verity cannot be reached. " + (home ? `Start it: type ${starting} in a terminal.` : "Check your network, and that it runs there."), "server");

export function headers(key) { return key ? {Authorization: "Bearer " + key} : {}; }

// request fetches, and throws a Failure for every error but an abort.
export async function request(path, options) {
  let r;
  try {
    r = await fetch(path, options);
  } catch (e) {
    if (e.name === "AbortError") throw e;
    throw unreachable();
  }
  if (r.ok) return r;
  const answer = await r.json().catch(() => null);
  const key = options && options.headers && options.headers.Authorization;
  if (key && r.status === 401) throw new Failure("Verity does not know this API key. Type it again, or ask whoever runs Verity for another.", "key");
  throw explain(answer && answer.error, r.status);
}

// fetchModel returns the model of the server.
export const fetchModel = async key => (await (await request("v1/models", {headers: headers(key)})).json()).data[0];

const others = [[/^image\//, "a picture, not sound. Choose a recording."], [/pdf$|msword|officedocument|opendocument|\.(docx?|odt|rtf|xlsx?|pptx?|pages|epub)$/i, "a document, not sound. Choose a recording."], [/\.(zip|7z|rar|t?gz|tar)$/i, "an archive, not sound. Unpack it, and choose the recording that is in it."]];

// transcribe uploads a file and calls back for each event of the stream. A file that cannot be read there is decoded here.
export async function transcribe(file, ...rest) {
  try {
    await upload(file, ...rest);
  } catch (e) {
    const other = e.remedy === "file" && others.find(([kind]) => kind.test(file.type) || kind.test(file.name));
    if (other) throw new Failure("This is " + other[1], "file");
    if (e.remedy !== "file" && e.remedy !== "ffmpeg") throw e;
    rest.at(-1)({type: "decoding"});
    const sound = await decode(file);
    if (!sound) throw e;
    await upload(sound, ...rest);
  }
}

async function upload(file, name, o, signal, event) {
  const f = new FormData();
  f.append("stream", "true");
  for (const g of ["segment", "word"]) f.append("timestamp_granularities[]", g);
  for (const i of ["verity.progress", "verity.early", ...o.align ? [] : ["logprobs"]]) f.append("include[]", i);
  f.append("model", o.model);
  for (const field of ["align", "language", "prompt", "speakers"]) if (o[field]) f.append(field, o[field]);
  if (o.from) f.append("clip_timestamps", o.from); else f.append("vad_filter", o.silence ? "true" : "false");
  f.append("file", file, name);
  const r = await request("v1/audio/" + o.task, {method: "POST", body: f, headers: headers(o.key), signal});
  event({type: "reading", warning: r.headers.get("X-Verity-Warning")}); // which of several tracks is read
  const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", ended = false;
  for (;;) {
    const {value, done} = await reader.read().catch(e => { throw e.name === "AbortError" ? e : unreachable(); });
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const waiting = /^: waiting, (\d+)/.exec(line);
      if (waiting) event({type: "waiting", before: +waiting[1]});
      if (!line.startsWith("data: {")) continue;
      const e = JSON.parse(line.slice(6));
      if (e.type === "error") throw explain(e.error, 0);
      if (e.type === "transcript.text.done") ended = true;
      event(e);
    }
  }
  if (!ended) throw unreachable();
}

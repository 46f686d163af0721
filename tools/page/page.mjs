// Drives the page of a running `verity serve` in Chromium, takes pictures of it and has
// axe-core look. Exits with 1 if something is not as it should be.
//
//   node page.mjs CHROMIUM PROGRAM MODEL SPEECH.wav PICTURES [PART…]
import {spawn} from "node:child_process";
import {mkdirSync, readFileSync, writeFileSync} from "node:fs";
import {createRequire} from "node:module";
import {chromium} from "playwright-core";
import * as captions from "./captions.mjs";
import * as highlights from "./highlights.mjs";
import * as more from "./subtitles.mjs";
import * as start from "./start.mjs";

const [browserPath, program, model, speech, pictures, ...only] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const port = 18300 + process.pid % 1000, url = `http://127.0.0.1:${port}/`;
let wrong = 0;
mkdirSync(pictures, {recursive: true});

function check(what, ok, got) {
  console.log(ok ? "ok   " : "WRONG", what, ok ? "" : JSON.stringify(got));
  if (!ok) wrong++;
}

let path = process.env.PATH; // of the server

async function serve(...flags) {
  const child = spawn(program, ["serve", "--model", model, "--listen", `127.0.0.1:${port}`, ...flags], {stdio: "ignore", env: {...process.env, PATH: path}});
  for (let i = 0; i < 600; i++) {
    if (await fetch(url + "readyz").then(r => r.ok, () => false)) return child;
    await new Promise(f => setTimeout(f, 100));
  }
  throw new Error("the server does not start");
}

const gone = child => new Promise(f => { child.once("exit", f); child.kill("SIGKILL"); });

let server = await serve("--log-level", "error");
const browser = await chromium.launch({executablePath: browserPath, args: [
  "--no-sandbox", "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream", `--use-file-for-fake-audio-capture=${speech}%noloop`,
  "--autoplay-policy=no-user-gesture-required"]});
const foreign = [], errors = [];

async function open(options, path = "", from = browser) {
  const context = await from.newContext({viewport: {width: 1440, height: 900}, permissions: ["microphone", "clipboard-read", "clipboard-write"], acceptDownloads: true, ...options});
  const page = await context.newPage();
  page.on("request", r => { if (!r.url().replace("localhost", "127.0.0.1").startsWith(url) && !/^(blob|data):/.test(r.url())) foreign.push(r.url()); });
  page.on("pageerror", e => errors.push(String(e)));
  page.on("console", m => { if (m.type() === "error" && !/status of|ERR_CONNECTION|response code: 503/.test(m.text()) && !(page.looked && /inline style/.test(m.text()))) errors.push(m.text()); });
  await page.goto(url + path);
  if (path) return page;
  await page.waitForFunction(() => document.getElementById("model").textContent.includes("·") || document.getElementById("status").textContent);
  return page;
}

const status = page => page.textContent("#status");
const announced = (page, text, timeout = 240000) => page.waitForFunction(t => document.getElementById("status").textContent.includes(t), text, {timeout});
const idle = page => page.waitForFunction(() => ![...document.querySelectorAll("#jobs li")].some(l => l.matches(".working, .queued, .live") || /waiting for Verity/.test(l.textContent)), null, {timeout: 240000}); // also what goes on when the page has found the server
// fitted waits until an open menu ends above the player: its event comes a moment after the click.
const fitted = page => page.waitForFunction(() => document.querySelector("details.menu[open]")?.lastElementChild.style.maxHeight);
const words = page => page.evaluate(() => [...document.querySelectorAll("#text p")].map(p => p.textContent).join("\n"));
const rows = page => page.evaluate(() => [...document.querySelectorAll("#jobs strong")].map(s => s.textContent));
const choose = (page, name) => page.evaluate(n => [...document.querySelectorAll("#jobs .name")].find(b => b.textContent.includes(n)).click(), name);
const playing = page => page.evaluate(() => !document.getElementById("player").paused);
const time = page => page.evaluate(() => document.getElementById("player").currentTime);
const lit = page => page.evaluate(() => { const h = CSS.highlights.get("now"); return h ? [...h].map(r => r.toString()).join("") : ""; });

// place returns the middle of a word of the text on the screen.
const place = (page, word) => page.evaluate(wanted => {
  for (const p of document.querySelectorAll("#text p")) {
    const at = p.textContent.indexOf(wanted), r = document.createRange();
    if (at < 0) continue;
    r.setStart(p.firstChild, at);
    r.setEnd(p.firstChild, at + wanted.length);
    const b = r.getBoundingClientRect();
    return {x: b.x + b.width / 2, y: b.y + b.height / 2};
  }
}, word);

async function forgetAll(page) {
  await page.click("#select");
  await page.click("#selectAll");
  await page.click("#deletePicked");
  await page.waitForFunction(() => !document.querySelector("#jobs li"));
}

// add adds files, also those that are there already, and starts them.
async function add(page, files) {
  await page.setInputFiles("#file", files);
  const known = page.getByRole("button", {name: "Add it again"});
  await page.waitForFunction(() => document.getElementById("begin").checkVisibility() || /Add it again/.test(document.getElementById("toasts").textContent));
  if (await known.isVisible()) await known.click();
  await page.click("#begin");
}

// remove deletes the recording that is open.
async function remove(page) {
  await page.focus("#jobs .chosen .name");
  await page.keyboard.press("Delete");
}

const widths = [[390, 844], [660, 500], [720, 450], [800, 600], [820, 1100], [1440, 900]]; // a laptop at 200 % has 640 to 960

// looks takes pictures in all widths, and has axe-core look.
async function looks(page, name, themes = ["light"]) {
  page.looked = true; // axe-core and pictures try styles that the page's policy forbids
  for (const [width, height] of widths) for (const colorScheme of themes) {
    await page.setViewportSize({width, height});
    await page.emulateMedia({colorScheme});
    await page.screenshot({path: `${pictures}/${name}-${width}${colorScheme === "dark" ? "-dark" : ""}.png`, caret: "initial"});
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check(`nothing overflows, ${name}, ${width} px`, wide <= 0, wide);
    const over = await page.evaluate(() => {
      const all = [...document.querySelectorAll(".tools > *, #bar > *")].filter(b => b.checkVisibility()).map(b => [b.id, b.getBoundingClientRect()]);
      return all.flatMap(([id, a]) => all.filter(([other, b]) => id < other && a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1).map(([other]) => id + " " + other));
    });
    const full = await page.evaluate(() => [...document.querySelectorAll(".tools > button, .tools summary, #bar button")].filter(b => b.checkVisibility() && b.scrollWidth > b.clientWidth + 1).map(b => b.textContent));
    check(`no button lies on another or is too small for its text, ${name}, ${width} px`, !over.length && !full.length, [over, full]);
    if (width > 600 && width < 1000) continue;
    await page.evaluate(axe);
    const found = await page.evaluate(() => axe.run().then(r => r.violations.map(v => v.id + ": " + v.nodes.map(n => n.html).join(" | "))));
    check(`axe-core, ${name}, ${width} px, ${colorScheme}`, found.length === 0, found);
    const small = await page.evaluate(() => [...document.querySelectorAll("button, select, summary, input:not([type=file])")]
      .filter(b => b.checkVisibility() && b.getBoundingClientRect().height < 20).map(b => b.outerHTML));
    check(`nothing is too small to touch, ${name}, ${width} px`, small.length === 0, small);
  }
  await page.setViewportSize({width: 320, height: 640});
  await page.evaluate(() => { document.documentElement.style.fontSize = "200%"; });
  check(`nothing overflows, ${name}, 320 px with text at 200 %`, await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), await page.evaluate(() => document.documentElement.scrollWidth));
  await page.evaluate(() => { document.documentElement.style.fontSize = ""; });
  await page.setViewportSize({width: 1440, height: 900});
  await page.emulateMedia({colorScheme: "light"});
}

// seed stores recordings of n sentences, with two speakers and doubtful words if wanted, and reloads the page.
async function seed(page, list) {
  await page.evaluate(async ({list, sound}) => {
    const store = await import("./page/store.js"), {append} = await import("./page/paragraphs.js");
    const sentences = ["So, let us begin with the harbour, and with what the surveyors found there in the spring.", "Nobody had measured the eastern wall since it was built.", "It leans, doesn't it?",
      "By about four centimetres, which is less than the fishermen say.", "They have been saying so for thirty years, to be fair.", "The question is whether we repair it or build it anew.",
      "I would rather see the figures first.", "You will have them on Thursday, together with the drawings of the lower gate."];
    const bytes = s => [...new TextEncoder().encode(s)], wav = new Blob([Uint8Array.from(atob(sound), c => c.charCodeAt(0))], {type: "audio/wav"});
    for (const [i, {name, sentences: n, speakers, ...more}] of list.entries()) {
      const paragraphs = [];
      let t = 0.4;
      for (let k = 0; k < n; k++) {
        const text = " " + sentences[k % 8], words = text.trim().split(" ").map(word => ({word, start: t, end: t += 0.33}));
        append(paragraphs, {text, start: words[0].start, end: t, words, speaker: speakers ? "AB"[Math.floor(k / 2) % 2] : undefined,
          logprobs: text.split(/(?= )/).map((w, j) => ({token: w, bytes: bytes(w), logprob: (k * 7 + j) % 23 === 5 ? -1.8 : (k + j) % 31 === 9 ? -0.9 : -0.1}))});
        t += k % 5 === 4 ? 2.5 : 0.3;
      }
      const id = 1e12 + list.length - i, job = {id, created: id, name, state: "done", language: "english", duration: n ? t : 4, task: "transcriptions", options: {}, kind: "audio/wav", paragraphs, sound: wav.size, ...more};
      if (!await store.save(job) || job.sound && !await store.addSound(job, 0, wav)) throw new Error("not stored");
    }
  }, {list, sound: readFileSync(speech, "base64")});
  await page.reload();
  await page.waitForSelector("#jobs li");
  await page.waitForFunction(() => document.getElementById("model").textContent.includes("·"));
}

// Each part drives the page on its own, so that one can be run alone: node page.mjs … PART.
const parts = {
  async states() {
    const page = await open();
    await page.goto(url.replace("127.0.0.1", "localhost"));
    await page.waitForURL(url);
    check("localhost leads to the printed address", true);
    check("an empty page says what it does", await page.isVisible("#welcome"), "");
    await looks(page, "empty", ["light", "dark"]);
    await seed(page, [{name: "Harbour board, 25 November.m4a", sentences: 40, speakers: true}, {name: "Interview with the surveyor.mp3", sentences: 24, gaps: [{start: 5.2, end: 7.9}, {start: 11, end: 12.4}]},
      {name: "A recording whose name is so long that it cannot possibly fit into the width of the list.flac", sentences: 8, sound: 0},
      {name: "letter.txt", sentences: 0, state: "failed", remedy: "file", duration: 0, language: "", error: "The server cannot read this file as sound. Save it as WAV, FLAC, MP3 or Opus and choose that file."},
      {name: "Lecture 12.opus", sentences: 0, state: "stopped", language: ""}, {name: "Silence.wav", sentences: 0}, {name: "Voice memo.m4a", sentences: 6}]);
    await page.evaluate(() => { document.body.dataset.view = "list"; });
    check("the list has the first words of each text", /^So, let us begin .* Nobody had$/.test(await page.textContent("#jobs .words")), await page.textContent("#jobs .words"));
    await looks(page, "list");
    await choose(page, "Harbour");
    await page.waitForFunction(() => document.querySelectorAll("#text p").length > 5);
    await looks(page, "speakers", ["light", "dark"]);
    await page.keyboard.press("t");
    for (const width of [390, 1440]) {
      await page.setViewportSize({width, height: 900});
      const apart = await page.evaluate(() => { const [t, s] = [".time", ".speaker"].map(c => document.querySelector("#text " + c).getBoundingClientRect()); return t.y + t.height / 2 - s.y - s.height / 2; });
      check(`a time stands beside its speaker, ${width} px`, Math.abs(apart) < 1, apart);
    }
    const left = await page.evaluate(async () => { const {state} = await import("./page/list.js"); return [0.52, 0.55].map(progress => state({state: "working", progress, first: {at: performance.now() - 10000, progress: 0.5}})); });
    check("the time left of a file that goes on is told from its new progress", /52 %$/.test(left[0]) && /55 %, 1:3\d left$/.test(left[1]), left);
    await page.click("#save summary");
    await looks(page, "times-and-save");
    await page.keyboard.press("Escape");
    check("Escape closes a menu", !await page.evaluate(() => document.getElementById("save").open), "");
    await page.keyboard.press("t");
    await page.keyboard.press("e");
    await page.click("#openFind");
    await page.fill("#findText", "the");
    await page.fill("#replaceText", "a");
    await looks(page, "edit-and-find", ["light", "dark"]);
    await page.click("#closeFind");
    await page.click("#edit");
    for (const [name, picture] of [["letter", "failed"], ["Lecture", "stopped"], ["Silence", "silent"]]) {
      await choose(page, name);
      await page.waitForSelector("#problem:not([hidden])");
      await looks(page, picture);
    }
    check("a file that is no sound is not tried again", !await page.evaluate(() => [...document.querySelectorAll("#problem button")].some(b => /again/.test(b.textContent)) && document.getElementById("title").value === "letter.txt"), "");
    await choose(page, "Harbour");
    for (const [button, picture, dialog] of [["#summary", "settings", "settings"], ["#openHelp", "keys", "help"]]) {
      await page.locator(button).first().click();
      await page.waitForSelector(`#${dialog}[open]`);
      await looks(page, picture);
      await page.evaluate(d => document.getElementById(d).close(), dialog);
    }
    await page.locator(".speaker:visible").nth(1).click();
    await looks(page, "rename");
    await page.keyboard.press("Escape");
    check("Escape leaves the name as it is", (await page.locator(".speaker:visible").nth(1).textContent()) === "Speaker 2" && !await playing(page), "");
    await page.locator("#text .row").nth(1).hover();
    const hidden = page.locator("#text .row:hover .who");
    check("a paragraph that continues has its speaker when it is pointed at", await hidden.count() === 0 || await hidden.isVisible(), "");
    await page.click("#people summary");
    await looks(page, "people");
    await page.keyboard.press("Escape");
    await choose(page, "Interview");
    await page.waitForSelector("#gaps:not([hidden])");
    check("speech without words is named", /could not be written:0:05–0:080:11–0:13/.test((await page.textContent("#gaps")).replace(/\s+/g, " ").replace(": ", ":")), await page.textContent("#gaps"));
    await looks(page, "gaps");
    await page.locator("#gaps button").first().click();
    await page.waitForFunction(() => document.getElementById("player").currentTime >= 5);
    check("and can be heard", await playing(page), "");
    await page.evaluate(() => document.getElementById("player").pause());
    await remove(page);
    await looks(page, "deleted");
    await page.click("#undo");
    await page.evaluate(() => { document.getElementById("drop").hidden = false; });
    await looks(page, "drop");
    await page.evaluate(() => { document.getElementById("drop").hidden = true; });
    await page.emulateMedia({media: "print"});
    check("only the text is printed", !await page.isVisible("#record") && !await page.isVisible("#bar") && !await page.isVisible("#copy") && await page.isVisible("#text p"), "");
    await page.screenshot({path: `${pictures}/print.png`});
    await page.context().close();
  },

  async text() {
    const page = await open();
    await seed(page, [{name: "Harbour.m4a", sentences: 40, speakers: true}, {name: "Interview.mp3", sentences: 24}]);
    await choose(page, "Interview");
    await page.waitForFunction(() => document.getElementById("player").readyState > 0 && document.querySelector("#text p"));
    // A click on a word plays it, and it lights up; Space pauses there.
    const at = await place(page, "surveyors");
    await page.mouse.click(at.x, at.y);
    await page.waitForFunction(() => document.getElementById("player").currentTime > 4 && CSS.highlights.get("now"));
    await page.waitForFunction(() => !document.getElementById("player").paused);
    check("a word that is clicked plays", true);
    await page.keyboard.press(" ");
    check("Space pauses, also after a click on a word", !await playing(page), "");
    await page.evaluate(() => { document.getElementById("player").currentTime = 4.3; });
    await page.waitForFunction(() => CSS.highlights.get("now"));
    check("the word that is heard is lit", /\w/.test(await lit(page)), await lit(page));
    const key = async (k, want, what) => {
      const before = await time(page);
      await page.keyboard.press(k);
      await page.waitForTimeout(100);
      const moved = await time(page) - before;
      check(what, Math.abs(moved - want) < 0.1 || want === null && Math.abs(moved) > 0.1, moved);
    };
    await key("ArrowRight", 5, "→ goes on 5 s");
    await key("ArrowLeft", -5, "← goes back 5 s");
    await key("Shift+ArrowRight", null, "Shift+→ goes to another word");
    
    await page.keyboard.press(">");
    await page.keyboard.press(">");
    check("> plays faster", await page.evaluate(() => document.getElementById("player").playbackRate) === 1.5, "");
    for (let i = 0; i < 9; i++) await page.keyboard.press("<");
    check("< plays slower, down to 0.5", await page.evaluate(() => document.getElementById("player").playbackRate) === 0.5, "");
    await page.keyboard.press("Escape");
    check("Escape plays only while the text is edited", !await playing(page), "");
    await key("ArrowRight", 5, "→ goes on");
    await page.keyboard.press(" ");
    await page.waitForTimeout(400);
    await page.keyboard.press(" ");
    const paused = await time(page);
    await page.keyboard.press(" ");
    check("playing on begins 1.5 s earlier", paused - await time(page) > 1 && paused - await time(page) < 1.6, [paused, await time(page)]);
    await page.keyboard.press(" ");
    const box = await page.locator("#wave").boundingBox();
    await page.mouse.move(box.x + box.width / 4, box.y + 10);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2, box.y + 10);
    await page.mouse.up();
    const half = await page.evaluate(() => document.getElementById("player").currentTime / document.getElementById("player").duration);
    check("dragging in the waveform seeks", Math.abs(half - 0.5) < 0.02, half);
    await page.waitForFunction(() => { const c = document.querySelector("#wave canvas"), d = c.getContext("2d").getImageData(0, c.height / 2 | 0, c.width, 1).data; return new Set(d).size > 3; });
    check("the waveform is drawn", true);

    // Playing keeps the word in view, until somebody scrolls.
    await choose(page, "Harbour");
    await page.waitForFunction(() => document.querySelectorAll("#text p").length > 10 && document.getElementById("player").readyState > 0);
    await page.setViewportSize({width: 1440, height: 420});
    await page.evaluate(() => { const a = document.getElementById("player"); a.currentTime = Math.min(a.duration - 1, 60); return a.play(); }); // a pause before it plays is an error in the console
    await page.waitForFunction(() => { const h = CSS.highlights.get("now"); if (!h) return false; const r = [...h][0].getBoundingClientRect(); return r.top > 100 && r.bottom < innerHeight; });
    check("what is played stays in view", true);
    await page.evaluate(() => document.getElementById("player").pause());
    await page.setViewportSize({width: 1440, height: 900});

    // Copy, speakers, save.
    await page.click("#copy");
    await announced(page, "Copied.");
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    check("Copy gives paragraphs with their speakers", /^Speaker 1: So, let us begin .* built\.\n\nSpeaker 2: It leans/.test(copied), copied.slice(0, 300));
    const rename = async (i, name) => {
      await page.locator(".speaker:visible").nth(i).click();
      await page.keyboard.type(name);
      await page.keyboard.press("Enter");
      check("the focus stays on the name", await page.evaluate(() => document.activeElement.textContent) === name, await page.evaluate(() => document.activeElement.outerHTML.slice(0, 100)));
    };
    await rename(0, "Dr. Nakamura");
    await page.waitForFunction(() => document.querySelector(".speaker").textContent === "Dr. Nakamura");
    check("a speaker has another name", (await page.locator(".speaker").first().textContent()) === "Dr. Nakamura" && await page.locator(".speaker:visible", {hasText: "Dr. Nakamura"}).count() > 3, "");
    const saved = async b => {
      await page.click("#save summary");
      if (!await page.locator(b).first().isVisible()) await page.click("#save .more summary");
      const [download] = await Promise.all([page.waitForEvent("download"), page.click(b)]);
      return [download.suggestedFilename(), readFileSync(await download.path())];
    };
    for (const [format, start] of [["txt", /^Dr. Nakamura: So, let us/], ["md", /^# Harbour\n\n\*.*English\*\n\n\*\*Dr\. Nakamura:\*\* So/], ["srt", /^1\n00:00:0\d,\d{3} --> /], ["vtt", /^WEBVTT\n\n00:.*\n<v Dr\. Nakamura>So/], ["ass", /^\[Script Info\][^]*Dr\. Nakamura: So/],
      ["json", /^\{\n "task": "transcribe",\n "language": "[a-z]+",\n "duration": \d/], ["docx", /^PK/]]) {
      const [name, data] = await saved(`#save [data-format=${format}]`), text = data.toString();
      check(`saved as ${format}`, start.test(text) && name === "Harbour." + format, [name, text.slice(0, 200)]);
      if (format === "srt") check("lines of subtitles are short", text.split("\n").every(l => l.length <= 60 || /-->/.test(l)), text.slice(0, 300));
    }
    const [name, data] = await saved("#saveSound");
    check("the sound is saved", name === "Harbour.m4a" && data.equals(readFileSync(speech)), name);

    // Editing as running text.
    await page.click("#edit");
    const split = await place(page, "Nobody");
    await page.mouse.click(split.x, split.y);
    await page.keyboard.press("Home");
    await page.keyboard.type("Well, ");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Escape");
    check("Escape plays while the text is edited", await playing(page), "");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+Enter");
    const edited = await page.evaluate(() => document.querySelectorAll("#text p").length);
    check("editing splits a paragraph", /\nNobody had|Well,\n/.test(await words(page)), (await words(page)).slice(0, 200));
    await page.keyboard.press("/");
    await page.keyboard.type("harbour");
    await page.waitForFunction(() => /^1 of \d/.test(document.getElementById("found").textContent));
    check("/ finds", true);
    await page.keyboard.press("Escape");
    await page.click("#edit");
    await page.click("#openFind");
    // Borders of paragraphs.
    const count = () => page.locator("#text p").count(), paragraphs = await count(), third = await place(page, "fishermen");
    await page.mouse.click(third.x, third.y);
    await page.keyboard.type("X");
    await page.keyboard.press("Enter");
    check("Enter begins a paragraph at once, with a time", await count() === paragraphs + 1 && await page.evaluate(() => /^0:1\d$/.test(getSelection().anchorNode.parentElement.dataset.time)), await count());
    await page.keyboard.press("Control+z");
    check("Ctrl+Z takes it back alone, and the caret is where it was", await count() === paragraphs && await page.evaluate(() => getSelection().anchorNode.data[getSelection().anchorOffset - 1]) === "X", await words(page));
    await page.keyboard.press("Control+z");
    await page.keyboard.press("Home");
    while (await page.evaluate(() => getSelection().anchorOffset)) await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Backspace");
    check("Backspace joins paragraphs, with a space", await count() === paragraphs - 1 && !/[.?][A-Z]/.test(await words(page)), await words(page));
    await page.keyboard.press("Control+z");
    // One history for everything that is changed, also after editing has ended.
    const before = await words(page), at0 = await place(page, "Nobody");
    await page.mouse.click(at0.x, at0.y);
    await page.keyboard.press("Home");
    await page.keyboard.type("Hello ");
    await page.fill("#findText", "harbour");
    await page.fill("#replaceText", "HARBOUR");
    await page.click("#replaceOne");
    const one = await words(page);
    check("typing and replacing one", /Hello/.test(one) && one.split("HARBOUR").length === 2, one.slice(0, 200));
    await page.focus("#text");
    await page.keyboard.press("Control+z");
    check("Ctrl+Z takes back replacing", !/HARBOUR/.test(await words(page)) && /Hello/.test(await words(page)), (await words(page)).slice(0, 200));
    await page.keyboard.press("Control+z");
    check("and typing before it", await words(page) === before, (await words(page)).slice(0, 200));
    await page.keyboard.press("Control+Shift+z");
    await page.keyboard.press("Control+Shift+z");
    check("Ctrl+Shift+Z makes both again", await words(page) === one, (await words(page)).slice(0, 200));
    await page.click("#closeFind");
    await page.click("#edit");
    await page.keyboard.press("Control+z");
    await page.keyboard.press("Control+z");
    check("also after editing has ended", await words(page) === before && !await page.evaluate(() => document.getElementById("text").isContentEditable), (await words(page)).slice(0, 200));
    await rename(1, "Dr. Nakamura");
    check("two speakers with one name are one", new Set(await page.locator(".speaker:visible").allTextContents()).size === 1, await page.locator(".speaker:visible").allTextContents());
    await choose(page, "Interview");
    check("a message with Undo goes with its recording", !await page.isVisible("#undo"), await status(page));
    await choose(page, "Harbour");
    await page.waitForFunction(() => document.querySelectorAll("#text p").length > 10);
    await rename(0, "Ann");
    await page.setViewportSize({width: 390, height: 844});
    await page.click("#save summary");
    await fitted(page);
    check("and does not lie on a menu", await page.evaluate(() => { document.querySelector("#print").scrollIntoView({block: "nearest"}); const r = document.querySelector("#print").getBoundingClientRect(); return document.querySelector("#print").contains(document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2)); }), "");
    await page.keyboard.press("Escape");
    await page.setViewportSize({width: 1440, height: 900});
    await page.click("#undoEdit");
    await page.click("#undoEdit");
    check("the message goes with what it offers to undo", !await page.isVisible("#undo"), await status(page));
    check("until that is undone", new Set(await page.locator(".speaker:visible").allTextContents()).size === 2, await page.locator(".speaker:visible").allTextContents());
    await page.click("#edit");
    await page.click("#openFind");
    await page.fill("#findText", "fishermen");
    await page.fill("#replaceText", "fishers");
    await page.check("#wholeWords");
    await page.fill("#findText", "fisher");
    check("whole words only", await page.textContent("#found") === "not found", await page.textContent("#found"));
    await page.fill("#findText", "fishermen");
    await page.click("#replaceAll");
    check("it says how many", /^\d+ replaced$/.test(await page.textContent("#found")), await page.textContent("#found"));
    await page.uncheck("#wholeWords");
    await page.click("#closeFind");
    await page.click("#edit");
    check("replacing replaces all", !/fishermen/.test(await words(page)) && /fishers/.test(await words(page)), "");
    await page.waitForTimeout(300);
    const json = JSON.parse((await saved("#save [data-format=json]"))[1]);
    const measured = json.words.find(w => w.word === "measured");
    check("words that stand keep their times", Math.abs(measured.start - 6.98) < 0.5 && measured.end > measured.start, measured);
    await page.fill("#title", "Harbour, second draft");
    await page.keyboard.press("Enter");
    await page.reload();
    await page.waitForSelector("#jobs li");
    await choose(page, "Harbour, second draft");
    await page.waitForFunction(() => document.querySelectorAll("#text p").length > 5);
    check("changes are still there after a reload", /fishers/.test(await words(page)) && await page.evaluate(() => document.querySelectorAll("#text p").length) === edited, "");

    // A reload amid a word, and right after it: nothing is lost. A double click edits; doubtful words are gone through.
    const comma = await place(page, "harbour,");
    await page.mouse.dblclick(comma.x, comma.y);
    check("a double click edits a word, without its comma", await page.evaluate(() => String(getSelection())) === "harbour", await page.evaluate(() => String(getSelection())));
    await page.keyboard.press("Control+Enter");
    const word = await place(page, "surveyors");
    await page.mouse.dblclick(word.x, word.y);
    check("a double click edits the word", await page.evaluate(() => String(getSelection())) === "surveyors" && !await playing(page), await page.evaluate(() => String(getSelection())));
    await page.keyboard.type("measurers");
    await page.reload();
    await page.waitForFunction(() => document.querySelectorAll("#text p").length > 5);
    check("a reload opens the recording that was open, and keeps what was just typed", /measurers/.test(await words(page)), (await words(page)).slice(0, 200));
    await page.keyboard.press("e");
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("Afterwards. ");
    await page.keyboard.press("Control+Enter");
    await page.reload();
    await page.waitForFunction(() => document.querySelectorAll("#text p").length > 5);
    check("and what was done", /^Afterwards\./.test(await words(page)) && await page.evaluate(() => !Object.keys(localStorage).some(k => k.startsWith("unsaved"))), (await words(page)).slice(0, 200));
    await page.evaluate(() => { document.getElementById("player").currentTime = 4; });
    await choose(page, "Interview");
    await choose(page, "Harbour, second draft");
    await page.waitForFunction(() => Math.abs(document.getElementById("player").currentTime - 4) < 0.1);
    check("a recording goes on where it was stopped", true);
    await page.evaluate(() => { document.getElementById("player").currentTime = 0; });
    const doubts = [];
    for (const key of ["d", "d", "Shift+D"]) {
      await page.keyboard.press(key);
      await page.waitForTimeout(150);
      doubts.push(await time(page));
    }
    check("D goes to the next doubtful word, Shift+D back", doubts[0] > 0 && doubts[1] > doubts[0] && Math.abs(doubts[2] - doubts[0]) < 0.1, doubts);
    const heard = () => page.getByRole("status").filter({hasText: /^Doubtful: \S+$/}); // by what a screen reader has
    check("a screen reader hears the doubtful word", await heard().count() === 1 && await page.locator(".toast").count() === 0, await status(page));
    const left = async () => +/(\d+) doubtful/.exec(await page.textContent("#facts"))[1], some = await left(), said = await status(page);
    await page.keyboard.press("r");
    await page.waitForTimeout(150);
    check("R says that it is right, and goes on", await left() === some - 1 && Math.abs(await time(page) - doubts[1]) < 0.1 && await status(page) !== said, [some, await left(), await time(page), doubts]);
    await page.keyboard.press("e");
    await page.keyboard.press("F8");
    check("so does F8 while the text is edited", await left() === some - 2 && await page.evaluate(() => document.getElementById("text").isContentEditable && !getSelection().isCollapsed), [some, await left()]);
    await page.keyboard.press("Control+Enter");
    await page.keyboard.press("Control+z");
    check("Ctrl+Z takes that back", await left() === some - 1, [some, await left()]);
    await page.reload();
    await page.waitForFunction(() => / doubtful/.test(document.getElementById("facts").textContent));
    check("and the rest stays", await left() === some - 1, [some, await left()]);

    // Several together.
    await page.click("#jobs li:nth-child(2) .name", {modifiers: ["Shift"]});
    check("Try again is for what failed", !await page.isVisible("#againPicked"), "");
    check("Shift and a click select several", await page.textContent("#pickedCount") === "2 selected", await page.textContent("#pickedCount"));
    await looks(page, "selected");
    await page.click("#saveAll summary");
    const [archive] = await Promise.all([page.waitForEvent("download"), page.click("#saveAll [data-format=srt]")]), zip = readFileSync(await archive.path());
    check("they are saved in one archive, which says what it has", zip.includes("Harbour, second draft.srt") && zip.includes("Interview.srt") && /Saved Recordings\.zip to your downloads: 2 texts\./.test(await page.textContent(".toast.news")), await page.locator(".toast").allTextContents());
    await page.click("#saveAll summary");
    const [sounds] = await Promise.all([page.waitForEvent("download"), page.click("#saveSounds")]);
    check("so are their sounds", readFileSync(await sounds.path()).length > 2 * readFileSync(speech).length, await sounds.path());
    await page.click("#deletePicked");
    await page.keyboard.press("Control+z");
    check("Ctrl+Z brings them back", (await rows(page)).length === 2, await rows(page));
    await choose(page, "Harbour, second draft");

    // Deleting.
    await remove(page);
    check("a recording is deleted", !(await rows(page)).includes("Harbour, second draft"), await rows(page));
    await page.click("#undo");
    check("and comes back in its place, with the focus", (await rows(page))[0] === "Harbour, second draft" && await page.evaluate(() => document.activeElement.closest("#jobs .chosen")?.textContent.includes("second draft")), await rows(page));
    await remove(page);
    await page.reload();
    await page.waitForSelector("#jobs li");
    check("it stays deleted after a reload", (await rows(page)).length === 1, await rows(page));
    await forgetAll(page);
    await page.context().close();
  },

  async store() {
    let page = await open();
    await seed(page, [{name: "Voice memo.m4a", sentences: 6}]);

    // The page ends while a text, which is corrected meanwhile, is written again.
    await page.waitForSelector("#text p");
    await page.route("**/v1/audio/**", () => {});
    await page.evaluate(async () => { const {again, jobs} = await import("./page/jobs.js"); again(jobs[0]); });
    await page.waitForSelector("#jobs .working");
    await page.keyboard.press("e");
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("Mine. ");
    for (let i = 0; i < 2; i++) { // the second time it is not corrected again
      await page.reload();
      await page.waitForSelector("#jobs .working");
    }
    check("the page says that the corrected text stays", /You have corrected/.test(await page.textContent("#state")), await page.textContent("#state"));
    await page.unroute("**/v1/audio/**");
    await page.reload();
    await page.waitForSelector("#jobs li");
    await page.waitForFunction(() => document.querySelectorAll("#versions button").length > 2, null, {timeout: 240000});
    check("corrections of a text that is written again stay after a reload", /^Mine\. /.test(await words(page)) && /edited/.test(await page.locator("#versions button:disabled").textContent()), await words(page));
    await page.context().close();

    // Without the server, a page that is open saves what the browser has.
    page = await open();
    await seed(page, [{name: "Voice memo.m4a", sentences: 6}]);
    await gone(server);
    await page.click("#save summary");
    await page.waitForSelector("#save .note:not([hidden])");
    check("without the server, the page says what cannot be saved", /cannot be reached\. Until it is back, text, JSON and audio can be saved\./.test(await page.textContent("#save .note")) && await page.isDisabled("#save [data-format=docx]"), await page.textContent("#save .note"));
    await page.waitForSelector("#away:not([hidden])", {timeout: 10000});
    check("a line says that Verity has stopped, though nothing was asked of it, and how to start it", /^Verity has stopped\. .* verity serve --listen 127\.0\.0\.1:\d+Copy$/.test(await page.textContent("#away")), await page.textContent("#away"));
    await looks(page, "away", ["light", "dark"]);
    const [kept] = await Promise.all([page.waitForEvent("download"), page.click("#save [data-format=txt]")]);
    check("and text can", /^So, let us/.test(readFileSync(await kept.path())), kept.suggestedFilename());
    await page.click("#copyStarting");
    await announced(page, "Copied.");
    check("the command can be copied", await page.evaluate(() => navigator.clipboard.readText()) === "verity serve --listen " + url.slice(7, -1), await page.evaluate(() => navigator.clipboard.readText()));
    server = await serve("--log-level", "error");
    await announced(page, "Verity is back.", 20000);
    check("the line goes when it is back", await page.isHidden("#away"), "");
    await page.context().close();

    // A browser that is nearly full.
    page = await open();
    await page.addInitScript(() => { navigator.storage.estimate = async () => ({usage: 900e6, quota: 1e9}); });
    await seed(page, [{name: "Voice memo.m4a", sentences: 6}]);
    check("a browser that is nearly full says so", /90\u00a0% full/.test(await page.textContent("#room")), await page.textContent("#room"));
    await page.addInitScript(() => { navigator.storage.estimate = async () => ({usage: 999e6, quota: 1e9}); });
    await page.reload();
    await page.waitForSelector("#jobs li");
    await looks(page, "full");
    await add(page, {name: "big.wav", mimeType: "audio/wav", buffer: Buffer.concat([readFileSync(speech), Buffer.alloc(5e6)])});
    await page.waitForFunction(() => /its sound is not kept/.test(document.getElementById("facts").textContent));
    check("a sound that does not fit is named", true);
    await idle(page);
    await page.context().close();
  },

  async long() {
    const page = await open();
    await seed(page, [{name: "Three hours", sentences: 2640, speakers: false, sound: 0}, ...Array.from({length: 30}, (_, i) => ({name: "Old meeting " + i, sentences: 3, sound: 0}))]);
    check("nothing is deleted by itself", (await rows(page)).length === 31, (await rows(page)).length);
    await choose(page, "Old meeting 3");
    await page.waitForTimeout(300);
    const took = await page.evaluate(async () => {
      const began = performance.now();
      [...document.querySelectorAll("#jobs .name")].find(b => b.textContent.includes("Three hours")).click();
      while (!(document.querySelectorAll("#text p").length > 200)) await new Promise(f => setTimeout(f, 5));
      document.querySelector("#text").getBoundingClientRect();
      const opened = performance.now() - began, frames = [];
      let last = performance.now();
      for (let i = 0; i < 40; i++) {
        document.getElementById("pane").scrollBy(0, 400);
        await new Promise(requestAnimationFrame);
        frames.push(performance.now() - last);
        last = performance.now();
      }
      return {opened, words: document.getElementById("facts").textContent, frame: frames.sort((a, b) => a - b)[20], worst: frames[39]};
    });
    await page.click("#edit");
    await page.locator("#text p").nth(100).click();
    const began = Date.now();
    await page.keyboard.type("Typed amid three hours. ");
    took.typed = (Date.now() - began) / 24;
    await page.click("#edit");
    check("three hours can be edited", /Typed amid three hours\./.test(await words(page)), "");
    console.log("     three hours of text, in ms:", JSON.stringify(took)); // figures, no check: machines differ
    await page.fill("#filter", "three");
    await page.waitForFunction(() => document.querySelectorAll("#jobs li").length === 1);
    check("recordings are searched", (await rows(page)).join() === "Three hours", await rows(page));
    await page.fill("#filter", "harbour");
    await page.waitForFunction(() => document.querySelectorAll("#jobs li").length === 31);
    check("also by their text", true);
    check("which shows where", /^… harbour,/i.test(await page.textContent("#jobs li:nth-child(2) .state")), await page.textContent("#jobs li:nth-child(2) .state"));
    await choose(page, "Old meeting 7");
    await page.waitForFunction(() => /^1 of 1/.test(document.getElementById("found").textContent));
    check("and a recording opens there", true);
    await page.focus("#filter");
    await page.keyboard.press("Escape");
    check("Escape ends the search", (await rows(page)).length === 31 && !await playing(page), await rows(page));
    await page.fill("#filter", "");
    await page.context().close();
  },

  async files() {
    const page = await open();
    const requests = [];
    page.on("request", r => { if (r.url().includes("/v1/audio/")) requests.push(r.url()); });
    await page.click("#sample");
    await announced(page, "done in");
    check("the sample has text", /country|\w{3}/.test(await words(page)), await words(page));
    const file = name => ({name, mimeType: "audio/wav", buffer: readFileSync(speech)});
    await add(page, [file("one.wav"), file("two.wav"), file("three.wav")]);
    check("files stand in the order chosen", (await rows(page)).join() === "one,two,three,Kennedy 1961", await rows(page));
    await page.getByRole("button", {name: "Stop two"}).click();
    await idle(page);
    const states = await page.evaluate(() => [...document.querySelectorAll("#jobs li")].map(l => l.className.split(" ")[0]));
    check("several files, one after the other, one stopped", states.join() === "done,stopped,done,done" && requests.length === 3, [states, requests.length]);
    await choose(page, "one");
    check("the text of a file", (await words(page)).length > 20, await words(page));
    check("its language is shown", /[A-Z][a-z]+/.test(await page.textContent("#meta")), "");
    if (await page.isVisible("#again")) {
      // The corrected version is kept.
      const language = () => page.textContent("#again summary");
      await page.click("#edit");
      await page.keyboard.press("Control+Home");
      await page.keyboard.type("Corrected. ");
      await page.click("#edit");
      const corrected = await words(page);
      await page.click("#again summary");
      await looks(page, "again");
      check("again with the language, speakers and terms of before", await page.inputValue("#redoLanguage") === "" && await page.inputValue("#redoSpeakers") === "voice" && await page.inputValue("#redoPrompt") === "", await page.inputValue("#redoSpeakers"));
      await page.selectOption("#redoLanguage", "de");
      await page.selectOption("#redoSpeakers", "");
      await page.fill("#redoPrompt", "Kennedy");
      check("a choice alone does nothing", await page.locator("#jobs .working").count() === 0, "");
      await page.click("#redo .primary");
      await page.waitForFunction(() => document.querySelector("#jobs .working"));
      check("meanwhile the text can be edited", await page.isVisible("#edit") && await page.isVisible("#copy"), await page.textContent("#state"));
      await page.waitForFunction(() => /German/.test(document.querySelector("#again summary").textContent), null, {timeout: 240000});
      await idle(page);
      check("it is done again in another language", !/Corrected/.test(await words(page)), await words(page));
      const made = await page.evaluate(async () => (await import("./page/jobs.js")).jobs.find(j => j.name === "one").options);
      check("with other speakers and terms", made.language === "de" && made.speakers === "" && made.prompt === "Kennedy", made);
      await page.reload();
      await page.waitForSelector("#jobs li");
      await choose(page, "one");
      await page.waitForSelector("#versions button", {state: "attached"});
      const version = page.locator("#versions button:enabled").first();
      check("the version from before has a name", /^English, edited \(\d+ words\)$/.test(await version.textContent()), await version.textContent());
      await page.click("#again summary");
      await version.click();
      check("and comes back", await words(page) === corrected && /English/.test(await language()), [await words(page), await language()]);
      await page.click("#undoEdit");
      check("undo exchanges them again", /German/.test(await language()), await language());
      // What is corrected meanwhile stays.
      await page.click("#again summary");
      await page.click("#redo .primary");
      await page.waitForFunction(() => document.querySelector("#jobs .working"));
      await page.keyboard.press("e");
      await page.keyboard.press("Control+Home");
      await page.keyboard.type("Mine. ");
      await idle(page);
      check("a text that is corrected while it is written again stays, and can be typed on", /^Mine\. /.test(await words(page)) && await page.evaluate(() => document.getElementById("text").isContentEditable && getSelection().anchorOffset === 6), await words(page));
      await page.keyboard.press("Control+Enter");
      check("the new one is a version", await page.locator("#versions button:enabled").count() === 3, await page.locator("#versions button").allTextContents());
    }
    await page.evaluate(async () => { const {again, jobs} = await import("./page/jobs.js"); again(jobs.find(j => j.name === "one"), {task: "translations"}); });
    check("a text is not called translated before it is", !/translated/.test(await page.textContent("#meta")), await page.textContent("#meta"));
    await idle(page);
    // One voice has no name. Two are told apart, also afterwards, and renamed.
    await choose(page, "three");
    check("one voice has no name", await page.locator(".speaker:visible").count() === 0, "");
    await page.click("#people summary");
    await page.waitForFunction(() => document.querySelector("#apart p").textContent);
    check("and may be two", /One voice was heard/.test(await page.textContent("#apart p")), await page.textContent("#apart p"));
    await looks(page, "who-speaks");
    await page.keyboard.press("Escape");
    await add(page, `${pictures}/two.wav`);
    await idle(page);
    await choose(page, "two");
    check("two speakers, unasked", (await page.locator(".speaker:visible").allTextContents()).join().startsWith("Speaker 1,Speaker 2"), await page.locator(".speaker:visible").allTextContents());
    await page.click("#edit");
    await page.keyboard.press("Control+End");
    await page.keyboard.type(" Corrected.");
    await page.click("#edit");
    await page.click("#people summary");
    await page.selectOption("#howMany", "2");
    await page.click("#apart .primary");
    await page.waitForFunction(() => document.querySelector("#jobs .working") && document.querySelector("#text p"), null, {timeout: 240000});
    check("its text stays while speakers are told apart again", await page.locator(".speaker:visible").count() > 1, "");
    await page.waitForFunction(() => document.querySelectorAll(".speaker:not([hidden])").length > 1, null, {timeout: 240000});
    await idle(page);
    check("a message says how many were found", /“two”: 2 speakers were found\./.test(await page.textContent(".toast.news")), await page.locator(".toast").allTextContents());
    check("and corrections too", /Corrected\.$/.test(await words(page)) && await page.isHidden("#versions"), await words(page));
    check("two speakers", (await page.locator(".speaker:visible").allTextContents()).join().startsWith("Speaker 1,Speaker 2"), await page.locator(".speaker:visible").allTextContents());
    await page.click("#people summary");
    await page.evaluate(() => new Promise(f => setTimeout(f, 100))); // the list is filled after the click
    await page.fill("#persons label:first-child input", "Kennedy");
    await page.press("#persons label:first-child input", "Enter");
    check("Enter goes to the next name", await page.evaluate(() => document.activeElement.value) === "Speaker 2", await page.evaluate(() => document.activeElement.outerHTML.slice(0, 100)));
    await page.reload();
    await page.waitForSelector("#jobs li");
    await page.waitForFunction(() => document.querySelector(".speaker:not([hidden])"));
    check("a speaker's new name is kept", (await page.locator(".speaker").first().textContent()) === "Kennedy", "");
    await looks(page, "two-speakers");
    await add(page, {name: "letter.wav", mimeType: "audio/wav", buffer: Buffer.from("This is a letter.")});
    await page.waitForSelector("#jobs .failed");
    check("a file that is no sound says what it is", await page.textContent("#jobs .state.bad") === "This is a text file, not sound." && (await page.textContent("#problem p")).startsWith("This is a text file, not sound. If it is the text of a recording,") && !/letter/.test(await status(page)), [await page.textContent("#jobs .state.bad"), await status(page)]);
    check("and has neither player nor Save", !await page.isVisible("#bar") && !await page.isVisible("#save"), "");
    await page.getByRole("button", {name: "Delete", exact: true}).click();
    check("and its Delete deletes it", !(await rows(page)).some(n => /letter/.test(n)) && /was deleted/.test(await status(page)), [await rows(page), await status(page)]);
    const quiet = Buffer.from(readFileSync(speech));
    quiet.fill(0, 100);
    await add(page, [{name: "photo.png", mimeType: "image/png", buffer: Buffer.from("\x89PNG")}, {name: "silence.wav", mimeType: "audio/wav", buffer: quiet}]);
    await idle(page);
    const states2 = await page.locator("#jobs .state").allTextContents();
    check("so does a picture, and a row says that there was no speech", states2[0] === "This is a picture, not sound." && / · no speech$/.test(states2[1]), states2);
    await forgetAll(page);

    await add(page, [`${pictures}/long.wav`, speech]);
    await page.waitForFunction(() => / left/.test(document.querySelector("#jobs .working .state")?.textContent), null, {timeout: 240000});
    await page.waitForFunction(() => document.querySelector("#text p"), null, {timeout: 240000});
    await looks(page, "working");
    check("the page's title has the progress", /^1 of 2, \d+ %/.test(await page.title()), await page.title());
    await page.getByRole("button", {name: "Stop speech"}).click();
    await page.click("#stop");
    await idle(page);
    check("what was done before a file was stopped stays", (await words(page)).length > 5, await words(page));
    const stopped = (await words(page)).length;
    await page.getByRole("button", {name: "Transcribe the rest"}).click();
    await page.waitForFunction(n => document.getElementById("text").textContent.length > n + 60, stopped, {timeout: 240000});
    let seen = "";
    for (let i = 0; i < 3; i++) {
      seen = await page.evaluate(() => { const t = document.getElementById("text").textContent; location.reload(); return t; });
      await page.waitForFunction(() => document.querySelector("#text p"));
      check("a reload amid the rest keeps what was on the screen", (await page.textContent("#text")).length >= seen.length, [seen.length, (await page.textContent("#text")).length]);
      await page.waitForSelector("#jobs .working");
    }
    await idle(page);
    check("and goes on by itself to the end, however often that happens", !/cut off|stopped/.test(await page.textContent("#facts")) && (await page.textContent("#text")).length > seen.length, await page.textContent("#facts"));

    // A page that is closed amid work: the file is still there.
    writeFileSync(`${pictures}/after.wav`, readFileSync(speech));
    writeFileSync(`${pictures}/nothing.wav`, "");
    writeFileSync(`${pictures}/longer.wav`, readFileSync(`${pictures}/long.wav`));
    await add(page, [`${pictures}/longer.wav`, `${pictures}/nothing.wav`, `${pictures}/after.wav`]);
    await page.waitForFunction(() => document.querySelector("#jobs .working"));
    await page.waitForTimeout(1500);
    await page.close({runBeforeUnload: false});
    const next = await page.context().newPage();
    await next.goto(url);
    await next.waitForSelector("#jobs li");
    check("a closed page loses neither file nor text", await next.evaluate(() => /done|stopped|queued|working/.test(document.querySelector("#jobs li").className)), "");
    await next.waitForFunction(() => [...document.querySelectorAll("#jobs .done")].some(l => /after/.test(l.textContent)), null, {timeout: 240000});
    check("and what waited goes on", true);
    check("an empty file is called empty", (await next.locator("#jobs .state.bad").allTextContents()).join() === "This file is empty.", await next.locator("#jobs .state.bad").allTextContents());
    await add(next, [{name: "cut.m4a", mimeType: "audio/mp4", buffer: readFileSync(`${pictures}/phone.m4a`).subarray(0, 9000)}]);
    await next.waitForFunction(() => /This file is cut off/.test(document.querySelector("#jobs .failed")?.textContent));
    const count = await next.evaluate(() => [document.querySelectorAll("#jobs li:not(.failed)").length, parseInt(document.getElementById("kept").textContent)]);
    check("a file without its end is called cut off, and neither it nor the empty one is counted", count[0] === count[1], count);
    await next.context().close();
  },

  async picture() { // the one in README, with a model that hears well: make page MODEL=… PART=picture
    const page = await open(), at = path => new URL("../../" + path, import.meta.url);
    for (const [name, path, kind] of [["Site visit.flac", "model/base/librispeech/84-121123-0003.flac", "audio/flac"], ["Reading group.opus", "examples/conversation.opus", "audio/ogg"]]) {
      await add(page, {name, mimeType: kind, buffer: readFileSync(at(path))});
      await idle(page);
    }
    await choose(page, "Reading");
    await page.waitForSelector(".speaker");
    for (const [i, name] of [[0, "Ines"], [1, "Jonah"]]) {
      await page.locator(".speaker:visible").nth(i).click();
      await page.keyboard.type(name);
      await page.keyboard.press("Enter");
    }
    await page.click(".toast .icon");
    await page.evaluate(() => { document.getElementById("player").currentTime = 7.4; });
    await page.waitForFunction(() => CSS.highlights.get("now"));
    await page.mouse.move(1300, 700);
    await page.screenshot({path: `${pictures}/picture.png`});
    await page.context().close();
  },

  async live() {
    const page = await open();
    await page.evaluate(() => {
      navigator.wakeLock.request = async () => window.awake = {released: false, async release() { this.released = true; }}; // without a screen there is none
    });
    await page.setViewportSize({width: 390, height: 640});
    await page.click("#record0");
    await page.waitForFunction(() => /^Stop 0:0[3-9]/.test(document.getElementById("recordText").textContent), null, {timeout: 60000});
    await page.waitForFunction(() => document.querySelector("#text p:last-of-type")?.textContent.length > 20, null, {timeout: 120000});
    check("on a phone the text is in view, and so is Stop", await page.isVisible("#stopLive") && await page.evaluate(() => document.querySelector("#text p:last-of-type").getBoundingClientRect().bottom <= innerHeight), "");
    await looks(page, "live", ["light", "dark"]);
    await page.waitForTimeout(4500); // more than two seconds after the text, and five of sound
    const kept = await page.evaluate(async () => { const s = await import("./page/store.js"), [job] = await s.all(); return {words: (await s.text(job.id)).length, sound: (await s.sound(job) || {size: 0}).size, state: job.state}; });
    check("text and sound are stored while they come", kept.words > 0 && kept.sound > 1000 && kept.state === "live", kept);
    check("the screen stays awake", await page.evaluate(() => window.awake && !window.awake.released), "");
    await page.setViewportSize({width: 390, height: 640});
    await page.click("#pauseLive");
    await page.waitForFunction(() => /Paused/.test(document.getElementById("state").textContent));
    const length = await page.textContent("#stopLive");
    await page.waitForTimeout(1500);
    check("a pause stops the clock", await page.textContent("#stopLive") === length, [length, await page.textContent("#stopLive")]);
    await looks(page, "paused");
    await page.setViewportSize({width: 390, height: 640});
    await page.click("#pauseLive");
    await page.waitForFunction(was => document.getElementById("stopLive").textContent !== was, length);
    await page.click("#stopLive");
    const stopping = await page.evaluate(() => ["stopLive", "recordText", "state"].map(id => document.getElementById(id).textContent).concat(document.querySelector("#jobs .state").textContent).join());
    check("Stop shows at once that it stopped", /Writing the rest…,Stopped,Writing the rest…Skip the rest,writing the rest|Stop,Record,/.test(stopping), stopping); // or it is done already
    await page.waitForFunction(() => /Recorded, and written|done in/.test(document.getElementById("status").textContent), null, {timeout: 240000});
    check("until the end", await page.evaluate(() => window.awake.released), "");
    await page.waitForFunction(() => { const d = document.getElementById("player").duration; return d > 3 && d < 1000; });
    check("the recording can be played", true);
    await announced(page, "The live text is kept");
    await idle(page);
    check("a better text has replaced the live one, which is a version", /live/.test(await page.locator("#versions button:enabled").first().textContent()) && !/live text/.test(await page.textContent("#facts")), await page.textContent("#facts"));
    await page.setViewportSize({width: 1440, height: 900});
    await page.evaluate(() => { document.getElementById("player").currentTime = 2; });
    await page.waitForFunction(() => Math.abs(document.getElementById("player").currentTime - 2) < 0.5);
    await looks(page, "recorded");
    await page.click("#save summary");
    const [sound] = await Promise.all([page.waitForEvent("download"), page.click("#saveSound")]);
    check("its sound is Opus", sound.suggestedFilename().endsWith(".webm") && readFileSync(await sound.path()).includes("OpusHead"), sound.suggestedFilename());
    const text = await words(page);
    await page.reload();
    await page.waitForSelector("#jobs li");
    await choose(page, "Recording");
    await page.waitForFunction(() => document.getElementById("player").readyState > 0 && document.querySelector("#text p"));
    check("it is still there after a reload", await words(page) === text, await words(page));
    await page.getByRole("button", {name: "Edit"}).waitFor();

    // A page that is closed amid a recording: its sound is kept, and the text is completed by itself.
    const cut = await page.context().newPage();
    await cut.goto(url);
    await cut.waitForSelector("#jobs li");
    await cut.click("#record");
    await cut.waitForFunction(() => /^Stop 0:1[1-9]/.test(document.getElementById("recordText").textContent), null, {timeout: 60000});
    await cut.close({runBeforeUnload: false});
    await page.reload();
    await page.waitForFunction(() => /^The page was left/.test(document.querySelector("#problem p").textContent));
    check("and one can go on recording", await page.getByRole("button", {name: "Go on recording"}).isVisible(), await page.textContent("#problem"));
    await idle(page);
    await page.waitForFunction(() => document.getElementById("player").readyState > 0);
    // Closed at 11 s: the piece of a second that is being made is lost and, on a busy machine, the one that is being stored.
    const kept2 = await page.evaluate(() => document.getElementById("player").duration);
    check("a recording that was cut off has its sound and a text of the whole", kept2 > 8.9 && kept2 < 20 && !/cut off/.test(await page.textContent("#facts")) && /live/.test(await page.textContent("#versions")), [kept2, await page.textContent("#facts")]);

    // A recording while a file is worked on: neither throws the other's text away.
    await add(page, speech);
    await page.click("#record");
    await page.waitForFunction(() => /^Stop/.test(document.getElementById("recordText").textContent), null, {timeout: 60000});
    await page.waitForFunction(() => document.querySelector("#jobs .live.chosen") && document.getElementById("text").textContent.length > 45, null, {timeout: 120000});
    await page.click("#stopLive");
    await idle(page);
    for (const name of ["speech", "Recording"]) {
      await choose(page, name);
      await page.waitForTimeout(300);
      check(`a file and a recording at once: ${name}`, (await words(page)).length > 20, await words(page));
    }

    // The server ends, and vanishes, amid a session: the sound is recorded on, and text comes again with the server.
    await page.click("#record");
    await page.waitForFunction(() => /^Stop 0:0[2-9]/.test(document.getElementById("recordText").textContent), null, {timeout: 60000});
    const ended = new Promise(f => server.once("exit", f)), time = () => page.evaluate(() => +document.getElementById("recordText").textContent.slice(-2));
    server.kill("SIGTERM");
    await ended;
    await page.waitForFunction(() => /still recorded/.test(document.getElementById("state").textContent), null, {timeout: 60000});
    const away = await time(), before = (await words(page)).length;
    await page.waitForTimeout(1500);
    check("without a server the sound is recorded on", await time() > away, [await time(), away]);
    server = await serve("--log-level", "error");
    await page.waitForFunction(() => !/still recorded/.test(document.getElementById("state").textContent), null, {timeout: 60000});
    check("and the session goes on with the server", true);
    await gone(server);
    await page.waitForFunction(() => /still recorded/.test(document.getElementById("state").textContent), null, {timeout: 20000});
    await page.click("#stopLive");
    await page.waitForFunction(() => document.getElementById("recordText").textContent === "Record", null, {timeout: 60000});
    await page.waitForFunction(() => /waiting for Verity/.test(document.querySelector("#jobs .chosen .state").textContent), null, {timeout: 20000});
    check("what was said without a server waits for it, and its text is shown", (await words(page)).length >= before, await words(page));
    await page.click("#record");
    await page.waitForFunction(() => /^Stop 0:0[3-9]/.test(document.getElementById("recordText").textContent), null, {timeout: 60000});
    await page.click("#stopLive");
    await page.waitForFunction(() => document.getElementById("recordText").textContent === "Record");
    check("a recording begins without a server", /0:0\d/.test(await page.textContent("#facts")), await page.textContent("#facts"));
    await add(page, speech);
    await page.waitForFunction(() => [...document.querySelectorAll("#jobs .state")].some(s => /waiting for Verity/.test(s.textContent)));
    check("a file waits for a server that is gone", true);
    server = await serve("--log-level", "error");
    await idle(page);
    check("and goes on with the server", (await words(page)).length > 20, await words(page));

    // A server that hangs: the sound is recorded all the same, and the server gets it when it goes on.
    server.kill("SIGSTOP");
    await page.click("#record");
    const blank = () => page.evaluate(() => { const c = document.querySelector("#wave canvas"); return !c.getContext("2d").getImageData(0, c.height / 4 | 0, c.width, 1).data.some(x => x); });
    check("a recording has no other's waveform", await blank(), "");
    await page.waitForFunction(() => /^Stop 0:0[2-9]/.test(document.getElementById("recordText").textContent), null, {timeout: 20000});
    check("a recording begins while the server hangs", /not answered yet\. The sound is still recorded/.test(await page.textContent("#state")), await page.textContent("#state"));
    server.kill("SIGCONT");
    await page.waitForFunction(() => !/still recorded/.test(document.getElementById("state").textContent), null, {timeout: 60000});
    await page.waitForFunction(() => document.querySelector("#text p"), null, {timeout: 60000});
    check("and its text begins at the beginning", !/…/.test(await words(page)), await words(page));
    await choose(page, "speech");
    for (const [width, height] of widths) {
      await page.setViewportSize({width, height});
      check(`Stop, Pause and the player are in sight in another recording, ${width} px`, await page.isVisible("#stopLive") && await page.isVisible("#pauseLive") && await page.isVisible("#play") && /^Stop 0:\d\d/.test(await page.textContent("#stopLive")), await page.textContent("#bar"));
    }
    await looks(page, "recording-another");
    await page.click("#stopLive");
    await page.waitForFunction(() => document.getElementById("recordText").textContent === "Record", null, {timeout: 60000});
    check("until it is stopped", !await page.isVisible("#stopLive") && await page.isVisible("#play"), "");
    await idle(page);
    await page.context().close();

    const textOnly = await open();
    await textOnly.evaluate(() => { delete window.MediaRecorder; });
    await textOnly.click("#record0");
    await announced(textOnly, "but not its sound");
    await textOnly.waitForFunction(() => document.querySelector("#text p")?.textContent.length > 20, null, {timeout: 120000});
    await textOnly.click("#stopLive");
    await announced(textOnly, "Recorded, and written.");
    check("a browser that cannot record a file records text", (await words(textOnly)).length > 20 && /its sound is not kept/.test(await textOnly.textContent("#facts")), await textOnly.textContent("#facts"));
    await textOnly.context().close();

    const mute = await browser.newContext({permissions: []}), without = await mute.newPage();
    await without.addInitScript(() => { navigator.mediaDevices.getUserMedia = async () => { throw new DOMException("x", "NotFoundError"); }; });
    await without.goto(url);
    await without.click("#record0");
    await announced(without, "No microphone was found");
    check("no microphone, no recording", await without.locator("#jobs li").count() === 0 && await without.isVisible("#welcome"), "");
    await mute.close();
  },

  async keyboard() {
    const page = await open();
    await seed(page, [{name: "Harbour.m4a", sentences: 12, speakers: true}, ...Array.from({length: 20}, (_, i) => ({name: "Old meeting " + i, sentences: 3, sound: 0}))]);
    await page.waitForFunction(() => document.querySelector("#text p"));
    // The list is one stop: arrows go through it, Delete deletes.
    const focused = () => page.evaluate(() => document.activeElement.textContent.slice(0, 13) || document.activeElement.title);
    await page.focus("#jobs .chosen .name");
    for (const [key, want] of [["ArrowDown", "Old meeting 0"], ["End", "Old meeting 1"], ["Home", "Harbour.m4aSe"], ["ArrowRight", "Delete Harb"], ["ArrowLeft", "Harbour.m4aSe"], ["ArrowDown", "Old meeting 0"]]) {
      await page.keyboard.press(key);
      check(`${key} in the list`, (await focused()).startsWith(want), await focused());
    }
    await page.keyboard.press("Delete");
    check("Delete deletes", (await rows(page)).length === 20, "");
    await page.click("#undo");
    await page.click("#jobs li:nth-child(3) .name");
    await page.keyboard.press("Delete");
    check("also after a click on a recording", (await rows(page)).length === 20 && !(await rows(page)).includes("Old meeting 1"), await rows(page));
    await page.click("#undo");
    await choose(page, "Harbour");
    await page.waitForFunction(() => document.getElementById("player").readyState > 0);
    await page.focus("#skip");
    await page.keyboard.press("Enter");
    check("a link skips to the text", await page.evaluate(() => document.activeElement.id) === "text", "");
    await page.evaluate(() => document.activeElement.blur());
    // A menu ends above the player, and its last entry can be reached.
    await page.setViewportSize({width: 1440, height: 560});
    await page.click("#save summary");
    await fitted(page);
    const menu = await page.evaluate(() => {
      const b = document.getElementById("print"), bar = document.getElementById("bar").getBoundingClientRect();
      b.scrollIntoView({block: "nearest"});
      const r = b.getBoundingClientRect();
      return {list: b.parentElement.getBoundingClientRect().bottom, bar: bar.top, reached: document.elementFromPoint(r.x + 9, r.y + r.height / 2) === b};
    });
    check("a menu ends above the player", menu.list <= menu.bar && menu.reached, menu);
    await page.keyboard.press("Escape");
    // On a phone, a message while editing lies below the tools.
    await page.setViewportSize({width: 390, height: 844});
    await page.evaluate(() => { document.body.dataset.view = "text"; document.getElementById("edit").click(); });
    await page.evaluate(async () => (await import("./page/ui.js")).announce("A message.", {bad: true}));
    const over = await page.evaluate(() => [".toast.bad", ".tools", "#title"].map(s => { const r = document.querySelector(s).getBoundingClientRect(); return [r.top, r.bottom]; }));
    check("a message leaves the title and the tools free", over[0][0] >= over[1][1] && over[0][0] >= over[2][1], over);
    await page.evaluate(async () => { (await import("./page/ui.js")).hide("bad"); document.getElementById("edit").click(); document.activeElement.blur(); });
    await page.setViewportSize({width: 1440, height: 900});
    await page.keyboard.press("t");
    const seen = new Set();
    for (let i = 0; i < 40; i++) {
      await page.keyboard.press("Tab");
      const at = await page.evaluate(() => { const e = document.activeElement; return e === document.body ? "" : e.id || e.closest("details")?.id || e.className; });
      if (at && seen.has(at) && i > 20) break;
      seen.add(at);
      const ring = await page.evaluate(() => { const e = document.activeElement; return e === document.body || getComputedStyle(e).outlineStyle !== "none" || e.matches("#text"); });
      check(`the focus is seen: ${at || "body"}`, ring, at);
    }
    for (const id of ["skip", "record", "choose", "summary", "title", "copy", "edit", "times", "text", "play", "wave", "speed", "openHelp", "time"]) check(`Tab reaches ${id}`, seen.has(id), [...seen]);
    await page.keyboard.press("?");
    check("? shows the keys", await page.isVisible("#help"), "");
    await page.keyboard.press("Escape");
    await page.waitForSelector("#help", {state: "hidden"});
    await page.click("#summary");
    await page.uncheck("#letters");
    await page.uncheck("#doubts");
    await page.fill("#prompt", "Nakamura");
    const many = await page.isVisible("#language");
    if (many) await page.selectOption("#language", "nl");
    await page.keyboard.press("Tab");
    await page.click("#settings .primary");
    await page.reload();
    await page.waitForSelector("#jobs li");
    check("settings are kept", await page.evaluate(() => document.getElementById("prompt").value === "Nakamura" && !document.getElementById("doubts").checked && document.getElementById("times").ariaPressed === "true"), "");
    await page.keyboard.press("t");
    await page.keyboard.press("?");
    check("keys can be turned off", await page.getAttribute("#times", "aria-pressed") === "true" && !await page.isVisible("#help"), "");
    if (many) {
      await page.waitForFunction(() => document.getElementById("model").textContent.includes("·"));
      check("and the language", await page.inputValue("#language") === "nl", await page.inputValue("#language"));
    }
    await page.context().close();
  },

  async docs() {
    const page = await open({}, "docs/");
    await page.waitForSelector("h2");
    const paths = (await (await fetch(url + "openapi.json")).json()).paths;
    check("/docs has every path and the fields of forms", await page.locator("h2").count() === Object.values(paths).flatMap(Object.keys).length &&
      /timestamp_granularities\[\]/.test(await page.textContent("main")), await page.textContent("main"));
    await looks(page, "docs");
    await page.context().close();
  },

  async phone() {
    await gone(server);
    path = ""; // no ffmpeg
    server = await serve();
    const page = await open();
    await add(page, [speech, ...["m4a", "mp4", "mov", "webm"].map(kind => `${pictures}/phone.${kind}`), `${pictures}/long.m4a`]);
    await page.waitForSelector("#jobs li");
    await idle(page);
    const texts = await page.evaluate(async () => { const {jobs, open} = await import("./page/jobs.js"); return Promise.all(jobs.map(async j => { await open(j); return [j.state, j.paragraphs.map(p => p.text).join(" ")]; })); });
    for (const [i, kind] of ["m4a", "mp4", "mov", "webm"].entries()) check(`without ffmpeg, the browser decodes ${kind}`, texts[i + 1][0] === "done" && texts[i + 1][1].length > 10 && texts[i + 1][1] === texts[0][1], [texts[i + 1], texts[0]]);
    await choose(page, "long");
    await page.waitForSelector("#problem:not([hidden])");
    check("what is too long for the browser says how to get ffmpeg", /which needs ffmpeg\. Type sudo apt install ffmpeg in a terminal/.test(await page.textContent("#problem")) && await page.getByRole("button", {name: "Try again", exact: true}).isVisible(), await page.textContent("#problem"));
    await looks(page, "needs-ffmpeg");
    await page.context().close();
    path = process.env.PATH;
    await gone(server);
    server = await serve("--log-level", "error");
  },

  async key() {
    await gone(server);
    const keys = `${pictures}/keys`;
    writeFileSync(keys, "secret\n");
    server = await serve("--api-key-file", keys);
    const page = await open({viewport: {width: 1280, height: 720}});
    check("a key is asked for", await page.isVisible("#key") && /wants an API key here\. Ask/.test(await status(page)), await status(page));
    await page.waitForFunction(() => document.activeElement.id === "key");
    await looks(page, "key");
    await page.fill("#key", "wrong");
    await page.press("#key", "Tab");
    await announced(page, "does not know this API key");
    const places = await page.evaluate(() => [".toast.bad", "#key", "#settings"].map(s => { const {top, bottom} = document.querySelector(s).getBoundingClientRect(); return {top, bottom}; }));
    check("a wrong key is called wrong, not over its field", places[0].bottom <= places[1].top && places[1].bottom <= places[2].bottom, places);
    await page.fill("#key", "secret");
    await page.press("#key", "Tab");
    await page.waitForFunction(() => document.getElementById("model").textContent.includes("·"));
    await page.waitForSelector(".toast.news");
    check("the right key is called right, and the error goes", (await page.locator(".toast p").allTextContents()).join() === "The API key works.", await page.locator(".toast").allTextContents());
    await looks(page, "key-works");
    await page.click("#settings .primary");
    await add(page, speech);
    await announced(page, "done in");
    check("the key is sent", (await words(page)).length > 20, "");
    await page.context().close();
    await gone(server);
    server = await serve("--log-level", "error");
  },
};

for (const m of [more, captions, start, highlights]) Object.assign(parts, m.parts({open, add, seed, choose, check, looks, words, rows, time, idle, announced, pictures, speech, browserPath}));

let part = "";
for (part of only.length ? only : Object.keys(parts).filter(p => p !== "picture")) {
  console.log("---", part);
  try {
    await parts[part]();
  } catch (e) {
    check("the test itself", false, String(e.stack || e));
  }
}
check("no request goes elsewhere", foreign.length === 0, foreign);
check("no errors in the console", errors.length === 0, errors);
await browser.close();
server.kill("SIGKILL");
console.log(wrong ? `${wrong} wrong` : "all as it should be", "- pictures in", pictures);
process.exit(wrong ? 1 : 0);

// Drives the page of a running `verity serve` in Chromium, takes pictures of it and has
// axe-core look. Exits with 1 if something is not as it should be.
//
//   node page.mjs CHROMIUM PROGRAM MODEL SPEECH.wav PICTURES
import {spawn} from "node:child_process";
import {readFileSync, mkdirSync} from "node:fs";
import {createRequire} from "node:module";
import {chromium} from "playwright-core";

const [browserPath, program, model, speech, pictures] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const port = 18300 + process.pid % 1000, url = `http://127.0.0.1:${port}/`;
let wrong = 0;
mkdirSync(pictures, {recursive: true});

function check(what, ok, got) {
  console.log(ok ? "ok   " : "WRONG", what, ok ? "" : JSON.stringify(got));
  if (!ok) wrong++;
}

async function serve(...flags) {
  const child = spawn(program, ["serve", "--model", model, "--listen", `127.0.0.1:${port}`, ...flags], {stdio: "ignore"});
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

async function open(options) {
  const context = await browser.newContext({viewport: {width: 1280, height: 900}, permissions: ["microphone", "clipboard-read", "clipboard-write"], acceptDownloads: true, ...options});
  const page = await context.newPage();
  page.on("request", r => { if (!r.url().startsWith(url) && !/^(blob|data):/.test(r.url())) foreign.push(r.url()); });
  page.on("pageerror", e => errors.push(String(e)));
  page.on("console", m => { if (m.type() === "error" && !/status of|ERR_CONNECTION/.test(m.text()) && !(page.looked && /inline style/.test(m.text()))) errors.push(m.text()); });
  await page.goto(url);
  await page.waitForFunction(() => document.getElementById("model").textContent.includes("·") || document.getElementById("status").textContent);
  return page;
}

const status = page => page.textContent("#status");
const done = (page, text, timeout = 120000) => page.waitForFunction(t => document.getElementById("status").textContent.includes(t), text, {timeout});
const words = page => page.textContent("#text");

// looks takes pictures in both widths and themes, and has axe-core look at each.
async function looks(page, name) {
  page.looked = true; // axe-core and pictures try styles that the page's policy forbids
  for (const width of [390, 1280]) for (const colorScheme of ["light", "dark"]) {
    await page.setViewportSize({width, height: width === 390 ? 844 : 900});
    await page.emulateMedia({colorScheme});
    await page.screenshot({path: `${pictures}/${name}-${width}-${colorScheme}.png`, fullPage: true, caret: "initial"});
    await page.evaluate(axe);
    const found = await page.evaluate(() => axe.run().then(r => r.violations.map(v => v.id + ": " + v.nodes.map(n => n.html).join(" | "))));
    check(`axe-core, ${name}, ${width} px, ${colorScheme}`, found.length === 0, found);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check(`nothing overflows, ${name}, ${width} px`, wide <= 0, wide);
    const small = await page.evaluate(() => [...document.querySelectorAll("button:not(.time), select, input:not([type=file]), .button")]
      .filter(b => b.checkVisibility() && b.getBoundingClientRect().height < 24).map(b => b.outerHTML));
    check(`nothing is too small to touch, ${name}, ${width} px`, small.length === 0, small);
  }
  await page.setViewportSize({width: 320, height: 600});
  check(`nothing overflows, ${name}, 320 px`, await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "");
  await page.setViewportSize({width: 1280, height: 900});
  await page.emulateMedia({colorScheme: "light"});
}

try {
  const page = await open();
  check("the model is named", /·/.test(await page.textContent("#model")), await page.textContent("#model"));
  await looks(page, "empty");

  // A file, with the same file again (D3).
  await page.setInputFiles("#file", speech);
  await done(page, "done in");
  const first = await words(page);
  check("a file has text", first.length > 20, first);
  const requests = [];
  page.on("request", r => { if (r.url().includes("/v1/audio/")) requests.push(r.url()); });
  await page.setInputFiles("#file", speech);
  await page.waitForFunction(() => document.querySelectorAll("#jobs li").length === 2);
  await page.waitForFunction(() => document.querySelectorAll("#jobs progress").length === 0, null, {timeout: 120000});
  check("the same file again is a new request", requests.length === 1, requests);
  check("it has the same text", await words(page) === first, await words(page));
  await looks(page, "done");

  // Words that play and light up; times that play; the keyboard.
  const word = page.locator("#text [role=button]").nth(3);
  await word.click();
  await page.waitForFunction(() => document.getElementById("player").currentTime > 0 && document.querySelector(".now"), null, {timeout: 10000});
  check("a word that is clicked plays and lights up", true);
  await page.keyboard.press("ArrowRight");
  check("arrows go from word to word", await page.evaluate(() => document.activeElement === document.querySelectorAll("#text [role=button]")[4]), "");
  await page.evaluate(() => document.getElementById("player").pause());
  await page.locator("#text .time").first().click();
  check("a time plays", await page.evaluate(() => !document.getElementById("player").paused), "");
  await page.evaluate(() => document.getElementById("player").pause());

  // Copy, save, edit, history.
  await page.click("#copy");
  await done(page, "Copied.");
  check("the text is copied", (await page.evaluate(() => navigator.clipboard.readText())).trim().length > 20, "");
  for (const [format, start] of [["txt", /\w/], ["srt", /^1\n00:00:0\d,\d{3} --> /], ["vtt", /^WEBVTT\n\n00:/], ["json", /^\{\n "task": "transcribe",\n "language": "[a-z]+",\n "duration": \d/]]) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.click(`[data-format=${format}]`)]);
    const text = readFileSync(await download.path(), "utf8");
    check(`saved as ${format}`, start.test(text) && download.suggestedFilename().endsWith("." + format), text.slice(0, 200));
    const lines = text.split("\n");
    if (format === "srt") check("lines of subtitles are short", lines.every(l => l.length <= 42 || /-->/.test(l)), lines);
  }
  await page.click("#edit");
  const box = page.locator("#text p").first();
  await box.fill("Changed by hand.");
  await page.click("#edit");
  check("the text can be changed", (await words(page)).includes("Changed by hand."), await words(page));
  await page.waitForTimeout(300);
  await page.reload();
  await page.waitForSelector("#jobs li");
  await page.locator("#jobs .name").nth(0).click();
  check("it is still there after a reload", (await words(page)).includes("Changed by hand."), await words(page));
  await page.click("#forget");
  check("all is forgotten", await page.evaluate(() => document.querySelectorAll("#jobs li").length) === 0, "");

  // Mistakes in the page's words (D14, D16, D17).
  await page.evaluate(() => { document.getElementById("language").parentElement.hidden = false; }); // of a model with one
  await page.fill("#language", "Klingon");
  await page.setInputFiles("#file", speech);
  check("an unknown language", /not a language of this model/.test(await status(page)), await status(page));
  await page.click("#record");
  check("an unknown language, live", /not a language of this model/.test(await status(page)) && await page.textContent("#recordText") === "Record", await status(page));
  await page.fill("#language", "");
  await page.setInputFiles("#file", {name: "letter.wav", mimeType: "audio/wav", buffer: Buffer.from("This is a letter.")});
  await page.waitForSelector("#jobs .state.bad");
  check("no sound", /cannot read this file as sound/.test(await page.textContent("#jobs .state.bad")), await page.textContent("#jobs .state.bad"));
  await looks(page, "refused");
  await page.click("#forget");

  // Several files; one is stopped.
  const file = name => ({name, mimeType: "audio/wav", buffer: readFileSync(speech)});
  await page.setInputFiles("#file", [file("one.wav"), file("two.wav"), file("three.wav")]);
  await page.getByRole("button", {name: "Stop two.wav"}).click();
  await page.waitForFunction(() => document.querySelectorAll("#jobs progress").length === 0 && /done in/.test(document.getElementById("status").textContent), null, {timeout: 240000});
  await page.waitForTimeout(500);
  const states = await page.evaluate(() => [...document.querySelectorAll("#jobs .state")].map(s => s.textContent));
  check("several files, one after the other, one stopped", states.filter(s => s === "stopped").length === 1 && states.filter(s => /^\d+:\d\d$/.test(s)).length === 2, states);
  await page.click("#forget");

  // Work that takes some time.
  await page.setInputFiles("#file", [`${pictures}/long.wav`, speech]);
  await page.waitForFunction(() => /left$/.test(document.querySelector("#jobs li:last-child .state").textContent), null, {timeout: 240000});
  await looks(page, "working");
  check("text comes while a file is worked on", (await page.innerText("#text")).length > 20, "");
  await page.getByRole("button", {name: "Stop speech.wav"}).click();
  await page.getByRole("button", {name: "Stop long.wav"}).click();
  await page.waitForFunction(() => document.querySelectorAll("#jobs progress").length === 0);
  check("what was done before a file was stopped stays", (await words(page)).length > 20, await words(page));
  await page.click("#forget");

  // A recording while a file is worked on: neither throws the other's text away (D18).
  await page.setInputFiles("#file", file("beside.wav"));
  await page.click("#record");
  await page.waitForFunction(() => /^Stop/.test(document.getElementById("recordText").textContent), null, {timeout: 60000});
  await page.waitForFunction(() => document.getElementById("text").textContent.length > 20, null, {timeout: 120000});
  await page.click("#record");
  await page.waitForFunction(() => document.getElementById("recordText").textContent === "Record" && !document.querySelector("#jobs progress"), null, {timeout: 120000});
  for (const name of [/^beside/, /^Recording/]) {
    await page.getByRole("button", {name}).first().click();
    check(`a file and a recording at once: ${name}`, (await words(page)).length > 20, await words(page));
  }
  await page.click("#forget");

  // The microphone (D6, D7).
  await page.setViewportSize({width: 390, height: 560});
  await page.click("#record");
  await page.waitForFunction(() => /^Stop 0:0[3-9]/.test(document.getElementById("recordText").textContent), null, {timeout: 60000});
  await page.waitForFunction(() => document.getElementById("text").textContent.length > 20, null, {timeout: 120000});
  check("the newest words are in view", await page.evaluate(() => document.querySelector("#text").getBoundingClientRect().bottom <= innerHeight - 60), "");
  await looks(page, "live");
  await page.click("#record");
  await done(page, "Done.");
  const said = await words(page);
  check("live text", said.length > 20, said);
  const [live] = await Promise.all([page.waitForEvent("download"), page.click("[data-format=srt]")]);
  const cues = readFileSync(await live.path(), "utf8").trim().split("\n\n");
  check("live subtitles have short cues", cues.every(c => c.split("\n").slice(2).join(" ").length <= 85), cues);
  await page.setViewportSize({width: 1280, height: 900});
  await looks(page, "live-done");

  // The server ends amid a session (D15): the first reason stays, the microphone stops at once.
  await page.click("#record");
  await page.waitForFunction(() => /^Stop 0:0[2-9]/.test(document.getElementById("recordText").textContent), null, {timeout: 60000});
  const ended = new Promise(f => server.once("exit", f));
  server.kill("SIGTERM");
  await page.waitForFunction(() => document.getElementById("recordText").textContent === "Record", null, {timeout: 60000});
  const why = await page.textContent("#jobs .state.bad").catch(() => "");
  check("a server that ends says so", /The server is shutting down/.test(why), why);
  await ended;
  server = await serve("--log-level", "error");

  // The server goes away: while idle, and amid a session.
  await page.click("#record");
  await page.waitForFunction(() => /^Stop/.test(document.getElementById("recordText").textContent), null, {timeout: 60000});
  await gone(server);
  await page.waitForFunction(() => document.getElementById("recordText").textContent === "Record", null, {timeout: 20000});
  const lost = await page.textContent("#jobs .state.bad").catch(() => "");
  check("a lost connection", /connection was lost/.test(lost), lost);
  await page.setInputFiles("#file", speech);
  await page.waitForFunction(() => [...document.querySelectorAll("#jobs .state.bad")].some(s => /cannot be reached/.test(s.textContent)));
  check("a server that is gone", true);
  server = await serve("--log-level", "error");
  await page.getByRole("button", {name: /^Try again/}).first().click();
  await done(page, "done in");
  check("trying again works", (await words(page)).length > 20, await words(page));

  // A key (D3 again).
  await gone(server);
  const keys = `${pictures}/keys`;
  (await import("node:fs")).writeFileSync(keys, "secret\n");
  server = await serve("--api-key-file", keys);
  const locked = await open();
  check("a key is asked for", await locked.isVisible("#key") && /needs an API key/.test(await status(locked)), await status(locked));
  await locked.fill("#key", "secret");
  await locked.press("#key", "Tab");
  await locked.waitForFunction(() => document.getElementById("model").textContent.includes("·"));
  check("the error goes with the right key", !/key/.test(await status(locked)), await status(locked));
  await locked.setInputFiles("#file", speech);
  await done(locked, "done in");
  check("the key is sent", (await words(locked)).length > 20, "");

  // No microphone.
  const mute = await browser.newContext({permissions: []});
  const without = await mute.newPage();
  await without.addInitScript(() => { navigator.mediaDevices.getUserMedia = async () => { throw new DOMException("x", "NotFoundError"); }; });
  await without.goto(url);
  await without.click("#record");
  await without.waitForSelector("#jobs .state.bad");
  check("no microphone", /No microphone was found/.test(await without.textContent("#jobs .state.bad")), "");

  check("no request goes elsewhere", foreign.length === 0, foreign);
  check("no errors in the console", errors.length === 0, errors);
} catch (e) {
  check("the test itself", false, String(e));
} finally {
  await browser.close();
  server.kill("SIGKILL");
}
console.log(wrong ? `${wrong} wrong` : "all as it should be", "- pictures in", pictures);
process.exit(wrong ? 1 : 0);

// Drives the server's page in Firefox over WebDriver BiDi: a file becomes text, plays, is edited, and stays.
//
//   node firefox.mjs FIREFOX PROGRAM MODEL SPEECH.wav
import {spawn} from "node:child_process";
import puppeteer from "puppeteer-core";

const [executablePath, program, model, speech] = process.argv.slice(2);
const port = 19300 + process.pid % 1000, url = `http://127.0.0.1:${port}/`, errors = [];
let wrong = 0;

function check(what, ok, got) {
  console.log(ok ? "ok   " : "WRONG", what, ok ? "" : JSON.stringify(got));
  if (!ok) wrong++;
}

const server = spawn(program, ["serve", "--model", model, "--listen", `127.0.0.1:${port}`], {stdio: "ignore"});
while (!await fetch(url + "readyz").then(r => r.ok, () => false)) await new Promise(f => setTimeout(f, 100));
const browser = await puppeteer.launch({browser: "firefox", executablePath, headless: true, timeout: 240000, protocolTimeout: 240000, extraPrefsFirefox: {"media.autoplay.default": 0}});
console.log(await browser.version());
const page = await browser.newPage(), words = () => page.evaluate(() => [...document.querySelectorAll("#text p")].map(p => p.textContent).join("\n"));
page.setDefaultTimeout(240000);
await page.setViewport({width: 1440, height: 900});
page.on("pageerror", e => errors.push(e.message));
await page.goto(url);
await page.waitForFunction(() => document.getElementById("model").textContent.includes("·"));
await (await page.$("#file")).uploadFile(speech);
await page.waitForSelector("#begin");
await page.click("#begin");
await page.waitForFunction(() => document.querySelector("#jobs .done") && document.getElementById("player").readyState > 0);
const text = await words();
check("a file becomes text", text.split(" ").length > 5, text);
await page.evaluate(() => document.activeElement.blur());
await page.keyboard.press(" ");
await page.waitForFunction(() => document.getElementById("player").currentTime > 1 && CSS.highlights.get("now"));
check("it plays, and the word that is heard is lit", true);
await page.keyboard.press(" ");
await page.keyboard.press("e");
await page.evaluate(() => getSelection().collapse(document.querySelector("#text p").firstChild, 0));
await page.keyboard.type("Hello");
await page.keyboard.press("Enter");
const control = async key => { await page.keyboard.down("Control"); await page.keyboard.press(key); await page.keyboard.up("Control"); };
await control("Enter");
check("a paragraph is typed", await words() === "Hello\n" + text, await words());
await control("z"); // the paragraph
await control("z"); // the word
check("and taken back", await words() === text, await words());
await page.reload();
await page.waitForFunction(() => document.querySelector("#text p"));
check("it is kept", await words() === text, await words());
await page.waitForFunction(() => document.getElementById("player").readyState > 0);
await page.evaluate(() => { const [p] = document.querySelectorAll("#text p"); getSelection().setBaseAndExtent(p.firstChild, 0, p.firstChild, 3); });
await page.waitForSelector("#passage:not([hidden])");
await (await page.$("#mark")).click();
check("a passage is highlighted", await page.evaluate(() => CSS.highlights.get("passage").size) === 1 && await page.evaluate(() => !document.getElementById("marks").hidden), "");
check("no errors", errors.length === 0, errors);
await browser.close();
server.kill("SIGKILL");
process.exit(wrong ? 1 : 0);

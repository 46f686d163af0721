// Parts of page.mjs: the captions view of a live recording, and sound of a tab.
import {readFileSync} from "node:fs";
import {chromium} from "playwright-core";

export const parts = ({open, check, looks, announced, words, pictures, speech, browserPath}) => ({
  async captions() {
    const page = await open();
    const shown = () => page.evaluate(() => [...document.querySelectorAll("#lines p")].map(p => p.textContent));
    await page.click("#record0");
    const began = Date.now();
    await page.waitForFunction(() => /^Listening/.test(document.getElementById("state").textContent), null, {timeout: 60000});
    check("a recording says that it listens", true);
    await page.keyboard.press("c");
    check("C opens the captions", await page.isVisible("#captions"), "");
    check("which say what they are", await page.getByRole("dialog", {name: "Captions of the live recording"}).getByRole("log", {name: /newest line/}).count() === 1, "");
    await page.waitForFunction(() => /^Hearing speech/.test(document.getElementById("hearing").textContent), null, {timeout: 60000});
    check("and that it hears speech", true);
    await page.waitForFunction(() => document.querySelector("#lines p")?.textContent, null, {timeout: 60000});
    console.log(`     first words after ${Date.now() - began} ms`);
    await page.waitForFunction(() => document.querySelectorAll("#lines p").length > 1 && document.getElementById("lines").textContent.length > 60, null, {timeout: 120000});
    check("pauses break lines", (await shown()).length > 1, await shown());
    const bottom = () => page.evaluate(() => { const [p, all] = [document.querySelector("#lines p:last-child"), document.getElementById("lines")].map(n => n.getBoundingClientRect()); return all.bottom - p.bottom; });
    const gap = await bottom();
    check("the newest line is at the bottom", gap >= 0 && gap < 60, gap);
    await looks(page, "captions", ["light", "dark"]);
    const size = () => page.evaluate(() => parseFloat(getComputedStyle(document.querySelector("#lines p")).fontSize)), was = await size();
    await page.keyboard.press("+");
    check("+ makes them larger", await size() > was, await size());
    await page.keyboard.press("-");
    await page.click("#smaller");
    check("and − smaller", await size() < was, await size());
    await page.click("#wholeScreen");
    await page.waitForFunction(() => document.fullscreenElement);
    check("full screen", await page.isVisible("#lines"), "");
    await page.click("#wholeScreen");
    await page.waitForFunction(() => !document.fullscreenElement);
    await page.waitForFunction(async () => !(await import("./page/recording.js")).current().job.hearing, null, {timeout: 60000}); // nothing comes amid what follows
    await page.evaluate(async () => { // hours of it, with two voices
      const [{current}, {text}, {append}] = await Promise.all(["recording", "captions", "paragraphs"].map(m => import(`./page/${m}.js`))), {job} = current();
      job.former = job.paragraphs;
      job.paragraphs = [];
      for (let i = 0; i < 60; i++) append(job.paragraphs, {text: " So, shall we repair the wall? The figures come on Thursday, with the drawings of the gate that was built in the spring. And then we see.", start: 9 * i, end: 9 * i + 8, speaker: "AB"[i % 2]});
      text(job);
    });
    check("voices break lines", (await shown()).length === 120 && await page.evaluate(() => [...document.querySelectorAll("#lines p")].slice(-4).map(p => p.className + " " + p.dataset.speaker).join()) === "s0 Speaker 1,s0 undefined,s1 Speaker 2,s1 undefined", await shown());
    check("the end stays in view", Math.abs(await bottom() - gap) < 2, [await bottom(), gap]);
    await looks(page, "captions-voices");
    await page.evaluate(async () => { const [{current}, {text}] = await Promise.all(["recording", "captions"].map(m => import(`./page/${m}.js`))), {job} = current(); job.paragraphs = job.former; delete job.former; text(job); });
    await page.keyboard.press("Escape");
    check("Escape leaves", !await page.isVisible("#captions") && await page.isVisible("#stopLive"), "");
    await page.click("#openCaptions");
    check("the size is kept, and so is the text", await size() < was && (await shown()).join(" ").length > 40, await shown());
    await page.evaluate(() => document.getElementById("stopLive").click());
    await page.waitForFunction(() => /has ended/.test(document.getElementById("hearing").textContent), null, {timeout: 120000});
    check("they stay when the recording ends", (await shown()).length > 0, await shown());
    await announced(page, "done in");
    await page.waitForTimeout(300);
    check("and become the better text", (await shown()).join(" ").replace(/\s+/g, " ") === (await words(page)).replace(/\s+/g, " "), [await shown(), await words(page)]);
    await page.keyboard.press("Escape");
    check("without a recording there are none", !await page.isVisible("#openCaptions"), "");
    await page.context().close();
    const two = await chromium.launch({executablePath: browserPath, args: ["--no-sandbox", "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream", `--use-file-for-fake-audio-capture=${pictures}/two.wav%noloop`]}), other = await open({}, "", two);
    await other.click("#record0");
    await other.click("#openCaptions");
    await other.waitForFunction(() => document.querySelectorAll("#lines [data-speaker]").length > 1, null, {timeout: 120000});
    check("two voices are told apart while they speak", true);
    await two.close();
  },

  async tab() {
    const browser = await chromium.launch({executablePath: browserPath, ignoreDefaultArgs: ["--mute-audio"], args: ["--no-sandbox", "--autoplay-policy=no-user-gesture-required", "--auto-select-tab-capture-source-by-title=Sounding",
      "--use-fake-device-for-media-stream", `--use-file-for-fake-audio-capture=${pictures}/silence.wav`]});
    const page = await open({}, "", browser), tab = await page.context().newPage();
    await tab.setContent(`<title>Sounding</title><audio loop autoplay src="data:audio/wav;base64,${readFileSync(speech, "base64")}"></audio>`);
    await page.bringToFront();
    const record = async source => { await page.click(".sources summary:visible"); await page.click(`[data-source=${source}]:visible`); };
    const state = wanted => page.waitForFunction(w => new RegExp(w).test(document.getElementById("state").textContent), wanted, {timeout: 60000});
    const spoken = n => page.waitForFunction(n => document.getElementById("text").textContent.length > n, n, {timeout: 120000});
    await page.click(".sources summary:visible");
    await looks(page, "sources");
    await page.keyboard.press("Escape");
    await record("computer");
    await state("^Listening: the shared tab or screen");
    check("the sound of a tab is recorded", true);
    await spoken(40);
    await page.click("#stopLive");
    await announced(page, "done in");
    check("and has its text", /country/.test(await words(page)), await words(page));
    await page.waitForFunction(() => document.getElementById("player").duration > 3);

    await record("both");
    await state("^Listening: the shared tab or screen and Fake|^Hearing");
    await page.waitForFunction(() => /count/.test(document.querySelector("#text p")?.textContent), null, {timeout: 120000});
    check("and a tab beside the microphone", /count/.test(await words(page)), await words(page));
    await tab.close();
    await page.waitForFunction(async () => /^Fake/.test((await import("./page/recording.js")).current().job.device));
    check("the microphone goes on when the tab is closed", await page.isVisible("#stopLive"), "");
    await page.click("#stopLive");
    await announced(page, "done in");

    for (const [what, fake, wanted] of [["a share without sound", () => { navigator.mediaDevices.getDisplayMedia = async () => document.createElement("canvas").captureStream(); }, "No sound was shared. Choose"],
      ["a share that is refused", () => { navigator.mediaDevices.getDisplayMedia = async () => { throw new DOMException("", "NotAllowedError"); }; }, "Nothing was shared. Choose"],
      ["a browser that cannot share", () => { navigator.mediaDevices.getDisplayMedia = undefined; }, "This browser cannot share sound. Choose"]]) {
      await page.evaluate(fake);
      await record("both");
      await announced(page, wanted);
      check(`${what} is told plainly, and nothing is recorded`, await page.locator("#jobs li").count() === 2, await page.locator("#jobs li").count());
    }
    await browser.close();
  },
});

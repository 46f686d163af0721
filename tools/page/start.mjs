// Parts of page.mjs: what is asked before a file is begun, a text that is given, and the stages of the work.
import {readFileSync} from "node:fs";

export const parts = ({open, add, choose, check, looks, words, rows, idle, announced, pictures, speech}) => ({
  async start() {
    const page = await open(), requests = [];
    page.on("request", r => { if (r.url().includes("/v1/audio/")) requests.push(r.url()); });
    const file = (name, from = speech) => ({name, mimeType: "audio/wav", buffer: readFileSync(from)});
    const chosen = () => page.evaluate(async () => { const {jobs} = await import("./page/jobs.js"), {options, state} = jobs[0]; return {state, ...options}; });
    // One press starts what was dropped; what it starts with can be changed before.
    await page.setInputFiles("#file", file("one.wav"));
    await page.waitForSelector("#start:not([hidden])");
    check("a file waits for Start, which has the focus", await page.evaluate(() => document.activeElement.id === "begin") && /not started/.test(await page.textContent("#jobs .state")) && requests.length === 0, requests);
    await looks(page, "start", ["light", "dark"]);
    await page.reload();
    await page.waitForSelector("#start:not([hidden])");
    await page.waitForFunction(() => document.getElementById("model").textContent.includes("·"));
    check("also after a reload, with its sound", await page.isVisible("#play"), "");
    await page.click("#summary");
    await page.waitForSelector("#settings[open]");
    check("the settings have the same fields", await page.isVisible("#settings #language") && await page.isVisible("#settings #prompt"), "");
    await page.keyboard.press("Escape");
    await page.waitForSelector("#settings", {state: "hidden"});
    await page.waitForSelector("#start #language");
    await page.focus("#language");
    await page.selectOption("#language", "en");
    for (const id of ["language", "task", "speakers", "prompt"]) {
      if (!await page.isVisible("#" + id)) continue;
      check(`Tab reaches ${id}`, await page.evaluate(() => document.activeElement.id) === id, await page.evaluate(() => document.activeElement.outerHTML.slice(0, 100)));
      await page.keyboard.press("Tab");
    }
    await page.selectOption("#speakers", "");
    await page.fill("#prompt", "Kennedy");
    await page.focus("#begin");
    await page.keyboard.press("Shift+Tab");
    check("and the text that one has", await page.evaluate(() => document.activeElement.textContent) === "I have the text", await page.evaluate(() => document.activeElement.outerHTML.slice(0, 100)));
    await page.focus("#begin");
    await page.keyboard.press("Enter");
    await idle(page);
    check("Enter starts it, as chosen", await page.evaluate(() => /country/.test(document.getElementById("text").textContent)) && (await chosen()).language === "en" && (await chosen()).prompt === "Kennedy" && !await page.isVisible("#start"), [await chosen(), await words(page)]);
    await page.setInputFiles("#file", [file("two.wav"), file("three.wav")]);
    await page.waitForSelector("#start:not([hidden])");
    check("the choice is remembered, and is for all files that come together", await page.inputValue("#language") === "en" && await page.inputValue("#speakers") === "" && await page.textContent("#begin") === "Start all 2" && !await page.isVisible("#given"), await page.textContent("#begin"));
    await choose(page, "three");
    await page.click("#begin");
    await idle(page);
    check("they are all started", requests.length === 3 && (await page.locator("#jobs .done").count()) === 3, [requests.length, await rows(page)]);
    await page.setInputFiles("#file", file("four.wav"));
    await page.waitForSelector("#start:not([hidden])");
    await page.focus("#jobs .chosen .name");
    await page.keyboard.press("Delete");
    check("what waits can be deleted", (await rows(page)).join() === "two,three,one", await rows(page));

    await page.setInputFiles("#file", file("two.wav"));
    await announced(page, "“two.wav” is in the list already. Here it is.");
    check("a file that is there already is opened, and an Undo stays beside that", (await rows(page)).join() === "two,three,one" && /two/.test(await page.textContent("#jobs .chosen")) && (await page.locator(".toast:not(.news)").allTextContents()).join() === "“four” was deleted.Undo,“two.wav” is in the list already. Here it is.Add it again", await page.locator(".toast").allTextContents());
    await page.click("#offer");
    await page.waitForSelector("#start:not([hidden])");
    check("and can be added again", (await rows(page)).join() === "two,two,three,one", await rows(page));
    await page.focus("#jobs .chosen .name");
    await page.keyboard.press("Delete");
    await page.setInputFiles("#file", file("english.wav"));
    await page.waitForSelector("#start:not([hidden])");
    if (await page.isVisible("#task")) {
      await page.selectOption("#task", "translations");
      await page.click("#begin");
      await idle(page);
      check("a translation is made", (await chosen()).task === "translations", await chosen());
      await page.setInputFiles("#file", file("spoken.wav"));
      await page.waitForSelector("#start:not([hidden])");
      check("and not of the next file, unless wanted", await page.inputValue("#task") === "transcriptions", await page.inputValue("#task"));
    }

    // A text that is given.
    const spoken = "And so, my fellow Americans, ask not what your country can do for you, ask what you can do for your country.";
    await page.setInputFiles("#file", file("speech.wav"));
    await page.click("#given summary");
    await page.fill("#script", spoken.replace("what your country", "what your own nation").replace("ask what you can do", "ask kindly what you can do"));
    await page.reload();
    await page.waitForSelector("#start:not([hidden])");
    await page.waitForFunction(() => document.getElementById("model").textContent.includes("·"));
    check("it is kept", /own nation/.test(await page.inputValue("#script")), await page.inputValue("#script"));
    await looks(page, "given", ["light", "dark"]);
    await page.click("#begin");
    await idle(page);
    check("a text that is given is written word for word", (await words(page)).replace(/\s+/g, " ") === spoken.replace("what your country", "what your own nation").replace("ask what you can do", "ask kindly what you can do"), await words(page));
    const differences = await page.locator("#differences button").allTextContents();
    check("where it differs from the sound is shown, with times", differences.length === 2 && /^0:0\d “.*nation.*”, heard: “.*country.*”$/.test(differences[0]) && /^0:0\d “kindly” was not heard$/.test(differences[1]), differences);
    await looks(page, "differences", ["light", "dark"]);
    await page.locator("#differences button").first().click();
    await page.waitForFunction(() => document.getElementById("player").currentTime > 3);
    check("and can be heard", await page.evaluate(() => !document.getElementById("player").paused), "");
    await page.evaluate(() => document.getElementById("player").pause());
    await page.reload();
    await page.waitForSelector("#differences:not([hidden])");
    check("they are kept", await page.locator("#differences button").count() === 2, "");
    // One of another recording.
    await page.setInputFiles("#file", file("other.wav"));
    await page.setInputFiles("#scriptFile", {name: "other.txt", mimeType: "text/plain", buffer: Buffer.from("Der Erlkönig reitet durch Nacht und Wind, es ist der Vater mit seinem Kind, er hat den Knaben wohl in dem Arm.", "latin1")});
    await page.waitForFunction(() => /Erlkönig/.test(document.getElementById("script").value));
    await page.click("#begin");
    await page.waitForSelector("#problem:not([hidden])");
    check("a text of another recording is refused, with ways on", /^The text is not that of the recording: \d+ of \d+ words are in both/.test(await page.textContent("#problem p")) && (await page.locator("#problem button").allTextContents()).join() === "Change the text,Transcribe without the text,Delete", await page.textContent("#problem"));
    await looks(page, "other-text");
    await page.getByRole("button", {name: "Change the text"}).click();
    check("to the text", /Erlkönig/.test(await page.inputValue("#script")), await page.inputValue("#script"));
    await page.click("#begin");
    await page.waitForSelector("#problem:not([hidden])");
    await page.getByRole("button", {name: "Transcribe without the text"}).click();
    await idle(page);
    check("and without it", /country/.test(await words(page)), await words(page));
    // Subtitles stay as they are, with other times.
    await page.setInputFiles("#file", file("film.wav"));
    await page.waitForSelector("#start:not([hidden])");
    await page.setInputFiles("#file", {name: "film.srt", mimeType: "", buffer: Buffer.from("1\n00:01:00,000 --> 00:01:04,000\nAnd so, my fellow\nAmericans,\n\n2\n00:01:05,000 --> 00:01:09,000\nask not what your country can do for you,\n\n3\n00:01:09,000 --> 00:01:12,000\nask what you can do for your country.\n")});
    check("Start waits for the file", await page.isDisabled("#begin") || /fellow/.test(await page.inputValue("#script")), "");
    await page.waitForFunction(() => /fellow/.test(document.getElementById("script").value));
    check("a file of text that is dropped on it is its text", await page.isVisible("#start") && (await rows(page))[0] === "film", await rows(page));
    await page.click("#begin");
    await idle(page);
    await page.click("#asSubtitles");
    await page.waitForFunction(() => document.querySelectorAll("#cues li").length > 0);
    const cues = await page.evaluate(() => [...document.querySelectorAll("#cues li")].map(l => [l.field.value.replace(/\s+/g, " "), l.row.start, l.row.fixed]));
    check("subtitles that are given get other times", cues.length === 3 && cues[1][0] === "ask not what your country can do for you," && cues.every(c => c[1] < 12 && c[2]), cues);
    await page.click("#asText");

    // The stages of the work have names.
    await page.evaluate(() => {
      window.stages = [];
      new MutationObserver(() => { const now = document.querySelector("#state span").textContent.replace(/ ·.*|\.$/g, ""); if (now && now !== window.stages.at(-1)) window.stages.push(now); }).observe(document.getElementById("state"), {subtree: true, childList: true});
    });
    await page.setInputFiles("#file", `${pictures}/two.wav`);
    await page.waitForSelector("#start:not([hidden])");
    await page.selectOption("#language", "");
    await page.selectOption("#speakers", "voice");
    await page.fill("#prompt", "");
    await page.click("#begin");
    await idle(page);
    const stages = await page.evaluate(() => window.stages);
    check("stages have names", /^(Sending,)?Reading the file,(Speech found,)?Transcribing,Telling voices apart$/.test(stages.filter(s => s !== "This file is waiting").join()), stages);
    await page.context().close();
  },
});

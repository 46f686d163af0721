// Parts of page.mjs: passages that are copied with their source, or highlighted.
import {readFileSync} from "node:fs";

export const parts = ({open, seed, choose, check, looks, words, rows, announced}) => ({
  async highlights() {
    const page = await open();
    await seed(page, [{name: "Harbour board.m4a", sentences: 12, speakers: true}, {name: "Interview.mp3", sentences: 24}]);
    await choose(page, "Harbour");
    await page.waitForFunction(() => document.querySelector("#text p") && document.getElementById("player").readyState > 0);
    const text = await words(page), copied = () => page.evaluate(() => navigator.clipboard.readText());
    const edge = (said, end) => page.evaluate(({said, end}) => {
      const p = [...document.querySelectorAll("#text p")].find(p => p.textContent.includes(said)), r = document.createRange(), at = p.textContent.indexOf(said) + (end ? said.length : 0);
      r.setStart(p.firstChild, at - (end ? 1 : 0));
      r.setEnd(p.firstChild, at + (end ? 0 : 1));
      const b = r.getBoundingClientRect();
      return [end ? b.right - 1 : b.left + 1, b.y + b.height / 2];
    }, {said, end});
    const select = async (from, to = from) => { // with the mouse
      await page.mouse.move(...await edge(from));
      await page.mouse.down();
      await page.mouse.move(...await edge(to, true), {steps: 5});
      await page.mouse.up();
    };
    const shown = () => page.evaluate(() => [...CSS.highlights.get("passage")].map(r => r.startContainer.data.slice(r.startOffset, r.endOffset)));
    const lines = () => page.locator("#marks li").evaluateAll(l => l.map(x => x.firstChild.textContent));

    await select("four centimetres");
    await page.waitForSelector("#passage:not([hidden])");
    check("what is selected can be copied and highlighted, without being played", await page.evaluate(() => document.getElementById("player").paused), "");
    await looks(page, "selection", ["light", "dark"]);
    await page.click("#copyPassage");
    await announced(page, "Copied.");
    check("Copy with source has who speaks, the recording and the time", await copied() === "“four centimetres,” (Speaker 2, Harbour board, 0:12)", await copied());
    await select("which is less than");
    await page.click("#mark");
    check("a highlight stays", (await shown()).join() === "which is less than" && !await page.isVisible("#passage") && /^0:12 which is less than$/.test(await lines()), [await shown(), await lines()]);
    await page.keyboard.press("Control+z");
    check("undo takes it away", (await shown()).length === 0 && !await page.isVisible("#marks"), await lines());
    await select("which is less than");
    await page.keyboard.press("h");
    await select("fishermen say.", "to be fair.");
    await page.keyboard.press("q");
    await announced(page, "Copied.");
    check("Q copies", await copied() === "Speaker 2: fishermen say.\n\nSpeaker 1: They have been saying so for thirty years, to be fair.\n\n(Harbour board, 0:14)", await copied());
    await page.keyboard.press("h");
    await page.evaluate(() => { getSelection().removeAllRanges(); document.getElementById("player").currentTime = 1; });
    await page.keyboard.press("h");
    await page.waitForFunction(() => document.querySelectorAll("#marks li").length === 3);
    check("without a selection, H highlights the sentence that is heard", (await lines())[0] === "0:00 So, let us begin with the harbour, and with what the surveyors found there in the spring.", await lines());
    await page.click("#marks summary");
    await page.evaluate(() => document.getElementById("pane").scrollTo(0, 0));
    await looks(page, "highlights", ["light", "dark"]);
    // Listed, heard, copied.
    await page.locator("#marks li button").nth(3).click();
    await page.waitForFunction(() => document.getElementById("player").currentTime >= 12.5);
    check("one can be heard", await page.evaluate(() => !document.getElementById("player").paused), "");
    await page.evaluate(() => document.getElementById("player").pause());
    await page.keyboard.press("e");
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("Yes: ");
    await page.locator("#marks li button", {hasText: "Copy"}).first().click();
    await announced(page, "Copied.");
    check("with what was just typed", /^“Yes: So, let us begin/.test(await copied()), await copied());
    await page.keyboard.press("Control+z");
    await page.keyboard.press("Control+Enter");
    await page.click("#copyMarks");
    await announced(page, "Copied.");
    check("all can be copied", (await copied()).split("\n\n").length >= 3 && /^“So, let us begin.*” \(Speaker 1, Harbour board, 0:00\)/.test(await copied()), await copied());
    // Several speakers, as the browser copies and with the source.
    await select("Nobody", "doesn't it?");
    await page.keyboard.press("Control+c");
    check("a copy of several paragraphs has their speakers", await copied() === "Speaker 1: Nobody had measured the eastern wall since it was built.\n\nSpeaker 2: It leans, doesn't it?", await copied());
    await page.keyboard.press("q");
    await page.waitForTimeout(200);
    check("so has one with the source", /^Speaker 1: Nobody .*\n\nSpeaker 2: It leans, doesn't it\?\n\n\(Harbour board, 0:0\d\)$/.test(await copied()), await copied());
    // They stay through edits, a reload and what is saved.
    await page.evaluate(() => getSelection().removeAllRanges());
    await page.keyboard.press("e");
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("Well. ");
    await page.keyboard.press("Control+Enter");
    await page.reload();
    await page.waitForSelector("#marks:not([hidden])");
    check("highlights stay where they are through edits and a reload", (await shown()).includes("which is less than") && (await lines()).length === 3, [await shown(), await lines()]);
    await page.click("#save summary");
    const [sent] = await Promise.all([page.waitForRequest(/page\/write/), page.click("#save [data-format=docx]")]), {highlight, transcript} = sent.postDataJSON();
    check("Word gets them", transcript.segments.some(s => s.text.split(highlight)[1] === "which is less than"), transcript.segments);
    await page.click("#save summary");
    await page.click("#save .more summary");
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#save [data-format=json]")]), json = readFileSync(await download.path()), saved = JSON.parse(json).highlights;
    check("the saved JSON has them", saved.length === 3 && saved[1].text === "which is less than" && saved[1].start > 12 && saved[1].end > saved[1].start, saved);
    await page.setInputFiles("#file", {name: "again.json", mimeType: "", buffer: json});
    await announced(page, "again.json is open");
    check("and brings them back", (await shown()).includes("which is less than"), await shown());
    await choose(page, "Harbour");
    await page.waitForFunction(() => document.getElementById("title").value === "Harbour board.m4a");
    // While the text is edited, by keys; and removed.
    await page.keyboard.press("e");
    await page.keyboard.press("Control+Home");
    await page.keyboard.press("Shift+End");
    await page.waitForSelector("#passage:not([hidden])");
    await page.keyboard.press("Tab");
    check("Tab goes from what is selected to what can be done with it", await page.evaluate(() => document.activeElement.id) === "copyPassage", await page.evaluate(() => document.activeElement.outerHTML.slice(0, 80)));
    await page.keyboard.press("Enter");
    await announced(page, "Copied.");
    check("also while the text is edited", /^“Well\. So, let us/.test(await copied()), await copied());
    await page.evaluate(() => getSelection().removeAllRanges());
    await page.keyboard.press("Control+Enter");
    await page.evaluate(() => document.getElementById("edit").ariaPressed === "true" && document.getElementById("edit").click());
    await page.click("#marks summary");
    await page.locator("#marks li").nth(1).locator("button").last().click();
    check("a highlight can be removed", (await lines()).length === 2 && !(await shown()).includes("which is less than"), await lines());
    check("no word is changed by all this", (await words(page)).replace("Well. ", "") === text, (await words(page)).slice(0, 100));
    await page.context().close();
  },
});

// Parts of page.mjs: subtitles, video, and what was saved and is opened again.
import {execFileSync} from "node:child_process";
import {copyFileSync, readFileSync} from "node:fs";

export const parts = ({open, add, seed, choose, check, looks, words, rows, time, idle, announced, pictures, speech}) => {
  const lines = page => page.evaluate(() => [...document.querySelectorAll("#cues li")].map(l => ({text: l.field.value, start: l.row.start, end: l.row.end, fixed: l.row.fixed, bad: !!l.querySelector(".bad")})));
  const field = (page, i) => page.locator("#cues textarea").nth(i);
  const settled = async (page, ok, what) => {
    for (let i = 0; i < 50 && !ok(await lines(page)); i++) await page.waitForTimeout(100);
    check(what, ok(await lines(page)), await lines(page));
  };
  const flat = list => list.map(l => l.text).join(" ").replace(/\s+/g, " ");
  const saved = async (page, b) => {
    await page.click("#save summary");
    if (!await page.locator(b).first().isVisible()) await page.click("#save .more summary");
    const [download] = await Promise.all([page.waitForEvent("download"), page.click(b)]);
    return [download.suggestedFilename(), readFileSync(await download.path())];
  };

  return {
    async subtitles() {
      const page = await open();
      await seed(page, [{name: "Harbour.m4a", sentences: 12, speakers: true}, {name: "Interview.mp3", sentences: 24}]);
      await choose(page, "Harbour");
      await page.waitForFunction(() => document.querySelector("#text p") && document.getElementById("player").readyState > 0);
      const before = await words(page);
      await page.click("#asSubtitles");
      await settled(page, l => l.length > 5, "subtitles are shown");
      const first = await lines(page);
      check("they have all words, in lines that are short", flat(first) === before.replace(/\s+/g, " ") && first.every(l => l.text.split("\n").every(x => x.length <= 42)), first);
      check("without names that nobody typed", !/Speaker/.test(flat(first)) && !await page.isChecked("#names"), flat(first));
      await field(page, 1).focus();
      await looks(page, "subtitles", ["light", "dark"]);
      await page.click("#openFind");
      await page.fill("#findText", "thirty years");
      await page.waitForSelector("#cues .found");
      check("Find finds in subtitles", /thirty/.test(await page.locator("#cues .found textarea").inputValue()) && await page.textContent("#found") === "1 of 1", await page.textContent("#found"));
      await looks(page, "subtitles-find");
      await page.click("#closeFind");
      await choose(page, "Interview");
      await page.waitForFunction(() => document.getElementById("title").value === "Interview.mp3" && document.querySelector("#text p"));
      check("another recording opens as text", await page.isVisible("#text p") && !await page.isVisible("#cues"), "");
      await choose(page, "Harbour");
      await page.waitForFunction(() => document.querySelectorAll("#cues li").length > 5);
      await field(page, 1).focus();
      // Enter splits, Backspace merges, Ctrl+Z takes back; what was typed stays with its times.
      const at = first[1].text.indexOf(" ", 12);
      await field(page, 1).evaluate((f, at) => f.setSelectionRange(at, at), at);
      await page.keyboard.press("Enter");
      await settled(page, l => l.length >= first.length + 1 && l[1].fixed && l[2].fixed && l[1].text === first[1].text.slice(0, at).trim(), "Enter splits at the cursor");
      const split = await lines(page);
      check("the parts share the time", split[1].start === first[1].start && split[1].end <= split[2].start && Math.abs(split[2].end - first[1].end) < 0.01, split.slice(1, 3));
      check("and the cursor is in the second", await page.evaluate(() => document.activeElement === document.querySelectorAll("#cues textarea")[2] && document.activeElement.selectionStart === 0), await page.evaluate(() => document.activeElement.outerHTML));
      await page.keyboard.press("Backspace");
      await settled(page, l => l[1].fixed && l[1].text.replace(/\s+/g, " ") === first[1].text.replace(/\s+/g, " "), "Backspace merges");
      await page.keyboard.press("Control+z");
      await settled(page, l => l[1].text === split[1].text, "Ctrl+Z takes it back");
      await page.keyboard.press("End");
      await field(page, 1).fill(split[1].text + " indeed");
      await field(page, 3).focus();
      await settled(page, l => /indeed$/.test(l[1].text) && l[1].start === split[1].start && l[1].end === split[1].end, "what is typed into a subtitle stays in it");
      // A line that is ended by hand stays.
      const hand = split[1].text.replace(/\s+/g, " ") + " indeed", word = hand.indexOf(" ") + 1;
      await field(page, 1).focus();
      await field(page, 1).evaluate((f, at) => f.setSelectionRange(at, at), word);
      await page.keyboard.press("Shift+Enter");
      await field(page, 3).focus();
      await settled(page, l => l[1].text.split("\n")[0] === hand.slice(0, word - 1), "Shift+Enter begins a line, which stays");
      const [, lined] = await saved(page, "#save [data-format=srt]");
      check("also in what is saved", lined.toString().includes("\n" + hand.slice(0, word - 1) + "\n"), lined.toString().slice(0, 400));
      await page.keyboard.press("Escape");
      await page.click("#undoEdit");
      await settled(page, l => l[1].text.replace(/\s+/g, " ") === hand && l[1].text.split("\n")[0] !== hand.slice(0, word - 1), "and can be taken back");
      // Times: typed, by keys, and on the waveform.
      await field(page, 2).focus();
      await page.fill("#cueEnd", "0:0" + (split[2].end + 0.3).toFixed(2));
      await page.press("#cueEnd", "Enter");
      await settled(page, l => Math.abs(l[2].end - split[2].end - 0.3) < 0.02, "a time can be typed");
      await page.press("#cueEnd", "ArrowDown");
      await settled(page, l => Math.abs(l[2].end - split[2].end - 0.2) < 0.02, "and changed by keys");
      const right = JSON.stringify(await lines(page));
      await page.fill("#cueEnd", "0:00.10");
      await page.press("#cueEnd", "Enter");
      const refused = async (field, typed, why) => {
        await page.fill(field, typed);
        await page.press(field, "Enter");
        check(`${typed} in ${field} is refused, where it was typed`, why.test(await page.textContent("#cueError")) && await page.getAttribute(field, "aria-invalid") === "true" && JSON.stringify(await lines(page)) === right, [await page.textContent("#cueError"), await lines(page)]);
      };
      const next = (await lines(page))[3];
      await refused("#cueEnd", "0:00.10", /^This subtitle starts at 0:\d\d\.\d\d and needs 0\.2 s: type 0:\d\d\.\d\d or more\.$/);
      await refused("#cueEnd", "1:00:00", new RegExp(`^The next one ends at 0:0?${next.end.toFixed(2)} and needs 0\\.2 s: type .* or less\\.$`));
      await looks(page, "subtitles-refused", ["light", "dark"]);
      await refused("#cueEnd", "1:90", /^Type a time, like 0:05\.20\.$/);
      await refused("#cueStart", "0:00.00", /^The one before starts at /);
      await field(page, first.length).focus();
      await refused("#cueEnd", "59:00", /^The sound ends at 0:\d\d\.\d\d: type that or less\.$/);
      await field(page, 2).focus();
      check("another subtitle has no error", await page.textContent("#cueError") === "" && await page.getAttribute("#cueEnd", "aria-invalid") === "false", await page.textContent("#cueError"));
      const box = await page.locator("#strip .fixed").last().boundingBox(), was = (await lines(page))[2];
      await page.mouse.move(box.x + box.width - 3, box.y + 10);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width - 3 - 28, box.y + 10, {steps: 4});
      await page.mouse.up();
      await settled(page, l => Math.abs(l[2].end - was.end + 0.5) < 0.05 && l[2].start === was.start, "an end can be dragged on the waveform");
      const whole = await page.locator("#strip .fixed").first().boundingBox(), whole0 = (await lines(page))[1];
      await page.mouse.move(whole.x + whole.width / 2, whole.y + 10);
      await page.mouse.down();
      await page.mouse.move(whole.x + whole.width / 2 + 10, whole.y + 10, {steps: 4});
      await page.mouse.up();
      await settled(page, l => l[1].start > whole0.start + 0.1 && l[0].end <= l[1].start && l[1].end <= l[2].start, "a subtitle can be dragged whole, and pushes the next");
      // All of it stays: in the text, with other rules, after a reload, and in what is saved.
      const made = (await lines(page))[1];
      await page.selectOption("#subtitles", "shorts");
      await settled(page, l => l.length > first.length + 4 && l.filter(x => !x.fixed).every(x => x.text.length <= 20 || !/ /.test(x.text)) && l.some(x => x.fixed && x.text === made.text.replace(/\n/, " ") || x.text === made.text), "other rules leave what was made by hand");
      await looks(page, "shorts");
      await page.selectOption("#subtitles", "");
      await page.reload();
      await page.waitForSelector("#text p");
      check("the text has what was typed", / indeed/.test(await words(page)), (await words(page)).slice(0, 300));
      await page.click("#asSubtitles");
      await settled(page, l => l.length > 5 && l[1].text === made.text && l[1].start === made.start, "changes are kept");
      const [, srt] = await saved(page, "#save [data-format=srt]");
      const clock = t => new Date(Math.round(t * 1000)).toISOString().slice(11, 23).replace(".", ",");
      check("and saved", srt.toString().includes(clock(made.start) + " --> " + clock(made.end)) && !/Speaker 1/.test(srt), srt.toString().slice(0, 300));
      // Hard to read; names; start over.
      await page.evaluate(() => document.getElementById("player").pause());
      await field(page, 0).fill("Much more than anybody could ever read in the time that there is for it, whoever it may be and however fast");
      await field(page, 1).focus();
      await settled(page, l => l[0].bad, "what cannot be read is red");
      check("and says why, with the end", /^\d+\/s too fast, \d lines$/.test(await page.locator("#cues .speed").first().textContent()) && /^0:\d\d\.\d 0:\d\d\.\d$/.test(await page.locator("#cues .time").first().textContent()), await page.locator("#cues li").first().textContent());
      await page.click("#bad");
      check("and found", await page.evaluate(() => document.activeElement.closest("li").querySelector(".bad") !== null), "");
      await looks(page, "subtitles-hard");
      await page.check("#names");
      const [, named] = await saved(page, "#save [data-format=srt]");
      check("names, if wanted", /Speaker 1: /.test(named), named.toString().slice(0, 200));
      await page.click("#fresh");
      await settled(page, l => l.every(x => !x.fixed), "all can be as the rules make it");
      await page.click("#undo");
      await settled(page, l => l.some(x => x.fixed), "and back");
      // All together.
      const still = await lines(page), move = async (by, button) => { await page.click("#shift summary"); await page.fill("#shiftBy", by); await page.getByRole("button", {name: button}).click(); };
      await page.click("#shift summary");
      await page.evaluate(() => { document.body.dataset.view = "text"; });
      await looks(page, "shift");
      await page.keyboard.press("Escape");
      await move("1,5", "Later");
      await settled(page, l => l.every((x, i) => Math.abs(x.start - still[i].start - 1.5) < 0.01 && (Math.abs(x.end - still[i].end - 1.5) < 0.01 || i === l.length - 1)), "all subtitles can be moved together; the last ends with the sound");
      check("with the text", await page.evaluate(async () => (await import("./page/text.js")).words()[0].word.start) > 1.8, "");
      await move("9", "Earlier");
      await announced(page, "it cannot be 9 s earlier");
      await page.click("#undo");
      await settled(page, l => JSON.stringify(l) === JSON.stringify(still), "but not before the beginning; and back");
      await page.evaluate(() => { document.getElementById("player").currentTime = 4; });
      await page.waitForSelector("#cues li.now");
      check("the subtitle that is heard is marked", await page.evaluate(() => { const {row} = document.querySelector("#cues .now"); return row.start <= 4.1 && row.end >= 3.9; }), "");
      // Different people stay apart, and the cursor stays where it is put.
      const border = await page.evaluate(() => { const who = l => /\bs\d/.exec(l.className)[0]; return [...document.querySelectorAll("#cues li")].findIndex((l, i, all) => i > 2 && who(l) !== who(all[i - 1])); });
      const at0 = i => field(page, i).evaluate(f => { f.focus(); f.setSelectionRange(0, 0); }), cursor = () => page.evaluate(() => [...document.querySelectorAll("#cues textarea")].indexOf(document.activeElement));
      await at0(border);
      await page.keyboard.press("Backspace");
      await announced(page, "so they stay two");
      await field(page, 1).fill("Quite another text");
      await at0(2);
      await settled(page, l => l[1].text === "Quite another text", "what is typed after a merge that is refused");
      check("a merge that is refused moves no cursor", await cursor() === 2, await cursor());
      // The player, with the cursor in a subtitle.
      const player = what => page.evaluate(what => { const p = document.getElementById("player"); return p[what]; }, what), stand = t => page.evaluate(t => { document.getElementById("player").currentTime = t; }, t);
      await page.evaluate(() => document.getElementById("player").pause());
      await page.keyboard.press("Escape");
      await page.waitForFunction(() => !document.getElementById("player").paused);
      await page.keyboard.press("Escape");
      await page.waitForFunction(() => document.getElementById("player").paused);
      await stand(1);
      await page.keyboard.press("Control+ArrowRight");
      check("Esc plays and pauses, Ctrl with an arrow steps, and the cursor stays", await player("currentTime") === 6 && await cursor() === 2, [await player("currentTime"), await cursor()]);
      const [,, long] = await lines(page);
      await stand(long.start + 0.4);
      await page.click("#cueEndHere");
      await settled(page, l => Math.abs(l[2].end - long.start - 0.4) < 0.01, "a subtitle ends where the player is");
      await stand(long.start + 0.1);
      await page.click("#cueStartHere");
      await settled(page, l => Math.abs(l[2].start - long.start - 0.1) < 0.01, "and starts there");
      check("with the cursor still in it", await cursor() === 2, await cursor());
      const count = (await lines(page)).length;
      await page.click("#newCue");
      await page.waitForFunction(n => document.querySelectorAll("#cues li").length > n && document.activeElement.value === "…", count);
      await page.keyboard.type("(A bell rings)");
      await at0(0);
      await settled(page, l => l[3].text === "(A bell rings)" && l[3].fixed && Math.abs(l[3].start - l[2].end) < 0.01 && l[3].end <= l[4].start + 0.001, "a new one is typed after it");
      await looks(page, "subtitles-new");
      await page.click("#asText");
      check("the text comes back", await page.isVisible("#text p") && !await page.isVisible("#cues"), "");
      await seed(page, [{name: "Three hours", sentences: 2640, sound: 0}]);
      await choose(page, "Three hours");
      await page.waitForFunction(() => document.querySelectorAll("#text p").length > 200);
      const took = await page.evaluate(async () => {
        const until = async ok => { const began = performance.now(); while (!ok()) await new Promise(f => setTimeout(f, 5)); document.body.getBoundingClientRect(); return Math.round(performance.now() - began); };
        document.getElementById("asSubtitles").click();
        const opened = await until(() => document.querySelectorAll("#cues li").length > 2000), li = document.querySelectorAll("#cues li")[1000];
        li.field.focus();
        li.field.setSelectionRange(15, 15);
        li.field.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true, cancelable: true}));
        return {opened, split: await until(() => li.row.fixed)};
      });
      console.log("     three hours of subtitles, in ms:", JSON.stringify(took)); // figures, no check: machines differ
      await page.context().close();
    },

    async video() {
      const page = await open();
      for (const [ending, codecs] of [["mp4", ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-c:a", "aac"]], ["webm", ["-c:v", "libvpx", "-c:a", "libopus"]], ["mov", ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-c:a", "aac"]]]) {
        const clip = `${pictures}/clip.${ending}`;
        execFileSync("ffmpeg", ["-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=s=640x360:r=12", "-i", speech, "-shortest", ...codecs, clip]);
        await add(page, clip);
        await announced(page, "done in");
        await page.waitForSelector("#result.picture");
        await page.waitForFunction(() => document.getElementById("player").textTracks[0]?.cues?.length > 0, null, {timeout: 20000});
        check(`the picture of ${ending} is shown, with its subtitles`, await page.isVisible("#player") && await page.evaluate(() => document.getElementById("player").videoWidth) === 640, "");
        await page.evaluate(() => { const v = document.getElementById("player"); v.currentTime = v.textTracks[0].cues[0].startTime + 0.1; });
        await page.waitForFunction(() => document.getElementById("player").textTracks[0].activeCues.length === 1);
      }
      await looks(page, "video", ["light", "dark"]);
      await page.click("#asSubtitles");
      await settled(page, l => l.length > 0, "subtitles of a video");
      await field(page, 0).focus();
      await looks(page, "video-subtitles", ["light", "dark"]);
      await page.click("#player");
      await page.waitForFunction(() => !document.getElementById("player").paused);
      check("a click on the picture plays", true);
      await add(page, speech);
      await announced(page, "done in");
      check("sound has no picture", !await page.isVisible("#player"), "");
      await page.context().close();
    },

    async reopen() {
      let page = await open();
      await seed(page, [{name: "Harbour.m4a", sentences: 12, speakers: true}, {name: "Interview.mp3", sentences: 24}]);
      await choose(page, "Harbour");
      await page.waitForFunction(() => document.querySelector("#text p") && document.getElementById("player").readyState > 0);
      const put = (...list) => page.setInputFiles("#file", list.map(([name, buffer]) => ({name, mimeType: "", buffer})));
      const stored = () => page.evaluate(async () => { const {jobs, open} = await import("./page/jobs.js"); for (const j of jobs) await open(j); return jobs.map(j => [j.name, j.sound, j.paragraphs, j.names, j.created, (j.versions || []).length]); });
      const seconds = text => text.match(/\d\d:\d\d:\d\d,\d{3}/g);
      const files = {};
      for (const format of ["json", "srt", "vtt"]) [, files[format]] = await saved(page, `#save [data-format=${format}]`);
      // A text replaces that of a recording with the same name, which becomes a version.
      const before = await words(page), [[, , paragraphs]] = await stored(), sound = readFileSync(speech);
      await put(["Harbour.srt", Buffer.from(files.srt.toString().replace("harbour", "HARBOUR"))]);
      await announced(page, "Harbour.srt is open with the sound of “Harbour.m4a”. The text from before is in the menu with the language");
      check("subtitles open beside the sound that is here", /HARBOUR/.test(await words(page)) && (await rows(page)).length === 2 && await page.isVisible("#play"), await words(page));
      await page.click("#undoEdit");
      check("undo brings the text from before", await words(page) === before, await words(page));
      await page.click("#redoEdit");
      // Text and sound together, and one after the other, in a page without recordings.
      page = (await page.context().close(), await open());
      await put(["talk.en.json", files.json], ["talk.wav", sound]);
      await announced(page, "talk.en.json is open with the sound talk.wav.");
      await page.waitForFunction(() => document.getElementById("player").readyState > 0);
      check("JSON and its sound open together", await words(page) === before && (await rows(page)).join() === "talk.en" && /0:50/.test(await page.textContent("#facts")), [await words(page), await rows(page), await page.textContent("#facts")]);
      const [[, size, again]] = await stored(), bare = list => list.map(p => [p.text, p.speaker && p.speaker.replace(/A$/, "Speaker 1").replace(/B$/, "Speaker 2"), p.words.map(w => [w.at, Math.round(w.start * 100), w.p])]);
      check("with the words, times, doubts and speakers that it had", size === sound.length && JSON.stringify(bare(again)) === JSON.stringify(bare(paragraphs)), [bare(again)[0], bare(paragraphs)[0]]);
      await put(["film.srt", files.srt]);
      await announced(page, "To hear it, drop its sound or video here too.");
      check("subtitles open without a sound", /So, let us begin/.test(await words(page)) && await page.getByRole("button", {name: "Add its sound"}).isVisible() && !await page.isVisible("#play"), await page.textContent("#problem"));
      await looks(page, "without-sound", ["light", "dark"]);
      await put(["film.wav", sound]);
      await page.waitForFunction(() => document.getElementById("player").readyState > 0);
      check("their sound can follow", (await rows(page)).join() === "film,talk.en" && !await page.isVisible("#problem") && (await stored())[0][1] === sound.length, await rows(page));
      await page.click("#asSubtitles");
      await settled(page, l => l.length && l.every(x => x.fixed), "subtitles are as they were made");
      await page.click("#asText");
      await page.keyboard.press("e");
      await page.keyboard.press("Control+Home");
      await page.keyboard.type("Well, ");
      await page.keyboard.press("Control+Enter");
      const [, changed] = await saved(page, "#save [data-format=srt]");
      check("and saved with the same times, after an edit too", /Well, So/.test(changed) && seconds(changed.toString()).join() === seconds(files.srt.toString()).join(), [seconds(changed.toString()), seconds(files.srt.toString())]);
      await put(["other.vtt", Buffer.from("WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>Ask not.\n")]);
      await announced(page, "other.vtt is open. To hear it, drop its sound or video here too.");
      const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.getByRole("button", {name: "Add its sound"}).click()]);
      await chooser.setFiles({name: "tape 7.wav", mimeType: "audio/wav", buffer: sound});
      await page.waitForFunction(() => document.getElementById("player").readyState > 0);
      check("subtitles open in their view", await page.locator("#asSubtitles").getAttribute("aria-pressed") === "true");
      await page.click("#asText");
      check("a sound of another name can be chosen; a voice of VTT is a speaker", (await rows(page)).join() === "other,film,talk.en" && await page.locator(".speaker:visible").textContent() === "Ann", await rows(page));
      await put(["bad.json", Buffer.from('{"text": "No times."}')]);
      await announced(page, "bad.json: ");
      check("a text without times is refused", /There is no text with times in this file\. Choose JSON, SRT or VTT/.test(await page.textContent("#status")) && (await rows(page)).length === 3, await page.textContent("#status"));
      // Of several files in one drop, one message says what became of each.
      await put(["worse.json", Buffer.from("[")], ["torn.zip", Buffer.from("PK")], ["half.srt", Buffer.from("1\n00:00:01,000 --> 00:00:02,000\nKept.\n\n2\n00:00:0x,000 --> 00:00:04,000\nLost.\n")]);
      await announced(page, "torn.zip: ");
      check("one message names each bad file, and what an import lost", /^bad\.json: .*\nworse\.json: There is no .*\ntorn\.zip: This file is damaged\. .*\nhalf\.srt is open\. To hear it, .* Left out, as the time cannot be read: line 6\.$/.test(await page.textContent(".toast.bad p")), await page.locator(".toast").allTextContents());
      await looks(page, "bad-files", ["light", "dark"]);
      await page.focus("#jobs .chosen .name");
      await page.keyboard.press("Delete");
      // A text that comes while its sound is written takes its place.
      copyFileSync(`${pictures}/long.wav`, `${pictures}/late.wav`);
      await add(page, `${pictures}/late.wav`);
      await page.waitForSelector("#jobs .working");
      await put(["late.srt", files.srt]);
      await announced(page, "late.srt is open");
      check("a text that comes while its sound is written takes its place", /So, let us begin/.test(await words(page)) && await page.locator("#jobs .working").count() === 0 && !await page.isVisible("#problem"), await page.textContent("#problem"));
      // Everything in one file, and back.
      await page.evaluate(async () => (await import("./page/trash.js")).clear());
      const all = await stored(), [download] = await Promise.all([page.waitForEvent("download"), page.click("#backup")]), archive = `${pictures}/backup.zip`, packed = `${pictures}/packed.zip`;
      await download.saveAs(archive);
      check("everything is saved in one file", /^Verity \d{4}-\d\d-\d\d\.zip$/.test(download.suggestedFilename()), download.suggestedFilename());
      check("and how many have sound", /: 4 recordings, 4 with sound\.$/.test(await page.textContent(".toast.news p")), await page.locator(".toast").allTextContents());
      execFileSync("python3", ["-c", "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; o = zipfile.ZipFile(sys.argv[2], 'w', 8); [o.writestr(n, z.read(n)) for n in z.namelist()]; o.writestr('letter.txt', 'Dear')", archive, packed]);
      await page.setInputFiles("#file", archive);
      await announced(page, "backup.zip: 0 recordings are back; 4 were here already.");
      check("what is here does not come twice", (await rows(page)).length === 4, await rows(page));
      await page.context().close();
      for (const path of [archive, packed]) {
        page = await open();
        await page.setInputFiles("#file", path);
        await announced(page, "4 recordings are back." + (path === packed ? " Left out, as this page did not write it: letter.txt." : ""));
        await page.reload();
        await page.waitForSelector("#jobs li");
        check("and comes back in another browser, as it was", JSON.stringify(await stored()) === JSON.stringify(all), [await stored(), all]);
        await put(["none.zip", readFileSync(path).subarray(0, 100)]);
        await announced(page, "none.zip: This file is damaged.");
        if (path === archive) await page.context().close();
      }
      await choose(page, "talk");
      await page.waitForFunction(() => document.getElementById("player").readyState > 0);
      check("with the sounds", await words(page) === before, await words(page));
      await page.context().close();
    },
  };
};

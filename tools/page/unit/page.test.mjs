// Tests of the page's modules that need no browser: node --test tools/page/unit/*.mjs
import test from "node:test";
import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {append, endsSentence, probabilities, segmentsOf, tokensOf, wordCount, withSpeakers} from "../../../serve/page/paragraphs.js";
import {remember, step} from "../../../serve/page/history.js";
import {merge} from "../../../serve/page/tabs.js";
import {match, punctuated, rewrite} from "../../../serve/page/align.js";
import {blob, named, plain, quote, short} from "../../../serve/page/formats.js";

// random returns a generator of numbers below n: xorshift32, so that failures repeat.
function random(seed) {
  let x = seed | 1;
  return n => { x ^= x << 13; x ^= x >>> 17; x ^= x << 5; return (x >>> 0) % n; };
}

const vocabulary = "the a cat dog sat, ran. Then It's well-known (so) café naïve 42 日本 語 … – 👍🏽 and and and".split(" ");

function segment(r, start, n) {
  const words = [];
  let text = "", t = start;
  for (let i = 0; i < n; i++) {
    const word = vocabulary[r(vocabulary.length)], end = t + 0.1 + r(50) / 100;
    text += " " + word;
    words.push({word, start: t, end});
    t = end + (r(6) ? 0 : r(500) / 100);
  }
  return {start, end: t, text, words};
}

function recording(seed, segments = 12) {
  const r = random(seed), paragraphs = [], sent = [];
  for (let i = 0, t = 0; i < segments; i++) {
    const s = segment(r, t, 1 + r(30));
    if (r(3) === 0) s.speaker = "AB"[r(2)];
    append(paragraphs, s);
    sent.push(s);
    t = s.end;
  }
  return {paragraphs, sent, r};
}

// sound checks what holds for all paragraphs: words are where they say, in order, and their times rise.
function sound(paragraphs) {
  let last = 0;
  for (const p of paragraphs) {
    assert.ok(p.words.length, "a paragraph without words");
    let at = 0;
    for (const w of p.words) {
      assert.ok(w.at >= at && w.length > 0 && w.at + w.length <= p.text.length, JSON.stringify([w, p.text]));
      assert.ok(p.text.substr(w.at, w.length).trim(), JSON.stringify([w, p.text]));
      assert.ok(w.start >= last - 1e-9 && w.end >= w.start, JSON.stringify([last, w]));
      at = w.at + w.length;
      last = w.start;
    }
  }
}

test("segments become paragraphs and come back", () => {
  for (let seed = 1; seed <= 60; seed++) {
    const {paragraphs, sent} = recording(seed);
    sound(paragraphs);
    assert.equal(paragraphs.map(p => p.text).join(" ").replace(/\s+/g, " "), sent.map(s => s.text.trim()).join(" "));
    const words = segmentsOf(paragraphs).flatMap(s => s.words.map(({word, start, end}) => ({word: word.trim(), start, end})));
    assert.deepEqual(words, sent.flatMap(s => s.words));
    for (const p of paragraphs) assert.ok(p.words.length <= 400);
  }
});

test("paragraphs end as the program's", () => {
  const {cases, sentenceEnds, noSentenceEnds} = JSON.parse(readFileSync(new URL("../../../transcript/testdata/paragraphs.json", import.meta.url)));
  for (const {name, segments, want} of cases) {
    const made = [];
    for (const s of segments) append(made, {...s, text: s.text.repeat(s.repeat || 1)});
    assert.deepEqual(made.map(p => p.text), want.map(p => (p.text.repeat(p.repeat || 1) + (p.end || "")).trim()), name);
  }
  for (const word of sentenceEnds) assert.ok(endsSentence(...word.split("|")), word);
  for (const word of noSentenceEnds) assert.ok(!endsSentence(...word.split("|")), word);
});

test("lines that were ended by hand stay", () => {
  const list = [], lines = () => segmentsOf(list).map(s => [s.text, s.words.map(w => w.word).join("")]);
  append(list, {text: "Ask\nnot what", start: 0, end: 2, fixed: true});
  append(list, {text: "your country", start: 2, end: 4, fixed: true});
  assert.equal(list[0].text, "Ask not what your country");
  assert.deepEqual(lines(), [["Ask\nnot what ", "Ask\nnot what"], ["your country", " your country"]]);
  list.splice(0, 1, ...rewrite(list, ["Ask kindly not what your country"]));
  assert.equal(lines()[0][1], "Ask kindly\nnot what", "also when other words change");
});

test("segments are joined with spaces where they need them", () => {
  const make = (...list) => list.reduce((all, s) => { append(all, s); return all; }, []);
  const say = (text, start, end) => ({text, start, end});
  assert.equal(make(say("One,", 0, 1), say("two.", 1, 2))[0].text, "One, two.", "a space where none was sent");
  assert.equal(make(say("今日は", 0, 1), say("雨です", 1, 2))[0].text, "今日は雨です", "no space where none is used");
  const p = make({text: " un", start: 0, end: 1, words: [{word: "un", start: 0, end: 1}]});
  append(p, {text: "done", start: 1, end: 2, words: [{word: "done", start: 1, end: 2}], follows: true});
  assert.equal(p[0].text, "undone", "a segment that goes on");
});

test("speakers that are found again leave the words", () => {
  const say = (text, start, speaker) => ({text, start, end: start + 1, speaker, words: text.trim().split(" ").map((word, i, all) => ({word, start: start + i / all.length, end: start + (i + 1) / all.length}))});
  const make = (...list) => list.reduce((all, s) => { append(all, s); return all; }, []);
  const edited = make(say("One Misery two,", 0, "A"), say(" three. Four", 1, "B"), say(" five six.", 2, "A"));
  const told = list => list.map(p => [p.speaker, p.text]);
  assert.deepEqual(told(withSpeakers(edited, make(say("One Missouri two", 0, "A"), say(" three four", 1, "A"), say(" five six", 2, "B")))),
    [["A", "One Misery two, three. Four"], ["B", "five six."]]);
  assert.deepEqual(told(withSpeakers(edited, make(say("One Missouri two three four five six", 0)))), [[undefined, "One Misery two, three. Four five six."]]);
  const parted = make(say("One.", 0), say(" Two.", 4));
  assert.deepEqual(told(withSpeakers(parted, make(say("One", 0, "A"), say(" Two", 4, "A")))), [["A", "One."], ["A", "Two."]], "other borders stay");
  for (const p of withSpeakers(edited, make(say("One Missouri two three four five six", 0, "C")))) sound([p]);
});

test("probabilities follow characters, not bytes", () => {
  const bytes = s => [...new TextEncoder().encode(s)];
  const [e1, e2] = [bytes("é").slice(0, 1), bytes("é").slice(1)];
  const list = probabilities([{token: "caf", bytes: bytes("caf"), logprob: 0}, {token: "?", bytes: e1, logprob: Math.log(0.5)}, {token: "?", bytes: e2, logprob: Math.log(0.5)},
    {token: " 👍", bytes: bytes(" 👍"), logprob: 0}]);
  assert.deepEqual(list.map(t => [t.from, t.to]), [[0, 3], [3, 4], [4, 5], [4, 7]]);
  const p = [];
  append(p, {text: "Hi there.", start: 0, end: 1, words: [{word: "Hi", start: 0, end: 0.5}, {word: "there.", start: 0.5, end: 1}],
    logprobs: [{token: "Hi", bytes: bytes("Hi"), logprob: Math.log(0.25)}, {token: " the", bytes: bytes(" the"), logprob: Math.log(0.5)}, {token: "re", bytes: bytes("re"), logprob: Math.log(0.6)}, {token: ".", bytes: bytes("."), logprob: -9}]});
  assert.deepEqual(p[0].words.map(w => w.p), [0.25, 0.3]);
});

test("match finds a longest common subsequence", () => {
  const slow = (a, b) => {
    const t = Array.from({length: a.length + 1}, () => new Array(b.length + 1).fill(0));
    for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) t[i][j] = a[i] === b[j] ? 1 + t[i + 1][j + 1] : Math.max(t[i + 1][j], t[i][j + 1]);
    return t[0][0];
  };
  for (let seed = 1; seed <= 200; seed++) {
    const r = random(seed * 7919), list = () => Array.from({length: r(14)}, () => "abc"[r(3)]), a = list(), b = list(), pairs = match(a, b);
    assert.equal(pairs.length, slow(a, b), JSON.stringify([a, b, pairs]));
    for (let i = 0; i < pairs.length; i++) {
      assert.equal(a[pairs[i][0]], b[pairs[i][1]]);
      if (i) assert.ok(pairs[i][0] > pairs[i - 1][0] && pairs[i][1] > pairs[i - 1][1]);
    }
  }
});

test("an edited text keeps its words' times", () => {
  const {paragraphs} = recording(5, 30);
  const texts = paragraphs.map(p => p.text);
  assert.deepEqual(rewrite(paragraphs, texts), paragraphs, "nothing changed");
  const merged = rewrite(paragraphs, [texts[0] + " " + texts[1], ...texts.slice(2)]);
  const times = list => list.flatMap(p => tokensOf(p.text).length === p.words.length ? p.words.map(w => w.start) : []);
  assert.equal(merged.length, paragraphs.length - 1);
  assert.deepEqual(times(merged.slice(1)), times(paragraphs.slice(2)));
  const comma = rewrite([{text: "so it is said", speaker: "A", words: [{at: 0, length: 2, start: 1, end: 2, p: 0.3, first: true}, {at: 3, length: 2, start: 2, end: 3}, {at: 6, length: 2, start: 3, end: 4}, {at: 9, length: 4, start: 4, end: 6}]}],
    ["So, it", "really was, said"]);
  assert.deepEqual(comma.map(p => p.speaker), ["A", "A"], "a split paragraph keeps its speaker");
  assert.deepEqual(comma.flatMap(p => p.words.map(w => [w.start, w.end])), [[1, 2], [2, 3], [3, 3.6], [3.6, 4], [4, 6]], "two words share the time of one");
  assert.equal(comma[0].words[0].p, undefined, "a corrected word is no longer doubtful");
  assert.equal(comma[0].words[0].first, true);
});

test("any edit leaves a sound text, and words that stand keep their times", () => {
  for (let seed = 1; seed <= 100; seed++) {
    const {paragraphs, r} = recording(seed, 6);
    const words = paragraphs.flatMap(p => p.text.split(" "));
    for (let n = r(8); n > 0; n--) {
      const at = r(words.length + 1), cut = r(4), more = Array.from({length: r(4)}, () => ["new", "日本語", "the", "\n", "x,"][r(5)]);
      words.splice(at, cut, ...more);
    }
    const texts = words.join(" ").split("\n"), made = rewrite(paragraphs, texts);
    sound(made);
    assert.equal(made.map(p => p.text).join(" "), texts.map(t => t.trim()).filter(t => t).join(" "));
    assert.deepEqual(rewrite(made, made.map(p => p.text)), made);
  }
});

test("a day of edits at once takes no day", () => {
  const {paragraphs} = recording(3, 1500), words = wordCount(paragraphs);
  assert.ok(words > 15000);
  const made = rewrite(paragraphs, paragraphs.map(p => p.text.replace(/the/g, "THE").replace(/cat/g, "cow")));
  assert.equal(made.length, paragraphs.length);
  sound(made);
  sound(rewrite(paragraphs, ["All of it", "is another text."]));
  assert.deepEqual(rewrite(paragraphs, ["", " "]), []);
});

const job = {name: "Talk <1> & 2", created: Date.UTC(2026, 10, 25), task: "transcriptions", language: "english", duration: 12.5, names: {A: "Ann & Bo"}, paragraphs: []};
append(job.paragraphs, {start: 0.5, end: 2, text: "Ask *not* 1 < 2.", speaker: "A", words: ["Ask", "*not*", "1", "<", "2."].map((word, i) => ({word, start: 0.5 + 0.3 * i, end: 0.8 + 0.3 * i}))});
append(job.paragraphs, {start: 3, end: 4, text: " No.", speaker: "B", words: [{word: "No.", start: 3, end: 4}]});

test("formats", async () => {
  assert.equal(plain(job), "Ann & Bo: Ask *not* 1 < 2.\n\nSpeaker 2: No.\n");
  assert.equal(plain(job, {speakers: false}), "Ask *not* 1 < 2.\n\nNo.\n");
  assert.equal(plain(job, {times: true}), "[0:00] Ann & Bo: Ask *not* 1 < 2.\n\n[0:03] Speaker 2: No.\n");
  assert.ok(named(job) && !named({...job, names: null}));
  const all = JSON.parse(await (await blob(job, "json", {})).text());
  assert.deepEqual([all.language, all.duration, all.segments.length, all.words.length, all.segments[0].speaker], ["english", 12.5, 2, 6, "Ann & Bo"]);
  assert.deepEqual([0, 65, 3600].map(short), ["0:00", "1:05", "1:00:00"]);
});

test("a passage is quoted with its source, and saved", async () => {
  assert.equal(quote(job, {start: 0.8, end: 1.7}), "“*not* 1 <” (Ann & Bo, Talk <1> & 2, 0:00)");
  assert.equal(quote(job, {start: 1.7, end: 4}), "Ann & Bo: 2.\n\nSpeaker 2: No.\n\n(Talk <1> & 2, 0:01)");
  assert.equal(quote({...job, paragraphs: job.paragraphs.map(({speaker, ...p}) => p)}, {start: 3, end: 4}), "“No.” (Talk <1> & 2, 0:03)");
  const saved = JSON.parse(await (await blob({...job, highlights: [{start: 0.8, end: 1.7}]}, "json", {})).text());
  assert.deepEqual(saved.highlights, [{start: 0.8, end: 1.7, text: "*not* 1 <"}]);
});

test("an empty speaker is none", () => {
  const list = [];
  append(list, {text: "One", start: 0, end: 1, speaker: "", words: [{word: "One", start: 0, end: 1, speaker: ""}]});
  append(list, {text: " two", start: 1, end: 2});
  assert.deepEqual(list.map(p => [p.text, p.speaker]), [["One two", undefined]]);
});

test("undo and redo", () => {
  const r = random(7), job = {name: "a", paragraphs: [], names: null}, states = [];
  append(job.paragraphs, segment(r, 0, 60));
  const texts = () => JSON.stringify([job.name, job.names, job.paragraphs.map(p => p.text)]);
  for (let i = 0; i < 40; i++) {
    states.push(texts());
    remember(job);
    if (i % 5 === 4) job.names = {A: "name " + i};
    else job.paragraphs = rewrite(job.paragraphs, job.paragraphs.map(p => p.text + " word" + i));
  }
  states.push(texts());
  for (let i = 39; i >= 0; i--) { step(job); assert.equal(texts(), states[i]); }
  assert.equal(step(job), null);
  for (let i = 1; i <= 20; i++) { step(job, true); assert.equal(texts(), states[i]); }
  remember(job);
  job.name = "b";
  assert.equal(step(job, true), null); // a change ends what could be made again
  assert.deepEqual(step(job) && job.name, "a");
});

test("undo finds the place that changed", () => {
  const job = {paragraphs: []};
  append(job.paragraphs, {start: 0, end: 3, text: "One two three", words: [{word: "One", start: 0, end: 1}, {word: "two", start: 1, end: 2}, {word: "three", start: 2, end: 3}]});
  remember(job);
  job.paragraphs = rewrite(job.paragraphs, ["One 2 three"]);
  assert.deepEqual(step(job), {paragraph: 0, at: "One two".length});
  remember(job);
  job.paragraphs = rewrite(job.paragraphs, ["One", "two three"]);
  assert.deepEqual(step(job), {paragraph: 0, at: "One ".length});
  remember(job);
  job.names = {A: "Ann"};
  assert.deepEqual(step(job), {});
});

test("a recording that two tabs change", () => {
  const text = t => [{text: t, words: []}], record = (name, revision) => ({name, state: "done", revision});
  const read = () => { const paragraphs = text("a"); return {...record("x", 1), paragraphs, base: {...record("x", 1), paragraphs}}; };
  const idle = read(); // changed nothing: it takes all
  assert.equal(merge(idle, {...record("y", 2), paragraphs: text("b")}), "theirs");
  assert.deepEqual([idle.paragraphs[0].text, idle.name, idle.revision, step(idle) && idle.paragraphs[0].text], ["b", "y", 2, "a"]);
  const renamed = Object.assign(read(), {name: "z"}); // its name stays
  assert.equal(merge(renamed, {...record("x", 2), paragraphs: text("b")}), "theirs");
  assert.deepEqual([renamed.paragraphs[0].text, renamed.name], ["b", "z"]);
  const changed = Object.assign(read(), {paragraphs: text("c")}); // keeps its text, and the other as a version
  assert.equal(merge(changed, {...record("y", 2), paragraphs: text("a")}), "");
  assert.equal(merge(changed, {...record("y", 3), paragraphs: text("b")}), "both");
  assert.deepEqual([changed.paragraphs[0].text, changed.name, changed.versions.map(v => v.paragraphs[0].text)], ["c", "y", ["b"]]);
  const coming = Object.assign(read(), {state: "working"}); // its text grows in place
  coming.paragraphs.push(...text("more"));
  assert.equal(merge(coming, {...record("x", 2), paragraphs: text("a")}), "");
  assert.equal(coming.paragraphs.length, 2);
});

test("text after an interruption begins a paragraph, with a mark that is no word", () => {
  const paragraphs = [];
  append(paragraphs, {text: " Forty shillings for each", start: 0, end: 2, words: []});
  append(paragraphs, {text: " […] posture of", start: 9, end: 10, apart: true, words: [{word: "posture", start: 9, end: 9.5}, {word: "of", start: 9.5, end: 10}]});
  append(paragraphs, {text: " defence.", start: 10, end: 11, words: [{word: "defence.", start: 10, end: 11}], follows: true});
  assert.deepEqual(paragraphs.map(p => p.text), ["Forty shillings for each", "[…] posture of defence."]);
  assert.equal(wordCount(paragraphs), 7);
});

test("a second text that lacks marks for long has those of the live text", () => {
  const made = text => { const list = []; text.split("|").forEach((t, i) => append(list, {text: " " + t, start: 10 * i, end: 10 * i + 9, words: t.split(" ").map((word, k) => ({word, start: 10 * i + k / 4, end: 10 * i + k / 4 + 0.2}))})); return list; };
  const spoken = (found, live) => { const list = punctuated(made(found), made(live)); sound(list); return list.map(p => p.text).join(" "); };
  const long = "and so my fellow americans ask not what your country can do for you ask what you can do for your country and now we go on.";
  for (const [found, live, want, why] of [
    ["And so my fellow Americans ask not what your country can do for you.", "And so, my fellow Americans, ask not. What your country can do for you.", "And so, my fellow Americans, ask not what your country can do for you.", "commas come back; a live utterance may end amid a sentence"],
    [long, "And so, my fellow Americans, ask not what your country can do for you. Ask what you can do for your country. And now, we go on.", "And so, my fellow Americans, ask not what your country can do for you. Ask what you can do for your country. And now, we go on.", "a text without any sentence has those of the other"],
    [long, "And so, my fellow citizens. We ask not what your country can do.", "And so, my fellow americans ask not what your country can do for you ask what you can do for your country and now we go on.", "no sentence ends where other words follow"],
    ["And so, my fellow Americans, ask not what your country can do for you.", "And so my fellow Americans. Ask not, what your country can do for you?", "And so, my fellow Americans, ask not what your country can do for you.", "marks that are there stay"],
    ["And so my fellow Americans ask not what your country can do for you Ask what you can do for your country", "And so my fellow Americans. asked not what your country can do for you. ask what you can do for your country.", "And so my fellow Americans ask not what your country can do for you. Ask what you can do for your country.", "as the base model heard Kennedy"],
    ["The house of lords, and then in the House of Commons they did all that can be done there.", "The house of lords. And then in the house of commons they did, all that can be done there.", "The house of lords, and then in the House of Commons they did, all that can be done there.", "no capital is lost"],
    ["One two.|Three four.", "Other words, all of them.", "One two. Three four.", "another text changes nothing"],
  ]) assert.equal(spoken(found, live), want, why);
});

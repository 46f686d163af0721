// Words keep their times when a text is edited: the old and the new words are aligned, and new words share the time of
// those that they replace.
import {capital, tokensOf} from "./paragraphs.js";

const farthest = 1500; // insertions and deletions that are aligned; more are a new text

// rewrite returns the paragraphs of an edited text, given the text of each. Paragraphs without words are left out.
export function rewrite(paragraphs, texts) {
  texts = texts.map(t => t.trim()).filter(t => t);
  const [head, tail] = equalEnds(paragraphs, texts, (p, text) => p.text === text);
  const old = paragraphs.slice(head, paragraphs.length - tail).flatMap(timedTokens);
  const made = texts.slice(head, texts.length - tail).map(text => ({text, words: tokensOf(text)}));
  const before = head ? paragraphs[head - 1] : null, after = tail ? paragraphs[paragraphs.length - tail] : null;
  assign(old, made, before, after);
  return [...paragraphs.slice(0, head), ...made.filter(p => p.words.length), ...(tail ? paragraphs.slice(-tail) : [])];
}

// timedTokens returns the tokens of a paragraph with the times of the words that they overlap.
function timedTokens(p) {
  let i = 0;
  return tokensOf(p.text).map(t => {
    const end = t.at + t.length;
    while (i < p.words.length && p.words[i].at + p.words[i].length <= t.at) i++;
    const all = [];
    for (let j = i; j < p.words.length && p.words[j].at < end; j++) all.push(p.words[j]);
    if (!all.length) all.push(p.words[Math.max(0, i - 1)]);
    const first = all[0], last = all[all.length - 1];
    const time = (w, at) => w.start + (w.end - w.start) * Math.min(1, Math.max(0, (at - w.at) / w.length));
    return {text: p.text.substr(t.at, t.length), start: time(first, t.at), end: time(last, end), p: first.p,
      first: first.first && first.at >= t.at || undefined, cue: first.cue, br: first.at >= t.at && first.br, speaker: p.speaker};
  });
}

const key = text => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "") || text;

// assign gives the words of new paragraphs times, and the paragraphs speakers.
function assign(old, made, before, after) {
  const words = made.flatMap(p => p.words.map(w => ({word: w, paragraph: p, text: p.text.substr(w.at, w.length)})));
  const pairs = match(old.map(w => key(w.text)), words.map(w => key(w.text)));
  let i = 0, j = 0; // the next old and new word
  const fill = (toOld, toNew) => {
    if (j < toNew) {
      const gone = old.slice(i, toOld), last = i ? old[i - 1] : null, next = old[toOld];
      const start = gone.length ? gone[0].start : last ? last.end : before ? before.words[before.words.length - 1].end : next ? next.start : 0;
      const end = gone.length ? gone[gone.length - 1].end : next ? next.start : after ? after.words[0].start : start;
      const {speaker, cue} = gone[0] || last || next || before || after || {};
      share(words.slice(j, toNew), start, Math.max(start, end), speaker, cue);
      if (gone.some(w => w.first)) words[j].word.first = true;
    } else if (toNew < words.length && old.slice(i, toOld).some(w => w.first)) words[toNew].begins = true;
  };
  for (const [a, b] of pairs) {
    fill(a, b);
    const {start, end, p, first, cue, br, speaker} = old[a], {word, text} = words[b];
    Object.assign(word, {start, end}, cue && {cue}, br && {br});
    if (p !== undefined && text === old[a].text) word.p = p;
    if (first || words[b].begins) word.first = true;
    words[b].speaker = speaker;
    [i, j] = [a + 1, b + 1];
  }
  fill(old.length, words.length);
  for (const w of words) if (w.paragraph.words[0] === w.word && w.speaker !== undefined) w.paragraph.speaker = w.speaker;
}

// share divides a span of time among words by their lengths.
function share(words, start, end, speaker, cue) {
  const all = words.reduce((n, w) => n + w.word.length, 0);
  let at = start;
  for (const w of words) {
    Object.assign(w.word, {start: at, end: at += (end - start) * w.word.length / all}, cue && {cue});
    w.speaker = speaker;
  }
}

const few = 12, many = 20; // words after which a mark is missed, and the end of a sentence
const ending = /[.?!…。？！]["'\p{Pe}\p{Pf}]*$/u, marked = /[.?!…。？！,;:、，—–]["'\p{Pe}\p{Pf}]*$/u, tail = text => /[^\p{L}\p{N}]*$/u.exec(text)[0];

// punctuated gives paragraphs, where they have no mark for long, those of another text that has the same words there.
export function punctuated(paragraphs, other) {
  const said = list => list.flatMap((p, n) => p.words.map(w => ({...w, n, text: p.text.substr(w.at, w.length)}))), words = said(paragraphs), others = said(other), texts = paragraphs.map(p => p.text);
  const same = new Map(match(words.map(w => key(w.text)), others.map(w => key(w.text)))), goesOn = k => same.get(k) === same.get(k - 1) + 1;
  for (let end = words.length, begin; end > 0; end = begin) { // the stretch up to a mark; from the last, so that places stay right
    for (begin = end - 1; begin > 0 && !marked.test(words[begin - 1].text);) begin--;
    for (let k = end - 1, ends = k => end - begin > many && (goesOn(k + 1) || k + 1 === words.length); end - begin > few && k >= begin; k--) {
      const {n, at, length, text} = words[k], j = same.get(k), theirs = others[j]?.text;
      if (!theirs || marked.test(text)) continue;
      const after = !j || ending.test(others[j - 1].text), first = k > begin ? after && ends(k - 1) : !k || ending.test(words[k - 1].text), letters = first ? capital(theirs) : after || /^\p{Lu}/u.test(text) ? text : theirs;
      texts[n] = texts[n].slice(0, at) + letters.slice(0, letters.length - tail(letters).length) + (ending.test(theirs) && !ends(k) ? "" : tail(theirs)) + texts[n].slice(at + length);
    }
  }
  return rewrite(paragraphs, texts);
}

// equalEnds returns how many elements two lists or texts have in common at the beginning, and how many of the rest at the end.
export function equalEnds(a, b, equal = (x, y) => x === y) {
  const n = Math.min(a.length, b.length);
  let head = 0, tail = 0;
  while (head < n && equal(a[head], b[head])) head++;
  while (tail < n - head && equal(a[a.length - 1 - tail], b[b.length - 1 - tail])) tail++;
  return [head, tail];
}

// match returns the pairs of indices of a longest common subsequence of two lists. Source: Myers 1986, An O(ND)
// Difference Algorithm and Its Variations, the greedy algorithm.
export function match(a, b) {
  const [head, tail] = equalEnds(a, b), pairs = [];
  for (let k = 0; k < head; k++) pairs.push([k, k]);
  pairs.push(...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)).map(([x, y]) => [x + head, y + head]));
  for (let k = tail; k > 0; k--) pairs.push([a.length - k, b.length - k]);
  return pairs;
}

// middle is match for lists that differ at both ends. It keeps of each diagonal the furthest place, with the last of the pairs on the
// way there; each pair knows the one before.
function middle(a, b) {
  if (!a.length || !b.length) return [];
  const most = Math.min(a.length + b.length, farthest), reached = Array.from({length: 2 * most + 3}, () => ({x: 0, last: null}));
  for (let d = 0; d <= most; d++) {
    for (let k = -d; k <= d; k += 2) {
      const before = reached[most + k], above = reached[most + k + 2], down = k === -d || k !== d && before.x < above.x;
      let x = down ? above.x : before.x + 1, last = (down ? above : before).last;
      for (; x < a.length && x - k < b.length && a[x] === b[x - k]; x++) last = {pair: [x, x - k], former: last};
      if (x >= a.length && x - k >= b.length) return pairsUntil(last);
      reached[most + k + 1] = {x, last};
    }
  }
  return [];
}

function pairsUntil(last) {
  const pairs = [];
  for (; last; last = last.former) pairs.push(last.pair);
  return pairs.reverse();
}

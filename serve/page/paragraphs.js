// A transcript as paragraphs whose words have times.
//
// A paragraph is {text, words, speaker}. A word is {at, length, start, end, p, first}: its place in the text
// in UTF-16 units, its time in seconds, the probability of its tokens together if known, and whether it begins a segment. A
// word of a subtitle that was made by hand has cue, [start, end] of that subtitle, and br if a line of it begins there by hand.

// A paragraph ends as transcript/paragraphs.go has it; transcript/testdata/paragraphs.json tests both.
const sentencePause = 2, longPause = 5, shortPause = 0.5; // seconds after a sentence, amid one, and amid one of a paragraph that is too long
const enough = 450, most = 1200; // columns after which a paragraph ends with its sentence, or with any clause
const longEnough = 30, later = 15; // seconds likewise, and after which half the pause suffices
const closing = /["'\p{Pe}\p{Pf}\p{Pi}]+$/u, sentenceEnd = /[…\p{STerm}]$/u, clauseEnd = /[—–\p{Term}]$/u;
const widthless = /[\p{Grapheme_Extend}\p{Emoji_Modifier}\p{Cc}\p{Cf}]/gu; // characters of no column
const wide = /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/gu; // and of two, as uniseg counts
const title = /^\P{L}*(Mrs?|Ms|Dr|Prof|St|Sr|Jr|vs|Dhr|[Mm]evr|Mme|Mlle|Mgr|Sra|Srta|Nr|[Cc]a|[Bb]zw|[Bb]ijv|usw|(?!I)\p{Lu}|\p{L}(\.\p{L})+)\.$/u; // whose full stop ends no sentence
const numbering = /^\P{L}*No\.\s*\d/u, ordinal = /^[^\p{L}\d]*\d{1,2}\.\s*[\p{L}\d]/u; // with what follows

const unspaced = "\\p{sc=Han}\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmr}\\p{sc=Mymr}"; // scripts without spaces
const token = new RegExp(`[${unspaced}]|[^\\s${unspaced}]+`, "gu");
const joins = new RegExp(`[${unspaced}。、，．！？]$`, "u");

// needsSpace reports whether a space belongs between two texts.
export const needsSpace = (before, after) => !!before && !!after && !/\s$/.test(before) && !/^\s/.test(after) && !joins.test(before);

// capital returns a text with a large first letter, which the model may write small.
export const capital = text => text.replace(/^\s*(?!\p{sc=Geor})\p{Ll}/u, c => c.toUpperCase());

const lastWord = text => /\S*$/.exec(text.slice(-40).trimEnd())[0].replace(closing, "");

// endsSentence reports whether a text ends with a sentence, if next follows it. "Mr." does not.
export const endsSentence = (text, next = "") => { const word = lastWord(text); return sentenceEnd.test(word) && !title.test(word) && !numbering.test(word + next) && !ordinal.test(word + next); };

// tokensOf returns the words of a text as {at, length}: what stands between spaces, or a character of a script without.
export const tokensOf = text => Array.from(text.matchAll(token), m => ({at: m.index, length: m[0].length}));

// append adds a segment {start, end, text, words, speaker, logprobs} to a list of paragraphs. A segment that
// continues the one before has follows set, one that begins a paragraph apart. It returns the index of the first paragraph that is new or changed.
export function append(paragraphs, segment) {
  const changed = Math.max(0, paragraphs.length - 1), words = locate(segment);
  let open = paragraphs[paragraphs.length - 1];
  words.forEach((w, i) => {
    if (!open || i === 0 && segment.apart || breaks(open, w, i === 0 && !segment.follows)) paragraphs.push(open = {text: "", words: [], speaker: w.speaker});
    const br = segment.fixed && i > 0 && w.before.includes("\n");
    let before = br ? " " : w.before;
    if (!open.text) before = before.trimStart();
    else if ((i === 0 && !segment.follows || open.text.endsWith("[…]")) && needsSpace(open.text, before + w.text)) before = " " + before;
    const at = open.text.length + before.length;
    open.text += before + w.text;
    open.words.push({at, length: w.text.length, start: w.start, end: w.end, ...w.p != null && {p: w.p}, ...i === 0 && !segment.follows && {first: true}, ...segment.fixed && {cue: [segment.start, segment.end]}, ...br && {br}});
  });
  if (open && words.length) open.text += words.rest.trimEnd();
  return changed;
}

function breaks(open, w, begins) {
  const gap = w.start - open.words.at(-1).end, lasts = w.start - open.words[0].start;
  if ((w.speaker ?? null) !== (open.speaker ?? null) || gap >= longPause) return true;
  const columns = open.text.replace(widthless, "").replace(wide, "  ").length;
  return endsSentence(open.text, w.text) && (gap >= sentencePause || gap >= sentencePause / 2 && lasts >= later || columns >= enough || lasts >= longEnough) || columns >= most && (begins || gap >= shortPause || clauseEnd.test(lastWord(open.text)));
}

// locate returns the words of a segment with the text before each, and, as rest, the text after the last. Words without
// times share the time of the segment.
function locate(s) {
  const found = [];
  let at = 0;
  for (const w of s.words || []) {
    const word = w.word.trim(), place = word ? s.text.indexOf(word, at) : -1;
    if (place < 0) continue;
    found.push({from: place, to: at = place + word.length, start: w.start, end: w.end, speaker: w.speaker || s.speaker || undefined, p: w.probability});
  }
  if (!found.length) {
    const spoken = s.text.trim(), first = s.text.indexOf(spoken), time = offset => s.start + (s.end - s.start) * (offset - first) / spoken.length;
    for (const t of tokensOf(s.text)) found.push({from: t.at, to: t.at + t.length, start: time(t.at), end: time(t.at + t.length), speaker: s.speaker || undefined});
  }
  const sure = probabilities(s.logprobs);
  at = 0;
  const words = found.map(w => {
    const before = s.text.slice(at, w.from);
    at = w.to;
    return {...w, before, text: s.text.slice(w.from, w.to), p: w.p ?? likelihood(sure, w.from, w.to)};
  });
  words.rest = s.text.slice(at);
  return words;
}

// probabilities turns the API's logprobs, whose tokens may end within a character, into ranges of a text.
export function probabilities(logprobs) {
  let at = 0;
  return (logprobs || []).map(t => {
    const from = at;
    for (const b of t.bytes) if (b < 0x80 || b >= 0xc0) at += b >= 0xf0 ? 2 : 1;
    return {from, to: Math.max(at, from + 1), p: Math.exp(t.logprob), sounds: t.bytes.some(b => b >= 0x80) || /[\p{L}\p{N}]/u.test(t.token)};
  });
}

// likelihood returns the probability of the tokens of a range together, without punctuation; undefined if nothing is known. It is at
// most that of the least likely, and low for words that do not exist: several tokens make them, each likely enough.
function likelihood(tokens, from, to) {
  const inside = tokens.filter(t => t.sounds && t.from < to && t.to > from);
  return inside.length ? Math.max(0.01, Math.round(100 * inside.reduce((product, t) => product * t.p, 1)) / 100) : undefined;
}

// withSpeakers returns paragraphs with the speakers of the same sound that was transcribed again as spoken. The words stay.
export function withSpeakers(paragraphs, spoken) {
  const turns = spoken.flatMap(p => p.words.map(w => ({start: w.start, end: w.end, speaker: p.speaker}))), list = [];
  let turn = 0, open = null;
  paragraphs.forEach((p, n) => {
    const between = n > 0 && (p.speaker ?? null) !== (paragraphs[n - 1].speaker ?? null); // the border was one of speakers
    let done = 0;
    for (const w of p.words) {
      const middle = (w.start + w.end) / 2;
      while (turn + 1 < turns.length && middle > turns[turn].end && middle - turns[turn].end >= turns[turn + 1].start - middle) turn++; // to the nearest
      const speaker = turns.length ? turns[turn].speaker : undefined, until = w.at + w.length;
      let text = p.text.slice(done, until);
      if (!open || speaker !== open.speaker || !done && !between) {
        list.push(open = {text: "", words: [], speaker});
        text = text.trimStart();
      } else if (!done && needsSpace(open.text, text)) text = " " + text;
      open.text += text;
      open.words.push({...w, at: open.text.length - w.length});
      done = until;
    }
    if (open) open.text += p.text.slice(done).trimEnd();
  });
  return list;
}

// inCue reports whether two words stand in one subtitle that was made by hand.
export const inCue = (a, b) => !!a && !!b && !!a.cue && !!b.cue && a.cue[0] === b.cue[0];

// segmentsOf returns paragraphs as segments {start, end, text, words, speaker, fixed}, cut where the server's segments began,
// and where subtitles that were made by hand begin and end. Words have the space before them.
export function segmentsOf(paragraphs) {
  const list = [];
  let before = null; // the word before
  paragraphs.forEach((p, n) => {
    const lead = n && !joins.test(paragraphs[n - 1].text) ? " " : "";
    p.words.forEach((w, i) => {
      const next = p.words[i + 1], text = p.text.slice(i ? w.at : 0, next ? next.at : p.text.length), open = list.at(-1), goesOn = inCue(before, w) && open.speaker === p.speaker;
      if (!goesOn && (i === 0 || w.first || w.cue || before.cue)) list.push({start: w.cue ? w.cue[0] : w.start, end: w.cue ? w.cue[1] : w.end, text: "", words: [], speaker: p.speaker, fixed: !!w.cue});
      const s = list.at(-1), breaks = goesOn && w.br, gap = i ? p.text.slice(p.words[i - 1].at + p.words[i - 1].length, w.at) : lead + p.text.slice(0, w.at);
      s.text = breaks ? s.text.trimEnd() + "\n" + text : s.text + (goesOn && i === 0 ? lead : "") + text;
      if (!s.fixed) s.end = Math.max(s.end, w.end);
      s.words.push({word: (breaks ? gap.replace(/\s*(?=\S*$)/, "\n") : gap) + p.text.substr(w.at, w.length), start: w.start, end: w.end, p: w.p});
      before = w;
    });
  });
  return list;
}

export const wordCount = paragraphs => paragraphs.reduce((n, p) => n + p.words.length, 0);

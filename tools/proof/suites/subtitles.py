"""Subtitles: what Verity writes, read back by the parsers that players and editors use."""
import html
import itertools
import json
import re
import shutil
import subprocess
import sys

TITLE = "subtitles read back by webvtt-py, pysrt, pysubs2, ass, ffmpeg and vtt.js"
BY = "them"
VERSION = "0.6.0, 1.1.2, 1.8.1, 1.0.3, as installed, 0.13.0"
NEEDS = ["webvtt-py==0.6.0", "pysubs2==1.8.1", "ass==1.0.3", "chardet==5.2.0"]
PYSRT = "pysrt==1.1.2"  # has no wheel; needs chardet
VTTJS = "vtt.js@0.13.0"
QUICK = True

# Texts that formats and their parsers stumble over. Those with MARKUP look like tags, which SubRip cannot escape.
TEXTS = [
    " AT&T, R&D &amp; Q&A; 3 > 2.", " one --> two", " first line\nsecond\r\n\r\nafter an empty one\rlast",
    " 12", " NOTE this is speech", " WEBVTT", " STYLE ::cue", " REGION",
    " ไม่ได้เป็นอะไร", " 日本語「テスト」です。", " a family 👩‍👩‍👧‍👦 and a flag 🇩🇪", " - a dash; a \"quote\", it's", " 100% #1 @x", " [music] (laughs)",
]
TIMES = [" Then comes", " 00:00:01,000 --> 00:00:02,000", " and more."]
MARKUP = [" <b>bold</b> <i>and", " a <b 3>2 &lt;", " {\\an8} braces {x} \\N \\h", " <00:00:01.000> <v Bob>", " c\\{d\\} e\\f"]

OPTIONS = {
    "plain": {}, "width": {"MaxLineWidth": 30}, "width and count": {"MaxLineWidth": 24, "MaxLineCount": 2},
    "one word": {"MaxWordsPerLine": 1}, "three words": {"MaxWordsPerLine": 3},
    "highlight": {"HighlightWords": True}, "composed": {"Composed": True},
    "composed, highlight": {"Composed": True, "HighlightWords": True},
}


def transcript(texts, words, first=0.0):
    """Returns a transcript with one segment of 2 s for each text; every third has a pause before it."""
    segments, at = [], first
    for i, text in enumerate(texts):
        at += 1.25 if i % 3 == 2 else 0
        segment = {"id": i, "start": round(at, 3), "end": round(at + 2, 3), "text": text}
        if words:
            parts = re.findall(r"\s*\S+", text)
            step = 2 / len(parts)
            segment["words"] = [{"word": w, "start": round(at + k * step, 3), "end": round(at + (k + 1) * step, 3)} for k, w in enumerate(parts)]
        segments.append(segment)
        at += 2
    return {"Duration": at + 1, "Segments": segments, "Text": "".join(texts), "Language": "en"}


def two_speakers():
    one, two = transcript([" Hello there my friend.", " Yes."], True), transcript([" Good morning to you too."], True, 0.7)
    for s in one["Segments"]:
        s["speaker"] = "Speaker 1"
    for s in two["Segments"]:
        s["speaker"] = "A & B"
    one["Segments"] = sorted(one["Segments"] + two["Segments"], key=lambda s: s["start"])
    return one


def plain(text):
    """Returns text with single spaces, and with arrows as Verity writes them in subtitles."""
    return re.sub("-+->", "->", " ".join(text.split()))


def seconds(text):
    part = [float(p.replace(",", ".")) for p in text.split(":")]
    return sum(p * 60**i for i, p in enumerate(reversed(part)))


def unescaped(format, text):
    """Returns the text of a cue without what the format adds to speech."""
    if format == "ass":
        text = re.sub(r"\\[Nn]", " ", re.sub(r"(?<!\\)\{\\u[01]\}", "", text))
        return re.sub(r"\\([{}])", r"\1", text).replace("\u2060", "")
    text = re.sub("</?u>", "", text)
    return html.unescape(re.sub("^<v [^>]*>", "", text)) if format == "vtt" else text


def written(format, text):
    """Reads what Verity wrote by its layout alone: start, end, text, what is underlined, and the voice of vtt."""
    cues = []
    if format == "ass":
        found = [(a, b, t) for a, b, t in re.findall("^Dialogue: 0,(.*?),(.*?),Default,,0,0,0,,(.*)$", text, re.M)]
    else:
        found = [(*times.split(" --> "), t) for times, t in re.findall(r"^([\d:.,]+ --> [\d:.,]+)\n(.*?)\n\n", text, re.M | re.S)]
    for start, end, raw in found:
        marked = re.search(r"\{\\u1\}(.*?)\{\\u0\}" if format == "ass" else "<u>(.*?)</u>", raw, re.S)
        voice = re.match("<v (.*?)>", raw) if format == "vtt" else None
        cues.append((seconds(start), seconds(end), unescaped(format, raw), marked and plain(unescaped(format, marked[1])), voice and html.unescape(voice[1])))
    return cues


def by_webvtt(text, work):
    import webvtt
    return [(seconds(c.start), seconds(c.end), unescaped("vtt", c.raw_text)) for c in webvtt.from_string(text)]


def by_pysrt(text, work):
    import pysrt
    return [(i.start.ordinal / 1000, i.end.ordinal / 1000, unescaped("srt", i.text)) for i in pysrt.from_string(text)]


def by_pysubs2(format):
    def read(text, work):
        import pysubs2
        events = pysubs2.SSAFile.from_string(text, format_=format)
        plain = {"vtt": html.unescape, "ass": lambda t: t.replace("\u2060", ""), "srt": str}[format]
        return [(e.start / 1000, e.end / 1000, plain(e.plaintext)) for e in events]
    return read


def by_ass(text, work):
    import ass
    return [(e.start.total_seconds(), e.end.total_seconds(), unescaped("ass", e.text)) for e in ass.parse_string(text).events]


def by_ffmpeg(format):
    def read(text, work):
        file = work / ("x." + format)
        file.write_text(text, encoding="utf8")
        out = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", file, "-f", "srt", "-"], capture_output=True, check=True).stdout
        return [(a, b, re.sub("</?font[^>]*>", "", t).replace("\u2060", "")) for a, b, t in by_pysrt(out.decode("utf8"), work)]
    return read


PARSE = """
globalThis.navigator ||= {userAgent: ''};  // it knows browsers alone
const vtt = require(process.argv[1] + '/node_modules/vtt.js');
const cues = [], parser = new vtt.WebVTT.Parser({VTTCue: vtt.VTTCue, VTTRegion: vtt.VTTRegion}, vtt.WebVTT.StringDecoder());
parser.oncue = c => cues.push([c.startTime, c.endTime, c.text]);
parser.onparsingerror = e => console.error(String(e && e.message || e));
parser.parse(require('fs').readFileSync(0, 'utf8'));
parser.flush();
console.log(JSON.stringify(cues));
"""


def by_vttjs(modules):
    def read(text, work):
        done = subprocess.run(["node", "-e", PARSE, str(modules)], input=text, capture_output=True, text=True, check=True)
        return [(a, b, unescaped("vtt", t)) for a, b, t in json.loads(done.stdout)]
    return read


def run(env):
    bridge, cases = env.bridge(), []
    sys.path.insert(0, str(env.sdist(PYSRT)))
    readers = [("vtt", "webvtt-py", by_webvtt), ("srt", "pysrt", by_pysrt), ("srt", "pysubs2", by_pysubs2("srt")), ("vtt", "pysubs2", by_pysubs2("vtt")),
               ("ass", "pysubs2", by_pysubs2("ass")), ("ass", "ass", by_ass)]
    if not env.quick and shutil.which("ffmpeg"):
        readers += [(f, "ffmpeg", by_ffmpeg(f)) for f in ("srt", "vtt", "ass")]
    else:
        cases.append(env.missing("ffmpeg", env.quick_or("needs ffmpeg")))
    if not env.quick and shutil.which("npm") and shutil.which("node"):
        readers.append(("vtt", "vtt.js", by_vttjs(env.npm(VTTJS))))
    else:
        cases.append(env.missing("vtt.js", env.quick_or("needs node and npm")))
    sounds = {"words": transcript(TEXTS, True), "no words": transcript(TEXTS, False), "late": transcript(TEXTS[:6], True, 3599.1),
              "100 hours": transcript(TEXTS[:3], False, 360000), "times": transcript(TIMES, False), "markup": transcript(MARKUP, True), "markup, no words": transcript(MARKUP, False),
              "two speakers": two_speakers()}
    for (name, sound), (what, options), format in itertools.product(sounds.items(), OPTIONS.items(), ("srt", "vtt", "ass")):
        case = f"{name}, {what}, {format}"
        text = env.bridge()("subtitles", transcript=sound, options=options, name=format)["text"]
        cues = written(format, text)
        problem = faithful(sound, what, format, cues)
        cases.append({"case": case, "of": FAITHFUL, "by": "us", "ok": not problem, "reason": problem})
        for reader, read in ((r, f) for of, r, f in readers if of == format):
            try:
                kind, problem = differ(read(text, env.work), cues)
            except Exception as e:
                kind, problem = "error", f"{type(e).__name__}: {e}"
            kinds, why = excuse(name, what, format, reader)
            excused = kind in kinds
            cases.append({"case": case, "of": reader, "ok": None if excused else not kind, "reason": why if excused else problem})
        cases += altered(case, cues)
    return cases + parsing(env)


FAITHFUL, ALTERED = "each file against its transcript", "altered readings, all found"
TEXT, TIMES = ("text",), ("text", "times", "number")


def excuse(name, what, format, reader):
    """Returns what a parser may read otherwise, times being read alike unless they are named, and why."""
    if "markup" in name and format == "srt" and reader != "pysrt":
        return TEXT, "SubRip has no escapes: this parser takes what looks like a tag in speech for one; times are equal"
    if "markup" in name and reader == "ffmpeg":
        return TEXT, "ffmpeg writes the text again as SubRip, which has no escapes; times are equal"
    if "markup" in name and reader == "pysubs2":
        return TEXT, "pysubs2 keeps text as ASS without the escapes of braces that libass knows: it drops what is within them; times are equal"
    if name == "times" and reader == "pysubs2" and format == "srt":
        return TIMES, "pysubs2 takes any line with two times for the times of a cue, also with -> between them"
    if name == "two speakers" and (reader, format) == ("ffmpeg", "vtt"):
        return TEXT, "ffmpeg shows what follows an escape in the name of a voice; times are equal"
    if name == "100 hours" and (reader, format) in [("pysubs2", "srt"), ("pysubs2", "ass"), ("ffmpeg", "ass")]:
        return (*TIMES, "error"), "this parser reads fewer digits of hours"
    return (), ""


def differ(cues, want):
    """Returns the first difference between two readings: its kind and what it is. Runs of white space count as one space."""
    if len(cues) != len(want):
        return "number", f"{len(cues)} cues, want {len(want)}"
    for got, w in zip(cues, want):
        if max(abs(got[0] - w[0]), abs(got[1] - w[1])) > 0.0005:
            return "times", f"a cue from {got[0]} to {got[1]}, want {w[0]} to {w[1]}"
    for got, w in zip(cues, want):
        if " ".join(got[2].split()) != " ".join(w[2].split()):
            return "text", f"a cue says {got[2]!r}, want {w[2]!r}"
    return "", ""


def altered(case, cues):
    """Shows that the comparison finds what a parser could get wrong. Only what is not found is a case."""
    alterations = {"no spaces": lambda a, b, t: (a, b, t.replace(" ", "")), "other text": lambda a, b, t: (a, b, "x"),
                   "10 ms late": lambda a, b, t: (a + 0.01, b + 0.01, t), "ends 5 ms early": lambda a, b, t: (a, b - 0.005, t)}
    missed, tried = [], 0
    for name, alter in alterations.items():
        other = [alter(*c[:3]) for c in cues]
        if other != [c[:3] for c in cues]:
            tried += 1
            missed += [name] if not differ(other, cues)[0] else []
    missed += [] if differ(cues[1:], cues)[0] else ["a cue is missing"]
    return [{"case": case, "of": ALTERED, "by": "us", "ok": not missed, "count": tried + 1, "reason": f"the comparison misses: {', '.join(missed)}"}]


def faithful(sound, what, format, cues):
    """Returns what differs between a transcript and the cues of its file, or an empty text.

    All text is in exactly one cue, in order; a cue begins with its first word and ends with its last, to the resolution of the
    format. A composed one may begin GAP later and stay longer. Highlighted words have cues of their own times.
    """
    near, composed = 0.0051 if format == "ass" else 0.0006, "composed" in what
    late, long = (GAP + near, 9) if composed else (near, near)
    texts, segments = {}, sound["Segments"]
    timed = bool(segments[0].get("words"))
    for s in segments:
        own = texts.setdefault(s.get("speaker"), Said())
        for w in s["words"] if timed else [{"word": s["text"]} | s]:
            own.add(plain(w["word"]), w["start"], w["end"])

    def wrong(text, named, start, end, long=long):
        """Takes text off what is left, and returns what is wrong with it."""
        for own in (o for s, o in texts.items() if named in (None, s)):
            if own.begins_with(text):
                begins, ends = own.cut(text)
                if begins is not None and not -near <= start - begins <= late or ends is not None and not -near <= end - ends <= long:
                    return f"{text!r} is shown from {start} to {end}, want {begins} to {ends}"
                return ""
        return f"a cue says {text!r}; next is {[own.text[own.at:own.at + 30] for own in texts.values()]}"

    if "highlight" in what and timed:
        problems = [wrong(marked, None, start, end, near) for start, end, _, marked, _ in cues if marked is not None]
        if left := [*filter(None, problems), *(own.text[own.at:] for own in texts.values() if own.left())]:
            return f"underlined words: {left[0]}"
        joined = {}  # by text and end, also where another speaks meanwhile
        for c in cues:
            begun = joined.pop((c[2], c[0]), c)
            joined[c[2], c[1]] = begun[0], *c[1:]
        cues = sorted(joined.values(), key=lambda c: c[0])
        for own in texts.values():
            own.at = 0
    last = 0
    for start, end, text, _, voice in cues:
        if not last - near <= start < end <= sound["Duration"] + near:
            return f"a cue from {start} to {end} after one from {last}"
        last, text = start, plain(text)
        named = voice or next((s for s in texts if s and format != "vtt" and text.startswith(s + ": ")), None)
        if problem := wrong(text if voice or not named else text.removeprefix(named + ": "), named, start, end):
            return problem
    return next((f"not written: {own.text[own.at:]!r}" for own in texts.values() if own.left()), "")


GAP = 0.08  # seconds, between composed subtitles


class Said:
    """What a speaker says, the times at which parts of it begin and end, and how far cues have it."""

    def __init__(self):
        self.text, self.starts, self.ends, self.at = "", {}, {}, 0

    def add(self, text, start, end):
        self.text += " " * bool(self.text)
        self.starts[len(self.text)] = start
        self.text += text
        self.ends[len(self.text)] = end

    def begins_with(self, text):
        """Cues end at spaces, or within what is written without them."""
        follows = self.text[self.at + len(text):][:1]
        return bool(text) and self.text.startswith(text, self.at) and (follows in ("", " ") or not follows.isascii())

    def cut(self, text):
        times = self.starts.get(self.at), self.ends.get(self.at + len(text))
        self.at += len(text)
        self.at += self.text.startswith(" ", self.at)
        return times

    def left(self):
        return self.at < len(self.text)


# Judges cues by W3C's assertions and by webvtt.js, whose parser follows W3C's algorithm step by step: number, start, end and
# text of every cue. Of the assertions, those count that are about these. Runs of white space count as one space; Verity
# leaves out cues without text. Then the same with altered cues, in which it must find a difference.
JUDGE = r"""
const line = t => typeof t == 'string' ? t.replace(/\s+/g, ' ').trim() : t;
const unknown = new Proxy({}, {get: () => unknown});
const [code, found, parser, text] = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const check = (ok, ...values) => { if (!values.includes(unknown) && !ok) throw Error(values.map(String).join(', want ')); };
const assert_equals = (a, b) => check(line(a) === line(b), a, b);
const assert_not_equals = (a, b) => check(a !== b, a, b);
const assert_true = a => check(a, a), assert_false = a => check(!a, a);
function asserted(list) {
  const cues = list.map(c => new Proxy({startTime: c.start, endTime: c.end, text: c.text}, {get: (c, name) => name in c ? c[name] : unknown}));
  try { eval(code); return ''; } catch (e) { return e.message; }
}
const flat = node => node.type == 'text' ? node.value : (node.children || []).map(flat).join('');
const theirs = new (require(parser).WebVTTParser)().parse(text.replace(/^\ufeff/, ''), 'metadata').cues
  .map(c => ({start: c.startTime, end: c.endTime, text: flat(c.tree)})).filter(c => line(c.text));
const shown = (list, ...names) => JSON.stringify(list.map(c => names.map(n => line(c[n]))));
const all = ['start', 'end', 'text'];
const judged = list => asserted(list) || (shown(list, ...all) == shown(theirs, ...all) ? '' : `${shown(list, ...all)}, webvtt.js reads ${shown(theirs, ...all)}`);
const altered = [found.map(c => ({...c, start: 0, end: 0})), found.map(c => ({...c, text: 'ZZZ'})), found.slice(1), [...found, {start: 0, end: 1, text: 'a'}]];
const missed = altered.filter(list => shown(list, ...all) != shown(found, ...all) && !judged(list)).length;
console.log(JSON.stringify({problem: missed ? `${missed} alterations are not found` : judged(found), texts: shown(found, 'text') == shown(theirs, 'text')}));
"""
UNTIMED = "timings-negative", "a browser never shows a cue that ends before it starts, but its script sees the times; Verity has its text alone"


def parsing(env):
    """Verity's reader of subtitles by W3C's cases: files, and the markup of cues."""
    of, source = "W3C's WebVTT cases", env.source("webvtt.js")
    if not source or not shutil.which("node"):
        return [env.missing(of, "needs a clone of w3c/webvtt.js in $VERITY_PROOF_SOURCES/webvtt.js, and node")]
    cases, of = [], f"W3C's WebVTT cases, in {env.commit('webvtt.js')}"
    for file in sorted(source.glob("test/wpt-file-parsing/*.vtt")):
        sent = [file.with_suffix(".js").read_text(encoding="utf8"), read_cues(env, file), str(source / "parser.js"), content(file)]
        done = subprocess.run(["node", "-e", JUDGE], input=json.dumps(sent), capture_output=True, text=True)
        found = json.loads(done.stdout or "{}")
        problem = found.get("problem", done.stderr[-200:] or "no answer")
        excused = problem and found.get("texts") and file.stem == UNTIMED[0]
        cases.append({"case": file.stem, "of": of, "by": "tests", "ok": None if excused else not problem, "reason": UNTIMED[1] if excused else problem})
    for file in sorted(source.glob("test/wpt-cue-parsing/*.vtt")):
        by_start = {c["start"]: c for c in read_cues(env, file)}
        for i, want in enumerate(json.loads(file.with_suffix(".json").read_text(encoding="utf8"))):
            text = "".join(re.findall(r'^\|[ ]*"(.*?)"$', want["expectedTree"], re.M | re.S))
            said, got = " ".join(text.split()), by_start.pop(float(i), None)  # a cue without text is left out
            right = (got["end"], " ".join(got["text"].split())) == (i + 1, said) if got else not said
            cases.append({"case": f"{file.stem} {i + 1}, {want['text']!r}", "of": of, "by": "tests", "ok": right, "reason": f"got {got!r}, want {text!r}"})
        cases += [{"case": f"{file.stem}, {c}", "of": of, "by": "tests", "ok": False, "reason": "is no cue of the file"} for c in by_start.values()]
    return cases


def content(file):
    return file.read_bytes().decode("utf8", "replace")


def read_cues(env, file):
    return env.bridge()("cues", name=file.name, text=content(file))["cues"]

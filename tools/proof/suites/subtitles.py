"""Subtitles: what Verity writes, read back by the parsers that players and editors use."""
import html
import itertools
import json
import re
import shutil
import subprocess
import sys

TITLE = "subtitles read back by webvtt-py, pysrt, pysubs2, ass, ffmpeg and vtt.js"
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
    """Returns text as one line, as far as all formats can keep it."""
    text = " ".join(text.replace("\u2060", "").split())
    return re.sub("-+->", "->", text)


def seconds(text):
    part = [float(p.replace(",", ".")) for p in text.split(":")]
    return sum(p * 60**i for i, p in enumerate(reversed(part)))


def by_webvtt(text, work):
    import webvtt
    return [(seconds(c.start), seconds(c.end), html.unescape(re.sub("<[^>]*>", "", c.raw_text))) for c in webvtt.from_string(text)]


def by_pysrt(text, work):
    import pysrt
    return [(i.start.ordinal / 1000, i.end.ordinal / 1000, re.sub("</?u>", "", i.text)) for i in pysrt.from_string(text)]


def by_pysubs2(format):
    def read(text, work):
        import pysubs2
        events = pysubs2.SSAFile.from_string(text, format_=format)
        return [(e.start / 1000, e.end / 1000, html.unescape(e.plaintext) if format == "vtt" else e.plaintext) for e in events]
    return read


def by_ass(text, work):
    import ass
    events = ass.parse_string(text).events
    undo = lambda t: re.sub(r"\\([{}])", r"\1", re.sub(r"\\[Nn]", " ", re.sub(r"(?<!\\)\{\\u[01]\}", "", t)))
    return [(e.start.total_seconds(), e.end.total_seconds(), undo(e.text)) for e in events]


def by_ffmpeg(format):
    def read(text, work):
        file = work / ("x." + format)
        file.write_text(text, encoding="utf8")
        out = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", file, "-f", "srt", "-"], capture_output=True, check=True).stdout
        return [(a, b, re.sub("</?(font|u)[^>]*>", "", t)) for a, b, t in by_pysrt(out.decode("utf8"), work)]
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
        return [(a, b, html.unescape(re.sub("<[^>]*>", "", t))) for a, b, t in json.loads(done.stdout)]
    return read


def run(env):
    bridge, cases = env.bridge(), []
    sys.path.insert(0, str(env.sdist(PYSRT)))
    readers = [("vtt", "webvtt-py", by_webvtt), ("srt", "pysrt", by_pysrt), ("srt", "pysubs2", by_pysubs2("srt")), ("vtt", "pysubs2", by_pysubs2("vtt")),
               ("ass", "pysubs2", by_pysubs2("ass")), ("ass", "ass", by_ass)]
    if not env.quick and shutil.which("ffmpeg"):
        readers += [(f, "ffmpeg", by_ffmpeg(f)) for f in ("srt", "vtt", "ass")]
    else:
        cases.append({"case": "ffmpeg", "ok": None, "reason": "ffmpeg is not installed, or CI has no time for it", "of": "ffmpeg"})
    if not env.quick and shutil.which("npm") and shutil.which("node"):
        readers.append(("vtt", "vtt.js", by_vttjs(env.npm(VTTJS))))
    else:
        cases.append({"case": "vtt.js", "ok": None, "reason": "npm is not installed, or CI has no time for it", "of": "vtt.js"})
    sounds = {"words": transcript(TEXTS, True), "no words": transcript(TEXTS, False), "late": transcript(TEXTS[:6], True, 3599.1),
              "100 hours": transcript(TEXTS[:3], False, 360000), "times": transcript(TIMES, False), "markup": transcript(MARKUP, True), "markup, no words": transcript(MARKUP, False),
              "two speakers": two_speakers()}
    for (name, sound), (what, options), (format, reader, read) in itertools.product(sounds.items(), OPTIONS.items(), readers):
        case = {"case": f"{name}, {what}, {format}", "of": reader, "ok": None}
        cases.append(case)
        if case.setdefault("reason", cannot(name, what, format, reader)):
            continue
        text = bridge("subtitles", transcript=sound, options=options, name=format)["text"]
        try:
            problem = compare(sound, what, format, read(text, env.work))
        except Exception as e:
            problem = f"{type(e).__name__}: {e}"
        case |= {"ok": not problem, "reason": problem}
    return cases + parsing(env)


def cannot(name, what, format, reader):
    """Returns why a case cannot apply, or an empty text."""
    if "markup" in name and format == "srt" and reader != "pysrt":
        return "SubRip has no escapes: this parser takes what looks like a tag in speech for one"
    if "markup" in name and reader == "ffmpeg":
        return "ffmpeg writes the text again as SubRip, which has no escapes"
    if "markup" in name and reader == "pysubs2":
        return "pysubs2 keeps text as ASS without the escapes of braces that libass knows: it drops what is within them"
    if name == "times" and reader == "pysubs2" and format == "srt":
        return "pysubs2 takes any line with two times for the times of a cue, also with -> between them"
    if name == "two speakers" and (reader, format) == ("ffmpeg", "vtt") and "highlight" not in what:
        return "ffmpeg shows what follows an escape in the name of a voice"
    if name == "100 hours" and (reader, format) in [("pysubs2", "srt"), ("pysubs2", "ass"), ("ffmpeg", "ass")]:
        return "this parser reads fewer digits of hours"
    return ""


def compare(sound, what, format, cues):
    """Returns what differs between a transcript and cues, or an empty text."""
    near = 0.0051 if format == "ass" else 0.0006
    segments = sound["Segments"]
    said = plain(" ".join(s["text"] for s in segments))
    if "highlight" not in what or not segments[0].get("words"):
        got = strip(plain(" ".join(t for _, _, t in cues)))
        said = strip(said)
        if "speaker" in segments[0]:  # their cues are in the order of times
            got, said = "".join(sorted(got)), "".join(sorted(said))
        if got != said:
            return f"the text is {first_difference(got, said)}"
    if not segments[0].get("words") or what == "plain":
        if what == "plain" and len(cues) != len(segments):
            return f"{len(cues)} cues, want {len(segments)}"
        if what == "plain" and "speaker" not in segments[0]:
            for (start, end, text), s in zip(cues, segments):
                if abs(start - s["start"]) > near or abs(end - s["end"]) > near:
                    return f"a cue from {start} to {end}, want {s['start']} to {s['end']}"
                if strip(plain(text)) != strip(plain(s["text"])):
                    return f"a cue says {text!r}, want {s['text']!r}"
    last = 0
    for start, end, _ in cues:
        if not last - near <= start < end <= sound["Duration"] + near:
            return f"a cue from {start} to {end} after one from {last}"
        last = start
    return ""


def strip(text):
    """Formats may break lines at any space, and put the name of a speaker before a cue."""
    return re.sub(r"Speaker1:?|A&B:?", "", re.sub(r"\s", "", text))


def first_difference(got, want):
    i = next((i for i, (a, b) in enumerate(itertools.zip_longest(got, want)) if a != b), 0)
    return f"{got[max(0, i - 10):i + 20]!r}, want {want[max(0, i - 10):i + 20]!r}"


# Checks cues by W3C's assertions: about their number, times and text, which Verity reads, and not about what else a browser
# knows of a cue. Runs of white space count as one space.
ASSERT = """
const line = t => typeof t == 'string' ? t.replace(/\\s+/g, ' ').trim() : t;
const unknown = new Proxy({}, {get: () => unknown});
const [code, found] = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const cues = found.map(c => new Proxy({startTime: c.start, endTime: c.end, text: c.text}, {get: (c, name) => name in c ? c[name] : unknown}));
const check = (ok, ...values) => { if (!values.includes(unknown) && !ok) throw Error(values.map(String).join(', want ')); };
const assert_equals = (a, b) => check(line(a) === line(b), a, b);
const assert_not_equals = (a, b) => check(a !== b, a, b);
const assert_true = a => check(a, a), assert_false = a => check(!a, a);
try { eval(code); } catch (e) { console.log(e.message); }
"""


W3C_NOT_APPLICABLE = {
    "signature-timings": "a file without a single cue is plain text to Verity",
    "timings-eof": "a file without a single cue is plain text to Verity",
    "timings-garbage": "in a file without a single valid cue Verity reads times as SubRip has them, with commas",
    "timings-negative": "a cue that ends before it starts has no times in Verity; it has its text",
}


def parsing(env):
    """Verity's reader of subtitles by W3C's cases: files, and the markup of cues."""
    of, source = "W3C's WebVTT cases", env.source("webvtt.js")
    if not source or not shutil.which("node"):
        return [{"case": "W3C's cases", "ok": None, "reason": "needs a clone of w3c/webvtt.js in $VERITY_PROOF_SOURCES/webvtt.js, and node", "of": of}]
    cases, of = [], f"W3C's WebVTT cases, in {env.commit('webvtt.js')}"
    for file in sorted(source.glob("test/wpt-file-parsing/*.vtt")):
        code = file.with_suffix(".js").read_text(encoding="utf8")
        if reason := W3C_NOT_APPLICABLE.get(file.stem):
            cases.append({"case": file.stem, "of": of, "ok": None, "reason": reason})
            continue
        found = read_cues(env, file)
        done = subprocess.run(["node", "-e", ASSERT], input=json.dumps([code, found]), capture_output=True, text=True)
        problem = done.stdout.strip() or done.stderr[-200:]
        cases.append({"case": file.stem, "of": of, "ok": not problem, "reason": problem})
    for file in sorted(source.glob("test/wpt-cue-parsing/*.vtt")):
        by_start = {c["start"]: c["text"] for c in read_cues(env, file)}
        for i, want in enumerate(json.loads(file.with_suffix(".json").read_text(encoding="utf8"))):
            text = "".join(re.findall(r'^\|[ ]*"(.*?)"$', want["expectedTree"], re.M | re.S))
            got = by_start.get(float(i), "")
            cases.append({"case": f"{file.stem} {i + 1}, {want['text']!r}", "of": of, "ok": strip(plain(got)) == strip(plain(text)), "reason": f"got {got!r}, want {text!r}"})
    return cases


def read_cues(env, file):
    return env.bridge()("cues", name=file.name, text=file.read_bytes().decode("utf8", "replace"))["cues"]

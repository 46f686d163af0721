"""Write the goldens of wer/normalize with openai-whisper's own normalisers.

    python tools/reference/normalize_goldens.py

Pinned: openai-whisper 20250625 (MIT), Python 3.11 (Unicode 14.0), regex 2026.11.15.
Writes, under wer/normalize:

    english.json                   upstream's spelling table, byte for byte
    english.LICENSE                the licence it comes under
    testdata/strings.jsonl.gz      one {"s": input, "e", "b", "d", "l": outputs} a line:
                                   english, basic, basic without diacritics, basic with split letters
    testdata/codepoints.json.gz    for every assigned code point, a probe through all four; one hash
                                   for each 256 of them, and the ranges that were assigned

The strings are made from a fixed seed. Inputs on which upstream raises are left out and counted.
"""

import gzip
import hashlib
import importlib.metadata
import json
import pathlib
import platform
import random
import shutil
import unicodedata

import whisper.normalizers.english as upstream
from whisper.normalizers import BasicTextNormalizer, EnglishTextNormalizer

OUT = pathlib.Path(__file__).resolve().parents[2] / "wer" / "normalize"
rng = random.Random(20250625)

english = EnglishTextNormalizer()
basic = BasicTextNormalizer()
plain = BasicTextNormalizer(remove_diacritics=True)
split = BasicTextNormalizer(split_letters=True)

ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
CURRENCY = ["dollar", "dollars", "cent", "cents", "pound", "pounds", "euro", "euros"]


def below_hundred(n, hyphen):
    if n < 20:
        return ONES[n]
    tens, ones = divmod(n, 10)
    return TENS[tens] + (hyphen + ONES[ones] if ones else "")


def spoken(n, joint=" ", hyphen=" "):
    """n in words; joint stands between hundreds and the rest."""
    if n < 100:
        return below_hundred(n, hyphen)
    if n < 1000:
        rest = n % 100
        return ONES[n // 100] + " hundred" + (joint + below_hundred(rest, hyphen) if rest else "")
    for size, name in ((10**9, "billion"), (10**6, "million"), (1000, "thousand")):
        if n >= size:
            rest = n % size
            link = joint if 0 < rest < 100 else " "
            return spoken(n // size, joint, hyphen) + " " + name + (link + spoken(rest, joint, hyphen) if rest else "")


def ordinal(text):
    head, _, last = text.rpartition(" ")
    special = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth", "twelve": "twelfth"}
    last = special.get(last) or (last[:-1] + "ieth" if last.endswith("y") else last + "th")
    return (head + " " + last).strip()


def plural(text):
    head, _, last = text.rpartition(" ")
    last = "sixes" if last == "six" else last[:-1] + "ies" if last.endswith("y") else last + "s"
    return (head + " " + last).strip()


def digits(n):
    return " ".join(rng.choice(["zero", "oh", "o"]) if d == "0" else ONES[int(d)] for d in str(n))


def pairs(n):
    return " ".join(("oh " + ONES[p]) if p < 10 else below_hundred(p, " ") for p in divmod(n, 100))


def number():
    n = rng.choice([rng.randrange(100), rng.randrange(1000), rng.randrange(10000), rng.randrange(10**6 + 1), rng.randrange(10**12)])
    return rng.choice([
        lambda: spoken(n), lambda: spoken(n, " and "), lambda: spoken(n, " and ", "-"), lambda: spoken(n, ", "),
        lambda: digits(n), lambda: pairs(rng.randrange(1000, 10000)), lambda: str(n), lambda: f"{n:,}",
        lambda: f"{n / 100:.2f}", lambda: f"{n / 100:,.1f}", lambda: ordinal(spoken(n)), lambda: plural(spoken(n)),
        lambda: str(n) + rng.choice(["st", "nd", "rd", "th", "s", " th", " s"]),
        lambda: spoken(n) + " point " + digits(rng.randrange(1000)), lambda: str(n) + " point " + str(rng.randrange(99)),
        lambda: rng.choice(["double ", "triple "]) + digits(n), lambda: f"{n} million", lambda: f"{n / 100} thousand",
        lambda: spoken(n) + " and a half", lambda: spoken(n) + " and a half " + rng.choice(["million", "percent", "dollars"]),
        lambda: "a " + rng.choice(["hundred", "thousand", "million"]), lambda: f"{rng.randrange(256)}.{rng.randrange(256)}.{n % 256}.1",
    ])()


def money():
    a, b = rng.randrange(10 ** rng.randrange(1, 6)), rng.randrange(100)
    sign = rng.choice("$£€¢")
    return rng.choice([
        f"{sign}{a}", f"{sign}{a:,}.{b:02d}", f"{sign}{a} million", f"{sign}{a} and ¢{b}", f"{sign}{a} ¢{b}", f"{sign} {a}", f"{a}{sign}",
        f"{sign}{a / 10} billion", f"{a} dollars and {b} cents", f"{spoken(a)} dollars and {spoken(b)} cents", f"{sign}0.{b:02d}", f"{sign}0 {b}",
        f"{spoken(a)} {rng.choice(CURRENCY)}", f"{spoken(a)} {rng.choice(CURRENCY)} {spoken(b)}", f"{a} {rng.choice(CURRENCY)}", f"{sign}{b}.{a}m",
        f"{spoken(a)} percent", f"{spoken(a)} per cent", f"{a} %", f"{a}.{b}%", f"{a} per {rng.choice(['cent', 'head', 'hour'])}", f"minus {a}", f"plus {spoken(b)}",
        f"negative {spoken(b)} degrees", f"{a}p", f"{sign}{a}.{b}k",
    ])


NUMBER_WORDS = sorted(upstream.EnglishNumberNormalizer().words)
SMALL_WORDS = [w for w in NUMBER_WORDS if not w.endswith(("illion", "illions", "illionth"))]
LOOSE = ["a", "half", "of", "the", "1", "7", "10", "100", "0", "0.5", "3.0", "2.50", "$5", "£2.5", "¢7", "1960s", "5th", "x", "and a half", "per cent", "007", "1000000", "1.2.3", "12.", ".5"]


def soup():
    pool = rng.choice([NUMBER_WORDS, SMALL_WORDS, SMALL_WORDS + LOOSE * 2, LOOSE])
    return " ".join(rng.choice(pool) for _ in range(rng.randrange(1, 9)))


SPELLING = json.loads(pathlib.Path(upstream.__file__).with_name("english.json").read_text())
BRITISH = sorted(SPELLING)
CONTRACTIONS = """won't can't let's ain't y'all wanna gotta gonna i'ma imma woulda coulda shoulda ma'am mr mrs st dr prof capt gov ald gen sen rep pres rev
hon asst assoc lt col jr sr esq he'd been she's been they'd gone it's gone I'd done who's got don't we're Bob's she'd I'll 't isn't've I've I'm Mr. Mrs. St. Dr. Prof.
Capt. U.S.A. e.g. o'clock O'Hara rock'n'roll hmm mm mhm mmm uh um Uh, um... hmmm don ' t it 's y ' all can 't""".split("\n")
CONTRACTIONS = [w for line in CONTRACTIONS for w in line.split()] + ["he'd been", "she's been", "they'd gone", "it's gone", "I'd done", "who's got", "don 't", "it  's"]
WRAPS = ["({})", "[{}]", "<{}>", "[{})", "({}", "{})", "<{}]", "\"{}\"", "*{}*", "({}) ({})", "(({}))", "()({})", "[]", "()"]
PLAIN = "the cat sat on a mat while we were speaking of great things and the quick brown fox jumped over lazy dogs yesterday morning in London".split()
FOREIGN = ["Überraschung, größer als gedacht!", "l'été à Noël, où ça ?", "¿Cuántos años tienes?", "Ich hätte gern 3,5 Kilo", "人工智能的发展，非常快。", "今日はいい天気ですね。", "ｶﾞｷﾞ ﾊﾟ ー ｱｲｳ",
           "안녕하세요 세계", "Ἀθῆναι καὶ ΣΟΦΟΣ Σ", "ΟΔΥΣΣΕΥΣ", "Привет, мир! Ёлка й", "İstanbul IĞDIR ışık", "مرحبا بالعالم ٣٫٥ ٣٤", "नमस्ते दुनिया १२३ क्षत्रिय", "สวัสดีชาวโลก น้ำ", "שָׁלוֹם עולם",
           "straße Œuvre Æsir Ørsted Łódź Þór ð đ", "ﬁne ﬂow ½ ¼ ² ³ H₂O №5 ™ ① Ⅷ", "１２３，４５６．７８", "９５％ ￥100 ＄5", "zero\u200bwidth so\u00adft jo\u200diner \u2060x", "a\u0301e\u0308 n\u0303", "👩‍👩‍👧 🇩🇪 👍🏽 ok", "ไทย ລາວ ខ្មែរ မြန်မာ"]
TRICKY = list("abst 019.,%$¢€£'’()[]<>-_:;/&@#!?+=~^`|\\\"*") + ["\t", "\n", "\u00a0", "\u2003", "\u3000", "\x1c", "\x85", "é", "e\u0301", "ß", "İ", "Σ", "٣", "³", "½", "中", "ー", "한", "न", "्", "\u200d", "\u0e33", "’", "“", "…", "–", "१", "mr", "and", "one", "'s", "n't", "ten", "half", "hundred", "point", "double"]


def sentence():
    parts = []
    for _ in range(rng.randrange(2, 12)):
        kind = rng.randrange(12)
        w = (rng.choice(PLAIN) if kind < 4 else number() if kind == 4 else money() if kind == 5 else rng.choice(BRITISH) if kind == 6
             else rng.choice(CONTRACTIONS) if kind < 9 else rng.choice(FOREIGN) if kind == 9 else rng.choice(WRAPS).format(rng.choice(PLAIN), rng.choice(CONTRACTIONS)) if kind == 10 else soup())
        parts.append(w.capitalize() if rng.random() < 0.15 else w.upper() if rng.random() < 0.08 else w)
        if rng.random() < 0.2:
            parts[-1] += rng.choice([",", ".", "!", "?", "...", ";", " -", "'s", "%", "'"])
    return rng.choice([" ", " ", " ", "  ", "\t"]).join(parts)


def characters():
    return "".join(rng.choice(TRICKY) for _ in range(rng.randrange(1, 24)))


def strings():
    yield from ["", " ", "  a  ", "O'Hara", "H₂O", "one", "ones", "1s", "1.5", "$", "%", "...", "a..b", "1,2,3", "1,234,567", "twenty one", "and a half", "one and a half", "and a half million",
                "two and a half and a half", "$2 and ¢7", "$2 and ¢123", "double double seven", "point", "one point", "point five", "triple", "double o seven", "one oh one", "hundred hundred", "zero million",
                "nineteen nineties", "twenty twenty-five", "five point five million", "1.5 million", "1.2345 hundred", "one two three four", "ten ten", "minus", "minus one", "plus x", "percent", "per cent", "five per cent"]
    yield from FOREIGN
    yield from CONTRACTIONS
    yield from BRITISH[::7]
    for n in list(range(0, 130)) + [10**k for k in range(3, 7)]:
        yield spoken(n, " and ")
        yield ordinal(spoken(n)) + " " + plural(spoken(n)) if n % 3 == 0 else digits(n)
    for make, count in ((number, 2200), (money, 900), (soup, 2200), (sentence, 1300), (characters, 1600)):
        for _ in range(count):
            yield make()


def write(path, lines):
    """Compress reproducibly: no file name and no time in the header."""
    with open(path, "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as z:
        for line in lines:
            z.write((json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n").encode())


def header():
    return {"source": "openai-whisper " + importlib.metadata.version("openai-whisper") + " whisper.normalizers", "python": platform.python_version(),
            "unicode": unicodedata.unidata_version, "regex": importlib.metadata.version("regex"), "command": "tools/reference/normalize_goldens.py"}


def record(s):
    out = {"s": s, "e": english(s), "b": basic(s)}
    if not s.isascii():
        out |= {"d": plain(s), "l": split(s)}
    return out


def probe(c):
    return f"{c}a{c}1{c} A\u03a3{c}B A{c}\u03a3 .{c}mr{c}2,{c} it{c}'s \u03a3{c}"


def codepoints():
    # U+11A3A joins the letter behind it in Unicode 15 and not in that of this regex.
    assigned = [c for c in range(0xF0000) if unicodedata.category(chr(c)) not in ("Cn", "Cs") and c != 0x11A3A]
    ranges = []
    for c in assigned:
        if ranges and ranges[-1][1] == c - 1:
            ranges[-1][1] = c
        else:
            ranges.append([c, c])
    hashes = []
    for i in range(0, len(assigned), 256):
        h = hashlib.sha256()
        for c in assigned[i:i + 256]:
            p = probe(chr(c))
            for f in (english, basic, plain, split):
                h.update((f(p) + "\n").encode())
        hashes.append(h.hexdigest()[:16])
    return {"ranges": ranges, "hashes": hashes}


def main():
    shutil.copyfile(pathlib.Path(upstream.__file__).with_name("english.json"), OUT / "english.json")
    licence = next(f for f in importlib.metadata.files("openai-whisper") if f.name == "LICENSE")
    shutil.copyfile(licence.locate(), OUT / "english.LICENSE")
    records, seen, raised = [], set(), 0
    for s in strings():
        if s in seen:
            continue
        seen.add(s)
        try:
            records.append(record(s))
        except Exception:
            raised += 1
    write(OUT / "testdata" / "strings.jsonl.gz", [header() | {"strings": len(records), "raised": raised}] + records)
    print(len(records), "strings,", raised, "on which upstream raises")
    write(OUT / "testdata" / "codepoints.json.gz", [header() | codepoints()])


if __name__ == "__main__":
    main()

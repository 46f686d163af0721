#!/usr/bin/env python3
"""Write the tables and goldens of package tokenizer, with upstream's own code.

    python tools/reference/tokenizer_goldens.py          all files
    …/tokenizer_goldens.py --tables                                     rank tables, testdata/classes.txt
    …/tokenizer_goldens.py --goldens                                    testdata/*.json.gz, testdata/hf
    …/tokenizer_goldens.py --hash 1000000                               testdata/fuzz.hashes
    …/tokenizer_goldens.py --block K                                    print the strings of a block

Needs openai-whisper 20250625, tiktoken 0.14.0 and tokenizers 0.23.3.
"""
import argparse
import array
import gzip
import hashlib
import json
import os
import struct

import tiktoken
import whisper
from whisper.tokenizer import get_tokenizer

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROOM = os.path.join(ROOT, "tokenizer")
ASSETS = os.path.join(os.path.dirname(whisper.__file__), "assets")
COMMAND = "tools/reference/tokenizer_goldens.py"


def write_gz(path, data):
    """The same bytes on every run: no time, no name."""
    with open(path, "wb") as f:
        f.write(gzip.compress(data, 9, mtime=0))
    print(path, len(data), "->", os.path.getsize(path))


# --- rank tables and character classes ------------------------------------

def pack_table(name):
    """tokenizer/tables/NAME.bin.gz: count, lengths, bytes, by rank."""
    import base64
    lines = [l.split() for l in open(os.path.join(ASSETS, name + ".tiktoken"), "rb") if l.strip()]
    assert [int(r) for _, r in lines] == list(range(len(lines)))
    tokens = [base64.b64decode(t) for t, _ in lines]
    packed = b"%06d\n" % len(tokens) + bytes(map(len, tokens)) + b"".join(tokens)
    write_gz(os.path.join(ROOM, "tables", name + ".bin.gz"), packed)


def spans(pattern):
    """The characters a class of tiktoken's regex engine holds, as ranges."""
    enc = tiktoken.Encoding("class", pat_str=pattern, special_tokens={},
                            mergeable_ranks={bytes([i]): i for i in range(256)})
    every = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF)
    out = []
    for c in map(ord, bytes(enc.encode_ordinary(every)).decode()):
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def write_classes():
    with open(os.path.join(ROOM, "testdata", "classes.txt"), "w") as f:
        print("# The classes of tiktoken %s's regex engine (Unicode 16.0): first and last character. "
              "By tools/reference/tokenizer_goldens.py --tables." % tiktoken.__version__, file=f)
        for name, pattern in [("space", r"\s"), ("letter", r"\p{L}"), ("number", r"\p{N}")]:
            for s in spans(pattern):
                print(name, "%x %x" % tuple(s), file=f)


# --- the generator of strings ----------------------------------------------
#
# String i is a pure function of i. fuzz_test.go has the same generator; what
# both draw from is in testdata/pools.json.

POOLS = {
    # Ranges of characters, picked from evenly. The last line holds letters and
    # digits that are new in Unicode 15.1 and 16.0, where versions would show.
    "scripts": [
        [0x61, 0x7A], [0x41, 0x5A], [0xC0, 0xFF], [0x100, 0x17F], [0x180, 0x24F], [0x250, 0x2AF],
        [0x370, 0x3FF], [0x400, 0x4FF], [0x531, 0x587], [0x5BE, 0x5F4], [0x600, 0x6FF], [0x900, 0x97F],
        [0x980, 0x9FF], [0xA00, 0xA7F], [0xB80, 0xBFF], [0xC00, 0xC7F], [0xD80, 0xDFF], [0xE01, 0xE5B],
        [0xE80, 0xEDF], [0xF00, 0xFD4], [0x1000, 0x109F], [0x10A0, 0x10FF], [0x1200, 0x137C], [0x1780, 0x17F9],
        [0x1800, 0x18AA], [0x1E00, 0x1EFF], [0x1F00, 0x1FFE], [0x3041, 0x3096], [0x30A1, 0x30FF], [0x4E00, 0x9FFF],
        [0xAC00, 0xD7A3], [0xFF00, 0xFFEF], [0x20000, 0x2A6DF], [0x1D400, 0x1D7FF],
        [0x2EBF0, 0x2EE5D], [0x10D40, 0x10D8F], [0x105C0, 0x105F3], [0xA7CB, 0xA7DC], [0x1C89, 0x1C8A], [0x1E5D0, 0x1E5FA],
    ],
    "numbers": [
        [0x30, 0x39], [0xB2, 0xB3], [0xB9, 0xB9], [0xBC, 0xBE], [0x660, 0x669], [0x966, 0x96F], [0xE50, 0xE59],
        [0x2070, 0x2089], [0x2150, 0x218B], [0x2460, 0x24FF], [0x3007, 0x3029], [0xFF10, 0xFF19], [0x1CCF0, 0x1CCF9],
    ],
    "emoji": [
        [0x1F300, 0x1F5FF], [0x1F600, 0x1F64F], [0x1F680, 0x1F6FF], [0x1F900, 0x1F9FF], [0x2600, 0x27BF],
        [0x1F3FB, 0x1F3FF], [0x1F1E6, 0x1F1FF], [0x200D, 0x200D], [0xFE0E, 0xFE0F], [0x20E3, 0x20E3],
    ],
    "marks": [[0x300, 0x36F], [0x483, 0x489], [0x591, 0x5BD], [0x64B, 0x65F], [0x93C, 0x94D], [0xE31, 0xE3A], [0x20D0, 0x20F0]],
    "punctuation": [[0x21, 0x2F], [0x3A, 0x40], [0x5B, 0x60], [0x7B, 0x7E], [0xA1, 0xBF], [0x2010, 0x205E], [0x3001, 0x3020], [0x2640, 0x266F]],
    "controls": [[0x00, 0x1F], [0x7F, 0x9F], [0x200B, 0x200F], [0x202A, 0x202E], [0xFEFF, 0xFEFF], [0xFFF9, 0xFFFD]],
    "spaces": [
        " ", " ", " ", "\n", "\t", "\r", "\v", "\f", "\u0085", "\u00a0", "\u1680", "\u2000", "\u200a", "\u2028", "\u2029",
        "\u202f", "\u205f", "\u3000", "\u200b", "\u180e", "\u001c", "\u001f", "\ufeff",
    ],
    "endings": [
        "'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'T", "'RE", "'Ll", "'", "''s", "'r", "'v", "'l", "\u2019s", "\u2019t",
        "' s", "'sa", "n't", "'tis", "'em", "'d've",
    ],
    "special": ["<|en|>", "<|endoftext|>", "<|startoftranscript|>", "<|0.00|>", "<|", "|>", "<|nospeech|>", "<|29.98|>"],
    "repeated": ["a", "A", " ", "0", "=", "-", "_", ".", "!", "\n", "\u3042", "\u30fc", "\u0301", "\U0001f602", "ha", "ab", "\u0000", "\u00e9"],
}

MASK = (1 << 64) - 1


class Rng:
    """splitmix64, seeded with the number of the string."""

    def __init__(self, i):
        self.x = i * 0xD1342543DE82EF95 & MASK

    def next(self, n):
        """A number below n."""
        self.x = x = (self.x + 0x9E3779B97F4A7C15) & MASK
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
        x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
        return ((x ^ x >> 31) >> 32) % n


def table_text(name):
    """The tokens of a table that are UTF-8 by themselves; '' for the others."""
    enc = whisper.tokenizer.get_encoding(name)
    out = []
    for i in range(enc.eot_token):
        try:
            out.append(enc.decode_bytes([i]).decode())
        except UnicodeDecodeError:
            out.append("")
    return out


class Generator:
    def __init__(self):
        self.tables = [table_text("gpt2"), table_text("multilingual")]

    def string(self, i):
        r, out = Rng(i), []
        for _ in range(r.next(9)):
            if r.next(2) == 0:
                out.append(" ")
            self.segment(r, out)
        return "".join(out)

    def segment(self, r, out):
        kind = r.next(16)
        if kind < 5:  # bits of words
            words = self.tables[kind & 1]
            for _ in range(1 + r.next(4)):
                out.append(words[r.next(len(words))])
        elif kind < 7:  # letters of one script
            self.chars(r, out, [self.pick(r, "scripts")], 1 + r.next(8))
        elif kind == 7:
            out.append(self.pick(r, "endings"))
        elif kind == 8:
            self.chars(r, out, POOLS["numbers"][:1] if r.next(2) == 0 else POOLS["numbers"], 1 + r.next(6))
        elif kind == 9:
            for _ in range(1 + r.next(5)):
                out.append(self.pick(r, "spaces"))
        elif kind == 10:
            self.chars(r, out, POOLS["emoji"], 1 + r.next(5))
        elif kind == 11:  # a letter under combining marks
            self.chars(r, out, POOLS["scripts"], 1)
            self.chars(r, out, POOLS["marks"], 1 + r.next(4))
        elif kind == 12:
            self.chars(r, out, POOLS["punctuation"], 1 + r.next(4))
        elif kind == 13:
            self.chars(r, out, POOLS["controls"], 1 + r.next(3))
        elif kind == 14:  # any characters at all
            for _ in range(1 + r.next(4)):
                c = r.next(0x110000)
                out.append(chr(c - 0x800 if 0xD800 <= c <= 0xDFFF else c))
        elif r.next(4) == 0:
            out.append(self.pick(r, "special"))
        else:
            n = 1 + r.next(200 if r.next(8) == 0 else 30)
            out.append(self.pick(r, "repeated") * n)

    def pick(self, r, pool):
        return POOLS[pool][r.next(len(POOLS[pool]))]

    def chars(self, r, out, ranges, n):
        for _ in range(n):
            lo, hi = ranges[r.next(len(ranges))]
            out.append(chr(lo + r.next(hi - lo + 1)))


# --- goldens -----------------------------------------------------------------

BLOCK = 1000


def block_hashes(gen, encodings, block):
    """4 bytes of hash of the strings of a block, 8 of their tokens per table."""
    texts = [gen.string(i) for i in range(block * BLOCK, (block + 1) * BLOCK)]
    h = hashlib.sha256()
    for t in texts:
        raw = t.encode()
        h.update(struct.pack("<I", len(raw)) + raw)
    out = h.digest()[:4]
    for enc in encodings:
        h = hashlib.sha256()
        for t in texts:
            h.update(array.array("I", enc.encode_ordinary(t) + [0xFFFFFFFF]).tobytes())
        out += h.digest()[:8]
    return out


def write_fuzz(strings):
    gen, encodings = Generator(), [whisper.tokenizer.get_encoding(n) for n in ("gpt2", "multilingual")]
    blocks = strings // BLOCK
    head = "verity tokenizer fuzz 1: %d blocks of %d strings, gpt2 and multilingual, openai-whisper %s, tiktoken %s; %s --hash %d\n" % (
        blocks, BLOCK, whisper.__version__, tiktoken.__version__, COMMAND, strings)
    path = os.path.join(ROOM, "testdata", "fuzz.hashes")
    with open(path, "wb") as f:
        f.write(head.encode())
        for b in range(blocks):
            f.write(block_hashes(gen, encodings, b))
    print(path, os.path.getsize(path))


def print_block(block):
    gen = Generator()
    enc = [whisper.tokenizer.get_encoding(n) for n in ("gpt2", "multilingual")]
    for i in range(block * BLOCK, (block + 1) * BLOCK):
        t = gen.string(i)
        print(json.dumps([i, t] + [e.encode_ordinary(t) for e in enc]))


CURATED = [
    "", " ", "  ", "\n", "\n\n", "x\n\ny", "x \n y", "a  b", "a   b  ", "\t\ta", " 'tis", "'tis", "it's IT'S it\u2019s", "we'll've'd",
    "''s", "'s's", " 's", "hello world", " Hello, world!", "HELLO", "$12,345.67", "3.14159", "a1b2c3", "x^2+y_3", "\u00a0a", "a\u00a0b",
    "\u3000\u3042", "\u0085\u0085x", "\u001c\u001dx", "\u200b\u200b", "\ufeffx", "\u0000\u0000", "\ufffd", "caf\u00e9 cafe\u0301",
    "\u2581\u2581", "<|endoftext|>", " <|en|>text<|0.00|>", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "\u266a\u266a\u266a",
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01", "\u4f60\u597d\uff0c\u4e16\u754c\u3002", "\u3053\u3093\u306b\u3061\u306f\u4e16\u754c",
    "\uc548\ub155\ud558\uc138\uc694 \uc138\uacc4", "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440!", "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645", "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "\u0393\u03b5\u03b9\u03ac \u03c3\u03bf\u03c5", "Xin ch\u00e0o th\u1ebf gi\u1edbi",
    "\u2167 \u00bd \u2460 \u0663\u0664 \uff11\uff12", "a" * 300, " " * 300, "\n" * 77, "=" * 130, "ab" * 200, "\u3042" * 100, "http://example.com/a?b=c&d=%20",
    "def f(x):\n    return x  # comment\n\n\n", "The quick brown fox jumps over the lazy dog.", "\u00df\u1e9e\u0130\u0131", "\U0001d54f\U0001d7d8", "\u02bc\u02b0", "\u00aa\u00ba\u00b2",
]


def write_encode(gen):
    texts = CURATED + [gen.string((1 << 40) + i) for i in range(1500)]
    doc = {"source": SOURCE, "texts": texts}
    for name in ("gpt2", "multilingual"):
        enc = whisper.tokenizer.get_encoding(name)
        doc[name] = [enc.encode_ordinary(t) for t in texts]
    write_json("encode.json.gz", doc)


def tokenizers():
    """The tokenizer of each vocabulary size, and whether languages matter."""
    return [
        (51864, get_tokenizer(False)),
        (51865, get_tokenizer(True, num_languages=99)),
        (51866, get_tokenizer(True, num_languages=100)),
    ]


def write_specials():
    doc = {"source": SOURCE, "vocab": []}
    for size, t in tokenizers():
        assert t.encoding.n_vocab == size
        doc["vocab"].append({
            "size": size, "eot": t.eot, "sot": t.sot, "translate": t.translate, "transcribe": t.transcribe,
            "sot_lm": t.sot_lm, "sot_prev": t.sot_prev, "no_speech": t.no_speech, "no_timestamps": t.no_timestamps,
            "timestamp_begin": t.timestamp_begin, "non_speech": t.non_speech_tokens,
            "language_codes": [t.decode([i]).strip("<|>") for i in sorted(t.all_language_tokens)],
            "language_tokens": sorted(t.all_language_tokens),
        })
    doc["names"] = whisper.tokenizer.LANGUAGES
    doc["aliases"] = whisper.tokenizer.TO_LANGUAGE_CODE
    write_json("specials.json.gz", doc)


def token_soup(r, t, gen, i):
    """Tokens as a decoder might give them, and worse: text cut anywhere, any ids."""
    text = t.encoding.encode_ordinary(gen.string((1 << 41) + i))
    kind = r.next(4)
    if kind == 0:
        return [r.next(t.eot) for _ in range(r.next(12))]
    if kind == 1:  # mostly bits of characters
        return [r.next(256) if r.next(3) else r.next(t.eot) for _ in range(r.next(16))]
    if kind == 2:
        at = r.next(len(text) + 1)
        return text[at:] + text[:at]
    out = [t.timestamp_begin + r.next(1501)] + text
    out.insert(r.next(len(out) + 1), t.eot + r.next(t.timestamp_begin - t.eot + 1501))
    return out + [t.timestamp_begin + r.next(1501)]


def write_decode(gen):
    doc = {"source": SOURCE, "vocab": []}
    for size, t in tokenizers():
        rows = []
        for i in range(400):
            toks = token_soup(Rng(size + (i << 20)), t, gen, i)
            text = t.encoding.decode([k for k in toks if k < t.eot])
            rows.append([toks, text, t.decode_with_timestamps(toks)])
        doc["vocab"].append({"size": size, "rows": rows})
    write_json("decode.json.gz", doc)


def write_words(gen):
    doc = {"source": SOURCE, "rows": []}
    for size, _ in tokenizers():
        for lang in ["en", "de", "zh", "ja", "th", "my"] + (["yue"] if size == 51866 else []):
            multi = size != 51864
            t = get_tokenizer(multi, num_languages=size - 51765 - multi, language=lang)
            for i in range(60):
                toks = token_soup(Rng(size + (i << 21) + len(doc["rows"])), t, gen, i + 5000)
                try:
                    words, groups = t.split_to_word_tokens(list(toks))
                except IndexError:  # openai's own limit; ours goes on
                    continue
                doc["rows"].append([size, lang if multi else "", toks, words, [len(g) for g in groups]])
    write_json("words.json.gz", doc)


def write_hf(gen):
    """A small vocabulary of Hugging Face's own making, in every file layout, and
    one of the demo model's kind: words, no bytes."""
    import tokenizers as hf
    from tokenizers import decoders, models, pre_tokenizers, trainers
    corpus = [gen.string((1 << 42) + i) for i in range(400)] + CURATED * 3
    tok = hf.Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    tok.train_from_iterator(corpus, trainers.BpeTrainer(
        vocab_size=900, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False))
    names = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|de|>", "<|qqq|>", "<|translate|>", "<|transcribe|>",
             "<|startoflm|>", "<|startofprev|>", "<|nocaptions|>", "<|notimestamps|>"]
    where = os.path.join(ROOM, "testdata", "hf")
    os.makedirs(where, exist_ok=True)
    tok.model.save(where)  # vocab.json, merges.txt
    n = tok.get_vocab_size()
    with open(os.path.join(where, "added_tokens.json"), "w") as f:
        json.dump({s: n + i for i, s in enumerate(names)}, f)
    tok.add_special_tokens(names)
    tok.add_tokens(["<|%.2f|>" % (i * 0.02) for i in range(401)])
    with open(os.path.join(where, "tokenizer.json"), "w") as f:
        f.write(tok.to_str())
    texts = CURATED + [gen.string((1 << 43) + i) for i in range(300)]
    texts = [t for t in texts if "<|" not in t]  # encode looks for special tokens
    write_json("hf/encode.json.gz", {"source": "tokenizers %s; %s" % (hf.__version__, COMMAND), "texts": texts,
                                     "tokens": [tok.encode(t).ids for t in texts], "size": tok.get_vocab_size()})


def write_json(name, doc):
    raw = json.dumps(doc, separators=(",", ":")).encode()
    write_gz(os.path.join(ROOM, "testdata", name), raw)


SOURCE = "openai-whisper %s, tiktoken %s; %s" % (whisper.__version__, tiktoken.__version__, COMMAND)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tables", action="store_true")
    p.add_argument("--goldens", action="store_true")
    p.add_argument("--hash", type=int, metavar="N")
    p.add_argument("--block", type=int, metavar="K")
    a = p.parse_args()
    if a.block is not None:
        return print_block(a.block)
    every = not (a.tables or a.goldens or a.hash)
    if a.tables or every:
        pack_table("gpt2")
        pack_table("multilingual")
        write_classes()
    if a.goldens or every:
        gen = Generator()
        with open(os.path.join(ROOM, "testdata", "pools.json"), "w") as f:
            json.dump(POOLS, f, indent=None, separators=(",", ":"))
        write_encode(gen)
        write_specials()
        write_decode(gen)
        write_words(gen)
        write_hf(gen)
    if a.hash or every:
        write_fuzz(a.hash or 1000000)


if __name__ == "__main__":
    main()

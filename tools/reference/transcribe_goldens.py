"""Writes transcribe/testdata/golden and transcript/testdata/golden.

openai-whisper's own transcribe() runs over a model that follows a script: what it
"decodes" is a pure function of what upstream hands it (prompt, place and length of
the window, temperature), computed by an integer rule that
transcribe/golden_test.go has too. The mel is a ramp, so that a window says where it
is. Segments, seeks, texts and the decisions behind them are upstream's.

    python tools/reference/transcribe_goldens.py [loop | words | transcript | subtitles | engine |
    engine_words] …

The last part runs transcribe() over real networks, those of internal/testing/testmodel, on a
sound made by an integer rule (transcribe/engine_test.go has it too): from samples to
segments, nothing is scripted.

Pinned: openai-whisper 20250625.
"""

import hashlib
import importlib.metadata
import json
import pathlib
import struct
import sys
import types

import numpy as np
import torch
import whisper.decoding
import whisper.transcribe  # the module; the package has a function of this name
import whisper.utils
from whisper import timing
from whisper.tokenizer import get_tokenizer

loop = sys.modules["whisper.transcribe"]
ROOT = pathlib.Path(__file__).parents[2]
MASK = (1 << 64) - 1


class Rule:
    """splitmix64, keyed by a list of numbers."""

    def __init__(self, *key):
        self.state = 0
        for v in key:
            self.state = self.mix(self.state + v & MASK)

    @staticmethod
    def mix(z):
        z = z + 0x9E3779B97F4A7C15 & MASK
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        return z ^ z >> 31

    def next(self, below):
        self.state = self.state + 1 & MASK
        return self.mix(self.state) % below


def words(r, tok, n):
    out = []
    for _ in range(n):
        kind = r.next(64)
        if kind == 0:
            out.append(tok.eot + 1 + r.next(tok.timestamp_begin - tok.eot - 1))  # any special
        elif kind < 4:
            out.append(r.next(tok.eot))  # any bytes, whole characters or not
        else:
            out.append(300 + r.next(3000))
    return out


def pairs(r, tok, last):
    """Segments between timestamps; some take no time, some say nothing."""
    t, out = min(last, 1 + r.next(10)), []
    n = 1 + r.next(5)
    for i in range(n):
        out.append(tok.timestamp_begin + t)
        out += words(r, tok, r.next(8)) if r.next(6) else [220]
        t = min(last, t + r.next(4) * r.next(80))
        out.append(tok.timestamp_begin + t)
        t = min(last, t + r.next(3))
    end = r.next(3)
    if end == 1:
        out.append(tok.timestamp_begin + t)
    if end == 2:
        out += [tok.timestamp_begin + t] + words(r, tok, 1 + r.next(4))
    return out


def script(r, tok, last):
    """The tokens of a window."""
    kind, begin = r.next(10), tok.timestamp_begin
    if kind < 4:
        return pairs(r, tok, last)
    if kind == 4:
        return [begin] + words(r, tok, 1 + r.next(9)) + [begin + r.next(last + 1)]
    if kind == 5:
        return [begin] + words(r, tok, r.next(9))
    if kind == 6:
        return words(r, tok, 1 + r.next(9))
    if kind == 7:
        return [begin] + words(r, tok, 2) * (10 + r.next(20)) + [begin + 1 + r.next(last)]
    if kind == 8:
        return []
    return [begin, 220, begin + 1 + r.next(last)]


class Model:
    device = torch.device("cpu")

    def __init__(self, case):
        self.case = case
        self.is_multilingual = case["multilingual"]
        self.num_languages = 99
        self.dims = types.SimpleNamespace(
            n_mels=1, n_audio_ctx=case["window"] // 2, n_text_ctx=case["positions"], n_vocab=51865
        )
        self.decoder = types.SimpleNamespace(blocks=[])
        self.windows = 0

    def detect_language(self, mel):
        tok = get_tokenizer(True, num_languages=99)
        r = Rule(self.case["seed"], int((mel[0] != 0).sum()))
        by_id = sorted(zip(tok.all_language_tokens, tok.all_language_codes))  # upstream's order is a set's
        return None, {code: r.next(1000) / 1000 for _, code in by_id}

    def decode(self, mel, options):
        self.windows += 1
        task = whisper.decoding.DecodingTask(self, options)
        tok = task.tokenizer
        size = int((mel[0] != 0).sum())
        seek = int(mel[0, 0]) - 1
        r = Rule(self.case["seed"], seek, size, round(options.temperature * 10), task.sot_index, *task.initial_tokens)
        tokens = script(r, tok, self.case["window"] // 2)
        scale = [64, 256, 900][r.next(3)]
        count = len(tokens) + (r.next(8) != 0)  # with end-of-text, or cut off
        total = -sum(r.next(scale) for _ in range(count)) / 256
        text = tok.decode(tokens).strip()
        return whisper.decoding.DecodingResult(
            audio_features=None,
            language=options.language,
            tokens=tokens,
            text=text,
            avg_logprob=total / (len(tokens) + 1),
            no_speech_prob=r.next(256) / 256,
            temperature=options.temperature,
            compression_ratio=whisper.utils.compression_ratio(text),
        )


def run(case):
    n = case["window"]
    loop.N_FRAMES = n
    loop.N_SAMPLES = n * 160

    def ramp(frames, n_mels, padding):
        mel = torch.zeros(1, frames + n)
        mel[0, :frames] = torch.arange(1, frames + 1)
        return mel

    loop.log_mel_spectrogram = ramp
    model = Model(case)
    out = loop.transcribe(model, case["frames"], **case["options"])
    out["windows"] = model.windows
    return out


def bits(x):
    return struct.pack(">d", x).hex()


def canonical(out):
    """One line per segment, floats as bits."""
    lines = [f"{out['language']} {out['windows']} {json.dumps(out['text'], ensure_ascii=False)}"]
    for s in out["segments"]:
        floats = [s[k] for k in ("start", "end", "temperature", "avg_logprob", "compression_ratio", "no_speech_prob")]
        lines.append(
            f"{s['id']} {s['seek']} {' '.join(bits(x) for x in floats)} {s['tokens']} "
            + s["text"].encode().hex()
        )
    lines[0] = f"{out['language']} {out['windows']} {out['text'].encode().hex()}"
    return "\n".join(lines) + "\n"


OPTIONS = [
    {},
    {"language": "en"},
    {"language": "ja", "task": "translate"},
    {"language": "en", "condition_on_previous_text": False},
    {"language": "en", "initial_prompt": " Glenn, Verity and Drake. "},
    {"language": "en", "initial_prompt": "Glenn, Verity", "carry_initial_prompt": True},
    {"language": "en", "initial_prompt": "one two three four five " * 12, "carry_initial_prompt": True},
    {"language": "en", "initial_prompt": "zero " * 300, "carry_initial_prompt": True},
    {"language": "en", "initial_prompt": "zero " * 300},
    {"language": "en", "without_timestamps": True},
    {"language": "en", "temperature": 0.0},
    {"language": "en", "temperature": [0.4, 0.8]},
    {"language": "en", "compression_ratio_threshold": None},
    {"language": "en", "compression_ratio_threshold": 1.2},
    {"language": "en", "logprob_threshold": None},
    {"language": "en", "logprob_threshold": -0.3},
    {"language": "en", "no_speech_threshold": None},
    {"language": "en", "no_speech_threshold": 0.9},
    {"language": "en", "logprob_threshold": None, "no_speech_threshold": 0.3},
    {"language": "en", "clip_timestamps": [2.005]},
    {"language": "en", "clip_timestamps": [1.0, 7.3, 9.0, 31.015, 33.0]},
    {"clip_timestamps": [20.0, 25.0, 3.0, 6.0]},
]
FRAMES = [0, 1, 37, 799, 800, 801, 2999, 3000, 3001, 4999, 12345]


def cases():
    for seed in range(len(OPTIONS) * len(FRAMES)):
        options = OPTIONS[seed % len(OPTIONS)]
        small = seed % 3 == 0
        multilingual = seed % 5 != 4 or options.get("language") != "en"
        frames = FRAMES[seed % len(FRAMES)]
        clips = options.get("clip_timestamps")
        if clips and round(max(clips) * 100) > frames:
            frames = 12345  # upstream loops for ever where a clip reaches past the end
        yield {
            "seed": seed,
            "frames": frames,
            "window": 800 if small else 3000,
            "positions": 64 if small else 448,
            "multilingual": multilingual,
            "options": options,
        }


def write_transcribe():
    folder = ROOT / "transcribe/testdata/golden"
    folder.mkdir(parents=True, exist_ok=True)
    out = {
        "command": "python tools/reference/transcribe_goldens.py",
        "whisper": importlib.metadata.version("openai-whisper"),
        "cases": [],
    }
    for case in cases():
        text = canonical(run(case))
        if case["seed"] < 12:
            case["want"] = text
        case["segments"] = text.count("\n") - 1
        case["sha256"] = hashlib.sha256(text.encode()).hexdigest()
        out["cases"].append(case)
    lines = ",\n".join(json.dumps(c) for c in out.pop("cases"))
    head = json.dumps(out)[:-1]
    (folder / "loop.json").write_text(f'{head}, "cases": [\n{lines}\n]}}\n')


def made_up_alignment(seed):
    """In place of timing.find_alignment: times of words by the rule."""

    def find(model, tokenizer, text_tokens, mel, num_frames, **_):
        if len(text_tokens) == 0:
            return []
        r = Rule(seed, int(mel[0, 0]) - 1, num_frames, *text_tokens)
        words, groups = tokenizer.split_to_word_tokens(text_tokens + [tokenizer.eot])
        if len(groups) <= 1:
            return []
        at = r.next(num_frames // 2 + 1) if r.next(4) == 0 else r.next(40)
        out = []
        for word, tokens in zip(words[:-1], groups[:-1]):
            at += [0, 0, 0, 0, 1, 2, 5, 10, 30, 300][r.next(10)]
            end = at + [1, 3, 5, 10, 15, 20, 20, 40, 200, 0][r.next(10)]
            p = r.next(1000) / 1000
            p /= 1 + r.next(3)
            out.append(timing.WordTiming(word, list(tokens), at / 50, end / 50, p))
            at = end
        return out

    return find


WORD_OPTIONS = [
    {"language": "en"},
    {"language": "en", "hallucination_silence_threshold": 0.5},
    {"language": "en", "hallucination_silence_threshold": 2.0},
    {"language": "en", "hallucination_silence_threshold": 8.0, "condition_on_previous_text": False},
    {"language": "ja", "hallucination_silence_threshold": 1.0},
    {"language": "en", "prepend_punctuations": "(", "append_punctuations": ".,"},
    {"language": "en", "hallucination_silence_threshold": 1.0, "clip_timestamps": [1.0, 7.3, 9.0, 31.015, 33.0]},
    {"language": "en", "without_timestamps": True, "hallucination_silence_threshold": 3.0},
    {"language": "en", "temperature": [0.4, 0.8], "hallucination_silence_threshold": 1.0},
]


class Endless(Exception):
    pass


class BoundedModel(Model):
    def decode(self, mel, options):
        if self.windows > 3000:
            raise Endless
        return super().decode(mel, options)


def write_words():
    """The same loop with word times, which are made up: the rules about segments, seeks
    and hallucinations are upstream's."""
    global Model
    plain, Model = Model, BoundedModel
    found, timing.find_alignment = timing.find_alignment, None
    cases = []
    for seed in range(40 * len(WORD_OPTIONS)):
        options = WORD_OPTIONS[seed % len(WORD_OPTIONS)]
        small = seed % 4 == 0
        case = {
            "seed": seed, "frames": [801, 2999, 5000, 12345][seed % 4 if "clip_timestamps" not in options else 3],
            "window": 800 if small else 3000, "positions": 64 if small else 448, "multilingual": True,
            "options": options | {"word_timestamps": True},
        }
        timing.find_alignment = made_up_alignment(seed)
        try:
            out = run(case)
        except Endless:
            print(f"seed {seed}: upstream never ends")
            continue
        text = canonical(out)
        for s in out["segments"]:
            words = [f"{w['word'].encode().hex()} {bits(w['start'])} {bits(w['end'])} {bits(w['probability'])}" for w in s["words"]]
            text += f"{s['id']}: " + ", ".join(words) + "\n"
        case["segments"] = len(out["segments"])
        case["words"] = sum(len(s["words"]) for s in out["segments"])
        if seed < 12:
            case["want"] = text
        case["sha256"] = hashlib.sha256(text.encode()).hexdigest()
        cases.append(case)
    Model, timing.find_alignment = plain, found
    lines = ",\n".join(map(json.dumps, cases))
    (ROOT / "transcribe/testdata/golden/words.json").write_text(
        f'{{"command": "python tools/reference/transcribe_goldens.py words", "cases": [\n{lines}\n]}}\n'
    )


def segment(i, start, end, text):
    return {
        "id": i, "seek": 0, "start": start, "end": end, "text": text, "tokens": [50364, 400 + i, 50400],
        "temperature": 0.0, "avg_logprob": -0.25, "compression_ratio": 0.75, "no_speech_prob": 0.125,
    }


def write_transcript():
    """What upstream writes well: not an empty segment, and nothing that VTT reads as markup."""
    folder = ROOT / "transcript/testdata/golden"
    folder.mkdir(parents=True, exist_ok=True)
    texts = [
        (0.0, 1.5, " Plain."),
        (1.5, 2.0005, " rounds to even"),
        (2.0015, 61.9996, " a dash -- here\tand a tab "),
        (61.9996, 3599.8996, " 日本語 ♪ — ёж"),
        (3599.9, 3600.0, "\u00a0\u2003 space of all kinds \x1c\u3000"),
        (3600.0, 36000.25, " hours"),
        (360000.0, 360000.5, " a hundred hours"),
    ]
    names = {"mixed": texts, "none": []}
    for name, rows in names.items():
        segments = [segment(i, *row) for i, row in enumerate(rows)]
        result = {"text": "".join(s["text"] for s in segments), "segments": segments, "language": "en"}
        (folder / f"{name}.json").write_text(json.dumps(result) + "\n")
        for extension in ("txt", "srt", "vtt", "tsv"):
            whisper.utils.get_writer(extension, str(folder))(result, name)


SUBTITLES = [
    {},
    {"max_line_width": 20},
    {"max_line_width": 20, "max_line_count": 2},
    {"max_line_count": 1},
    {"max_words_per_line": 3},
    {"highlight_words": True},
    {"max_line_width": 24, "max_line_count": 1, "highlight_words": True},
]


def write_subtitles():
    """Segments with word times, as the writers cut them. Upstream gives words without duration cues without one."""
    folder = ROOT / "transcript/testdata/golden"
    r, segments, at = Rule(7), [], 0
    texts = [
        " Mr. Quilter is the apostle of the middle classes, and we are glad to welcome his gospel.",
        "", "日本語ですね。これは長い文です。", " a\ttab and a dash -- here", " Supercalifragilisticexpialidocious! Indeed.",
        " one two three four five six seven eight nine ten eleven twelve", " odd\u3000space",
    ]
    for i, text in enumerate(texts):
        words, begin = [], at
        parts = [c for c in text] if "日" in text else [" " + w for w in text.split(" ")[1:]]
        for p in parts:
            start = at + [0, 0, 0, 20, 400][r.next(5)]
            at = start + [10, 20, 30, 50][r.next(4)]
            words.append({"word": p, "start": start / 100, "end": at / 100, "probability": 0.5})
        times = [timing.WordTiming(w["word"], [], w["start"], w["end"], 0.5) for w in words]
        timing.merge_punctuations(times, "", "。")
        words = [w | {"word": t.word} for w, t in zip(words, times) if t.word]
        s = segment(i, begin / 100, at / 100, text)
        segments.append(s | {"words": words if text else []})
    result = {"text": "".join(texts), "segments": segments, "language": "en"}
    (folder / "words.json").write_text(json.dumps(result) + "\n")
    for i, options in enumerate(SUBTITLES):
        for extension in ("srt", "vtt"):
            whisper.utils.get_writer(extension, str(folder))(result, f"words{i}", options)
    (folder / "subtitles.json").write_text(json.dumps(SUBTITLES) + "\n")


def sound(n):
    """Noise held for 1 to 23 samples, in blocks of 0.37 s of four loudnesses."""
    i = np.arange(n, dtype=np.uint64)
    block = i // np.uint64(5920)
    hold = block * np.uint64(7) % np.uint64(23) + np.uint64(1)
    with np.errstate(over="ignore"):
        z = (i // hold + (block << np.uint64(32)) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    v = (z >> np.uint64(49)).astype(np.int64) - (1 << 14)
    return ((v >> (block % np.uint64(4)).astype(np.int64) * 2) / 32768).astype(np.float32)


# Windows shorter than 30 s only alone: upstream, which knows no other, would follow
# timestamps past the end of them.
ENGINE = [
    ("sharded", 3.123, {}),
    ("sharded", 7.9, {"language": "en", "without_timestamps": True}),
    ("english", 9.0, {"initial_prompt": "one two", "carry_initial_prompt": True}),
    ("multi", 33.3, {}),
    ("multi", 64.0, {"language": "de", "condition_on_previous_text": False}),
    ("multi", 45.0, {"language": "fr", "task": "translate", "initial_prompt": "Glenn, Verity and Drake"}),
    ("multi", 40.0, {"language": "en", "clip_timestamps": [1.5, 12.25, 20.0]}),
]
ENGINE_WORDS = [
    ("english", 7.0, {"word_timestamps": True}),
]
MARGIN = 2e-3  # of the best token over the next: ten times what the mel drifts the logits by


def write_engine():
    run_engine(ENGINE, "engine.json")


def write_engine_words():
    run_engine(ENGINE_WORDS, "engine_words.json")


def run_engine(runs, file):
    """All with no gates, so that nothing but the tokens decides, and one temperature."""
    import model_goldens
    import rule

    torch.set_num_threads(1)
    gates = {k: None for k in ("compression_ratio_threshold", "logprob_threshold", "no_speech_threshold")}
    cases = []
    for name, length, options in runs:
        spec = rule.SPECS[name]
        net = model_goldens.openai_model(spec, rule.state_dict(spec, model_goldens.shapes_of(spec)))
        frames = 2 * net.dims.n_audio_ctx
        loop.N_FRAMES, loop.N_SAMPLES = frames, frames * 160
        loop.log_mel_spectrogram = whisper.audio.log_mel_spectrogram
        whisper.decoding.CHUNK_LENGTH = net.dims.n_audio_ctx * 0.02
        steps = []
        with model_goldens.recorded(steps):
            out = loop.transcribe(net, sound(int(length * 16000)), fp16=False, temperature=0.0, **gates, **options)
        margin = min(s[1] for s in steps)
        print(f"{name} {length} s {options}: {len(steps)} tokens, {len(out['segments'])} segments, {out['language']}, margin {margin:.3g}")
        assert margin > MARGIN, "a near-tie decides nothing: take another sound"
        cases.append({"spec": name, "seconds": length, "options": options, "margin": margin, "want": out})
    (ROOT / "transcribe/testdata/golden" / file).write_text(
        '{"command": "python tools/reference/transcribe_goldens.py", "cases": [\n' + ",\n".join(map(json.dumps, cases)) + "\n]}\n"
    )


if __name__ == "__main__":
    parts = {"loop": write_transcribe, "words": write_words, "transcript": write_transcript, "subtitles": write_subtitles, "engine": write_engine, "engine_words": write_engine_words}
    for name in sys.argv[1:] or parts:
        parts[name]()

#!/usr/bin/env python3
"""Compares Verity's words in float32 with openai-whisper's on published weights, and says why they differ.

    python tools/compare-whisper.py --verity bin/verity --model DIR [--model DIR]... [--form PATH]...
        --english FILE... [--long FILE...] [--other LANG:FILE...] [--suites greedy,beams,...] [--threads 1]

DIR is a checkpoint in Hugging Face or CTranslate2 layout; both programs read its weights. FORMs are the first model's
weights in other forms (.pt, ggml, CTranslate2): Verity's JSON of each must equal that of DIR but for times and names.
ffmpeg turns every recording into 16 kHz and 16 bits first, so both programs hear the same samples; Verity fills
windows as openai-whisper does (--pad mel); neither falls back to other temperatures. Sounds without speech are made
here, by rule.

suite      recordings        options
greedy     all               temperature 0
beams      every 3rd         a beam of 5
words      every 3rd         times of words
prompt     every 5th         an initial prompt
clips      every 5th         parts of the file, named by their times; one that begins before the end of the file and
                             ends behind it, upstream is told to end with the file: else it decodes a window of
                             nothing there, and for ever where a gate refuses it
language   other languages   the language is detected
translate  other languages   into English
long       the long ones     windows that are shown the text before them
noise      made              silence, noise, tones: the language is detected where there is one to detect

A difference is explained where upstream's own choice hung by a thread: at the first token that differs, the
log-probabilities of both tokens, or of all timestamps and the likeliest word (upstream's rule compares them), or of the
last kept beam and the first dropped, are at most --tie apart; or, for a word's time, where the sums of two ways along
the attention are at most 0.001 apart. Where something differs upstream decodes again in
float64, and the line says whom that agrees with. What is not explained makes the status 1, and so does a
signal, which ends it with the table so far. Needs openai-whisper.
"""
import argparse
import importlib.util
import json
import math
import pathlib
import signal
import subprocess
import sys
import tempfile

import numpy as np
import torch
import whisper
import whisper.decoding as decoding
import whisper.model
import whisper.timing

HERE = pathlib.Path(__file__).parent
PROMPT = "A lecture on the history of Birmingham, read by Mr. Quilter."
SUITES = {  # name: options of upstream, flags of Verity
    "greedy": ({}, []),
    "beams": ({"beam_size": 5}, ["--beam-size", "5"]),
    "words": ({"word_timestamps": True}, ["--word-timestamps"]),
    "prompt": ({"initial_prompt": PROMPT}, ["--initial-prompt", PROMPT]),
    "clips": ({"clip_timestamps": "0.5,2.5,3"}, ["--clip-timestamps", "0.5,2.5,3"]),
    "language": ({"language": None}, ["--language", "auto"]),
    "translate": ({"task": "translate"}, ["--task", "translate"]),
    "long": ({}, []),
    "noise": ({"language": None}, ["--language", "auto"]),
}


# Upstream, and what it saw.

def script(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load(directory):
    """An openai-whisper model of a directory, in float32."""
    sys.path.insert(0, str(HERE / "reference"))
    import model_goldens
    if (directory / "model.safetensors").exists():
        import safetensors.torch
        config = json.loads((directory / "config.json").read_text())
        weights = {k: v.float() for k, v in safetensors.torch.load_file(directory / "model.safetensors").items() if k != "proj_out.weight"}
        heads = json.loads((directory / "generation_config.json").read_text())["alignment_heads"]
    else:
        convert = script(HERE.parent / "model/base/convert.py")
        weights = {"model." + k: torch.from_numpy(v.astype(np.float32))
                   for k, v in convert.hugging_face(convert.read(directory / "model.bin")).items()}
        heads = json.loads((directory / "config.json").read_text())["alignment_heads"]
        shape = {k: v.shape for k, v in weights.items()}
        vocab, width = shape["model.decoder.embed_tokens.weight"]
        layers = {half: sum(k.startswith(f"model.{half}.layers.") and k.endswith(".fc1.bias") for k in shape) for half in ("encoder", "decoder")}
        config = {"num_mel_bins": shape["model.encoder.conv1.weight"][1], "max_source_positions": shape["model.encoder.embed_positions.weight"][0],
                  "max_target_positions": shape["model.decoder.embed_positions.weight"][0], "d_model": width, "vocab_size": vocab,
                  "encoder_attention_heads": width // 64, "decoder_attention_heads": width // 64,
                  "encoder_layers": layers["encoder"], "decoder_layers": layers["decoder"],
                  "encoder_ffn_dim": shape["model.encoder.layers.0.fc1.bias"][0], "decoder_ffn_dim": shape["model.decoder.layers.0.fc1.bias"][0]}
    net = model_goldens.openai_model({"config": config}, weights)
    mask = torch.zeros(config["decoder_layers"], config["decoder_attention_heads"], dtype=torch.bool)
    for layer, head in heads:
        mask[layer, head] = True
    net.register_buffer("alignment_heads", mask.to_sparse(), persistent=False)
    return net


def double(net):
    """The same model in float64: upstream's layers follow the type of what they are given."""
    net.double()
    for module in (net.encoder.conv1, net.encoder.conv2):
        module.register_forward_pre_hook(lambda _, args: (args[0].double(),))
    return net


# In float32 these are upstream's own; in float64 upstream would round, or refuse.
whisper.model.LayerNorm.forward = lambda self, x: torch.nn.LayerNorm.forward(self, x.to(self.weight.dtype)).type(x.dtype)

encoded = {}  # features of windows by model and mel: suites share them


def features(self, mel):
    key = (id(self.model), hash(mel.numpy().tobytes()))
    if key not in encoded:
        if len(encoded) > 40:
            encoded.clear()
        encoded[key] = self.model.encoder(mel)
    return encoded[key]


decoding.DecodingTask._get_audio_features = features

windows = []  # of one run: the steps of each decoded window
TOP = 50


class Softmax:
    """torch.nn.functional as upstream's decoding sees it, noting what the rule of timestamps compares."""

    begin = None

    def __getattr__(self, name):
        return getattr(torch.nn.functional, name)

    def log_softmax(self, logits, dim):
        out = torch.nn.functional.log_softmax(logits, dim=dim)
        if Softmax.begin is not None:
            stamps, text = out[:, Softmax.begin:].logsumexp(dim=-1), out[:, :Softmax.begin].max(dim=-1).values
            windows[-1]["rule"].append(float((stamps - text).abs().min()))
            Softmax.begin = None
        return out


decoding.F = Softmax()
apply_rules, main_loop = decoding.ApplyTimestampRules.apply, decoding.DecodingTask._main_loop
greedy_update, beam_update, beam_finalize = decoding.GreedyDecoder.update, decoding.BeamSearchDecoder.update, decoding.BeamSearchDecoder.finalize


def rules(self, logits, tokens):
    Softmax.begin = self.tokenizer.timestamp_begin
    apply_rules(self, logits, tokens)


def loop(self, audio_features, tokens):
    windows.append({"begin": self.sample_begin, "stamps": self.tokenizer.timestamp_begin, "eot": self.tokenizer.eot,
                    "steps": [], "rule": [], "cuts": [], "ranked": {}})
    out = main_loop(self, audio_features, tokens)
    windows[-1]["no_speech"] = out[2][0]
    windows[-1]["tokens"] = out[0][0, self.sample_begin:].tolist()
    return out


def greedy(self, tokens, logits, sums):
    values, ids = torch.nn.functional.log_softmax(logits[0].float(), dim=-1).topk(TOP)
    windows[-1]["steps"].append(dict(zip(ids.tolist(), values.tolist())))
    return greedy_update(self, tokens, logits, sums)


def beams(self, tokens, logits, sums):
    scores = {}
    for row, before in enumerate(sums.tolist()):
        values, ids = torch.nn.functional.log_softmax(logits[row].float(), dim=-1).topk(self.beam_size + 1)
        for value, token in zip(values.tolist(), ids.tolist()):
            if token != windows[-1]["eot"]:
                scores[tuple(tokens[row].tolist() + [token])] = before + value
    ranked = sorted(scores.values(), reverse=True)
    if len(ranked) > self.beam_size:
        windows[-1]["cuts"].append(ranked[self.beam_size - 1] - ranked[self.beam_size])
    return beam_update(self, tokens, logits, sums)


def finalize(self, preceding, sums):
    tokens, scores = beam_finalize(self, preceding, sums)
    w = windows[-1]
    for t, s in zip(tokens[0], scores[0]):
        t = t.tolist()[w["begin"]:]
        t = t[:t.index(w["eot"])]
        w["ranked"][tuple(t)] = s / max(1, len(t))
    best = max(w["ranked"], key=w["ranked"].get)
    w["tokens"] = list(best)
    return tokens, scores


decoding.ApplyTimestampRules.apply, decoding.DecodingTask._main_loop = rules, loop
decoding.GreedyDecoder.update, decoding.BeamSearchDecoder.update, decoding.BeamSearchDecoder.finalize = greedy, beams, finalize


warp = whisper.timing.dtw
costs = []  # of one run: what the times of words of each window are found by


def warped(cost):
    costs.append(cost.detach().cpu().numpy())
    return warp(cost)


whisper.timing.dtw = warped


def fork(cost, first, last):
    """By how little the cheapest way along a matrix, between two of its columns, is cheaper than one that leaves it. Sums
    of some 2,000 in float32 are rounded to 0.0001, a few times on the way."""
    rows, columns = cost.shape
    sums = np.full((rows + 1, columns + 1), np.inf)
    sums[0, 0] = 0
    for j in range(1, columns + 1):
        for i in range(1, rows + 1):
            sums[i, j] = cost[i - 1, j - 1] + min(sums[i - 1, j - 1], sums[i - 1, j], sums[i, j - 1])
    i, j, gap = rows, columns, np.inf
    while (i, j) != (1, 1):
        before = sorted([(sums[i - 1, j - 1], i - 1, j - 1), (sums[i - 1, j], i - 1, j), (sums[i, j - 1], i, j - 1)])
        if first <= j - 1 <= last:
            gap = min(gap, before[1][0] - before[0][0])
        _, i, j = before[0]
    return gap


@torch.no_grad()
def upstream(net, file, options):
    windows.clear()
    costs.clear()
    r = whisper.transcribe(net, str(file), temperature=0.0, fp16=False, **options)
    r["windows"] = list(windows)
    r["costs"] = dict(zip(dict.fromkeys(s["seek"] for s in r["segments"] if s.get("words")), costs))
    return r


# Comparison.

def by_window(segments):
    found = {}
    for s in segments:
        found.setdefault(s["seek"], []).extend(s["tokens"])
    return found


def tokens(result):
    return [t for s in result["segments"] for t in s["tokens"]]


def words(result):
    return [w | {"seek": s["seek"]} for s in result["segments"] for w in s.get("words") or []]


def elsewhere(theirs, a, b):
    """A word whose times differ, and by how little upstream chose its own: inf where more than a rounding decides."""
    places = [round(50 * (w[k] - a["seek"] / 100)) for w in (a, b) for k in ("start", "end") if abs(a[k] - b[k]) > 0.0051]
    gap = fork(theirs["costs"][a["seek"]], min(places), max(places)) if a["word"] == b["word"] else math.inf
    return (f"word{a['word']!r} at {a['start']:.2f} – {a['end']:.2f} s, {b['start']:.2f} – {b['end']:.2f} in Verity; ways {gap:.5f} apart",
            gap if gap <= 0.001 else math.inf)


def explain(theirs, ours):
    """The first window that differs: where, both tokens, and by how little upstream chose its own."""
    a, b = by_window(theirs["segments"]), by_window(ours["segments"])
    seek = min(s for s in a.keys() | b.keys() if a.get(s) != b.get(s))
    mine, own = b.get(seek, []), a.get(seek, [])
    where = f"{seek / 100:.2f} s"
    at = [w for w in theirs["windows"] if own and w["tokens"][:len(own)] == own]
    if not at:  # a gate, or the window before it ended elsewhere
        near = min((abs(w["no_speech"] - 0.6) for w in theirs["windows"]), default=math.inf)
        return f"{where}: {len(own)} and {len(mine)} tokens, no-speech probability {near:.4f} from its threshold", near
    w = at[0]
    if w["ranked"]:
        best = w["ranked"][tuple(w["tokens"])]
        other = [s for t, s in w["ranked"].items() if list(t[:len(mine)]) == mine]
        gap = best - other[0] if other else min(w["cuts"] + w["rule"], default=math.inf)
        return f"{where}: another beam, {'ranked' if other else 'cut'} {gap:.5f} apart", gap
    n = next((i for i, (x, y) in enumerate(zip(own, mine)) if x != y), min(len(own), len(mine)))
    x, y = (own + [w["eot"]])[n], (mine + [w["eot"]])[n]
    step = w["steps"][n]
    gap, rule = step.get(x, -math.inf) - step.get(y, -math.inf), w["rule"][n] if n < len(w["rule"]) else math.inf
    kind = "timestamps or text" if rule < gap else "tokens"
    gap = min(gap, rule)
    return f"{where}, token {n}: {x} here, {y} in Verity; {kind} {gap:.5f} apart", gap


class Count(dict):
    def __missing__(self, key):
        return 0


def within(options, file):
    """Options whose parts end with the file."""
    times = options.get("clip_timestamps")
    if not times:
        return options
    return options | {"clip_timestamps": ",".join(str(min(float(t), math.floor(seconds(file) * 100) / 100)) for t in times.split(","))}


def compare(suite, name, net, exact, options, file, ours, tie, count):
    options = within(options, file)
    theirs = upstream(net, file, options)
    count["recordings"] += 1
    count["windows"] += len(theirs["windows"])
    count["tokens"] += len(tokens(theirs))
    found = []
    if theirs["language"] != ours["language"]:
        found.append((f"language {theirs['language']}, {ours['language']} in Verity", math.inf))
    if tokens(theirs) != tokens(ours):
        found.append(explain(theirs, ours))
    else:
        count["equal"] += not found
        for a, b in zip(theirs["segments"], ours["segments"]):
            count["log-probability"] = max(count["log-probability"], abs(a["avg_logprob"] - b["avg_logprob"]))
            if suite != "words" and max(abs(a["start"] - b["start"]), abs(a["end"] - b["end"])) > 0.0051:
                found.append((f"segment at {a['start']:.2f} – {a['end']:.2f} s, {b['start']:.2f} – {b['end']:.2f} in Verity", math.inf))
        for a, b in zip(words(theirs), words(ours)):
            off = max(abs(a["start"] - b["start"]), abs(a["end"] - b["end"])) if a["word"] == b["word"] else math.inf
            count["words"] += 1
            count["words equal"] += int(off < 0.0051)
            if off >= 0.0051:
                found.append(elsewhere(theirs, a, b))
    if not found:
        return
    again = upstream(exact(), file, options)
    side = lambda r: [tokens(r), [(round(s["start"], 2), round(s["end"], 2)) for s in r["segments"]], [(round(w["start"], 2), round(w["end"], 2)) for w in words(r)], r["language"]]
    says = "float64 agrees with Verity" if side(again) == side(ours) else "float64 agrees with float32" if side(again) == side(theirs) else "float64 gives a third"
    for what, gap in found:
        near = gap <= tie or says != "float64 agrees with float32"
        count["near ties" if near else "not explained"] += 1
        print(f"{name}, {suite}, {file.stem}: {what}; {says}{'' if near else ': NOT EXPLAINED'}", flush=True)


def strip(value):
    """A result without what differs from run to run, or with the form."""
    if isinstance(value, dict):
        return {k: strip(v) for k, v in value.items() if k not in ("stats", "made_by", "elapsed", "model", "audio")}
    return [strip(v) for v in value] if isinstance(value, list) else value


def verity(options, model, flags, files, out):
    command = [options.verity, "transcribe", "--quiet", "--model", str(model), "--precision", "f32", "--assistant", "none", "--pad", "mel",
               "--strategy", "upstream",
               "--temperature-increment-on-fallback", "none", "--threads", str(options.threads), "-f", "json", "-o", str(out), *flags]
    subprocess.run(command + [str(f) for f in files], check=True)
    return {f: json.loads((out / (f.stem + ".json")).read_text()) for f in files}


def sounds(work):
    """Sounds without speech."""
    rng, t = np.random.default_rng(1), np.arange(12 * 16000) / 16000
    white = rng.standard_normal(t.size)
    brown = np.cumsum(white)
    made = {"silence": 0 * t, "white": 0.1 * white, "faint": 0.003 * white, "brown": 0.3 * brown / np.abs(brown).max(),
            "tone": 0.3 * np.sin(2 * np.pi * 440 * t), "hum": sum(0.1 / n * np.sin(2 * np.pi * 50 * n * t) for n in range(1, 6)),
            "beeps": 0.3 * np.sin(2 * np.pi * 1000 * t) * (t % 1 < 0.3), "clicks": 0.8 * (np.arange(t.size) % 8000 < 20),
            "swell": 0.2 * white * np.sin(np.pi * t / 3) ** 2, "digital": np.where(t < 6, 0, 0.05 * white)}
    for name, x in made.items():
        yield wav(work / f"sound-{name}.wav", np.clip(x, -1, 1))


def wav(path, samples):
    import wave
    with wave.open(str(path), "wb") as w:
        w.setnchannels(1), w.setsampwidth(2), w.setframerate(16000)
        w.writeframes((samples * 32767).astype("<i2").tobytes())
    return path


def seconds(file):
    return (file.stat().st_size - 44) / 32000


def decode(work, files, kind):
    for i, f in enumerate(files):
        to = work / f"{kind}{i:03d}-{pathlib.Path(f).stem}.wav"
        subprocess.run(["ffmpeg", "-nostdin", "-loglevel", "error", "-y", "-i", f, "-ac", "1", "-ar", "16000", "-c:a", "pcm_s16le", str(to)], check=True)
        yield to


def run(o, rows):
    """Compares everything, and adds a row to rows for each model and suite."""
    work = pathlib.Path(tempfile.mkdtemp(prefix="compare-whisper-"))
    english = [(f, "en") for f in decode(work, o.english, "en")]
    long = [(f, "en") for f in decode(work, o.long, "long")]
    other = [(next(decode(work, [f], f"{lang}{i:03d}-")), lang) for i, (lang, f) in enumerate(x.split(":", 1) for x in o.other)]
    noise = [(f, "en") for f in sounds(work)]
    for model in o.model:
        net, held = load(model), []

        def exact():
            if not held:
                held.append(double(load(model)))
            return held[0]

        for suite in o.suites.split(","):
            theirs, flags = SUITES[suite]
            files = {"greedy": english + (other if net.is_multilingual else []), "beams": english[::3], "words": english[::3] + (other[::3] if net.is_multilingual else []),
                     "prompt": english[1::5], "clips": english[2::5], "language": other, "translate": other, "long": long, "noise": noise}[suite]
            if not net.is_multilingual:
                theirs = {k: v for k, v in theirs.items() if k != "language"}
                flags = [f for f in flags if f not in ("--language", "auto")]
                files = [] if suite in ("language", "translate") else files
            count = Count()
            rows.append((model.name, suite, count))
            for lang in sorted({lang for _, lang in files}):
                own = [f for f, of in files if of == lang]
                told = [] if "--language" in flags else ["--language", lang]
                ours = verity(o, model, flags + told, own, work / f"{model.name}-{suite}-{lang}")
                for f in own:
                    compare(suite, model.name, net, exact, {"language": lang} | theirs, f, ours[f], o.tie, count)
            print(f"# {model.name} {suite}: {dict(count)}", flush=True)
    files = [f for f, _ in english[::6] + long[:1]]
    want = verity(o, o.model[0], ["--language", "en", "--word-timestamps"], files, work / "form") if o.form else {}
    for form in o.form:
        got = verity(o, form, ["--language", "en", "--word-timestamps"], files, work / f"form-{form.name}")
        differ = [f.stem for f in files if strip(got[f]) != strip(want[f])]
        rows.append((form.name, "form", Count({"recordings": len(files), "equal": len(files) - len(differ), "not explained": len(differ)})))
        print(f"form {form.name}: {' '.join(differ)}", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--verity", required=True)
    p.add_argument("--model", action="append", type=pathlib.Path, required=True)
    p.add_argument("--form", action="append", default=[], type=pathlib.Path)
    p.add_argument("--english", nargs="+", required=True)
    p.add_argument("--long", nargs="*", default=[])
    p.add_argument("--other", nargs="*", default=[], metavar="LANG:FILE")
    p.add_argument("--suites", default=",".join(SUITES))
    p.add_argument("--tie", type=float, default=0.01)
    p.add_argument("--threads", type=int, default=1)
    o = p.parse_args()
    torch.set_num_threads(o.threads)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    rows, failed = [], False
    try:
        run(o, rows)
    except KeyboardInterrupt:
        print("interrupted: what follows is not all", flush=True)
        failed = True
    print("\n| model | suite | recordings | windows | tokens | equal | differ at a near tie | not explained | words | times equal | largest difference of a mean log-probability |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for model, suite, c in rows:
        failed |= c["not explained"] > 0
        print(f"| {model} | {suite} | {c['recordings']} | {c['windows']} | {c['tokens']} | {c['equal']} | {c['near ties']} | {c['not explained']} | "
              f"{c['words'] or ''} | {c['words equal'] or ''} | {c['log-probability']:.1e} |")
    sys.exit(failed)


if __name__ == "__main__":
    main()

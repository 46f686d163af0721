"""Words on hard sound beside faster-whisper with the same weights, and no words where nobody speaks.

Three small sets of tools/accuracy. Others' means count the errors: jiwer and the normalizers of openai-whisper. docs/ACCURACY.md
has all the sets.
"""
import concurrent.futures
import json
import pathlib
import random
import re
import subprocess
import sys

TITLE = "words on hard sound"
BY = "them"
VERSION = "faster-whisper 1.2.1"
NEEDS = ["faster-whisper==1.2.1", "jiwer==4.0.0", "regex==2026.11.19", "more-itertools==11.2.1", "websockets==17.4"]

WORDS = 300  # at least, of a set
SETS = ["two languages", "noise 5 dB", "clean"]  # the longest first
MODES = ["transcribe --speakers channels", "transcribe --hotwords", "listen --initial-prompt", "POST keywords", "realtime, turns committed prompt"]
AGAINST = "against faster-whisper 1.2.1"


def run(env):
    if not env.shared:
        env.skip("needs recordings in $VERITY_PROOF_SHARED")
    program, sets = env.work / "accuracy", env.work / "sets"
    subprocess.run(["go", "build", "-o", program, "./tools/accuracy"], cwd=env.root, check=True)
    subprocess.run([program, "-build", "-data", env.shared, "-words", str(WORDS), "-only", ",".join([*SETS, "nospeech"]), sets], check=True)
    cases = invented(env, sorted((sets / "nospeech").glob("*000ms.wav")) + sorted((sets / "nospeech").glob("robin.wav")))
    base = env.model("base")
    if not base or not (pathlib.Path(base) / "model.bin").exists():
        return cases + [env.missing(AGAINST, "needs base as a directory of CTranslate2, as `make weights` makes it")]
    texts = {}

    def transcribe(set):
        keep = env.work / set
        subprocess.run([program, "-systems", f"verity={env.verity} -m {base} --precision int8 -t 1;faster-whisper=peer {base}", "-python", sys.executable,
                        "-peers", env.root / "tools/accuracy/peers.py", "-only", set, "-keep", keep, sets], check=True, stdout=subprocess.DEVNULL)
        return [json.loads(line) for line in keep.read_text(encoding="utf8").splitlines()]

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for rows in pool.map(transcribe, SETS):
            for row in rows:
                texts |= {(row["System"], name): text for name, text in zip(row["Audio"], row["Texts"], strict=True)}
    items = [json.loads(line) for line in (sets / "manifest.jsonl").read_text(encoding="utf8").splitlines()]
    return cases + rates(env, [i for i in items if i["set"] in SETS], texts)


def rates(env, items, texts):
    """Counts the errors of both programs. A set fails if Verity has more and chance does not explain it."""
    import jiwer
    sys.path.insert(0, str(env.sdist("openai-whisper==20250625") / "whisper"))  # its whole needs torch
    from normalizers import BasicTextNormalizer, EnglishTextNormalizer
    english, basic = EnglishTextNormalizer(), BasicTextNormalizer()
    counted = {}  # by set: errors of Verity, of the other, words of each recording
    for i in items:
        normal = english if i["lang"] == "en" else basic
        errors = []
        for system in "verity", "faster-whisper":
            w = jiwer.process_words(normal(i["text"]), normal(texts[system, i["audio_filepath"]]))
            errors.append(w.substitutions + w.deletions + w.insertions)
        counted.setdefault(i["set"], []).append((*errors, len(normal(i["text"]).split())))
    cases, said = [], []
    for set, rows in [*counted.items(), ("all", sum(counted.values(), []))]:
        ours, theirs, words = map(sum, zip(*rows))
        said.append(f"{set} {100 * ours / words:.2f} and {100 * theirs / words:.2f}")
        draw = random.Random(1)
        drawn = [draw.choices(rows, k=len(rows)) for _ in range(2000)]
        low = sorted(sum(o - t for o, t, _ in d) / sum(n for *_, n in d) for d in drawn)[50]  # of 95 %
        cases.append({"case": set, "ok": ours <= theirs or low <= 0, "of": AGAINST,
                      "reason": f"{ours} errors, faster-whisper {theirs}, of {words} words: the interval begins at {100 * low:.2f} points"})
    env.note(f"Percent of words wrong, Verity and faster-whisper, base in int8, {words} words: {'; '.join(said)}.")
    return cases


def invented(env, files):
    """Runs modes on recordings without speech."""
    sys.path.insert(0, str(env.root / "tools/accuracy"))
    from invented import modes
    return [{"case": f"{mode}: {path.name}", "ok": not re.search(r"\w", text), "of": "nobody speaks", "by": "us", "reason": f"got {text!r}"}
            for chosen in MODES for mode, texts in modes([env.verity], files, env.work / "modes", chosen) for path, text in zip(files, texts, strict=True)]

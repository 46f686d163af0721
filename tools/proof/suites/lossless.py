"""Whether drafts change the text, in Verity and in the other program that claims that they do not.

Verity compares its transcripts of nine recordings with and without drafts, with base in int8 on the CPU. Of the other
program, single steps are compared with passes over several tokens: from each recording, 46 tokens by single steps, the
likeliest that does not end the text. Then the same tokens in blocks of 2, 3, 5 and 8, as a draft is verified: at how many
positions is another token the likeliest? Of Verity's steps, TestStepRows of package decoder shows the same.
"""
import pathlib
import re
import subprocess

TITLE = "drafts do not change the text"
BY = "them"
VERSION = "ctranslate2-crisperwhisper 4.7.1.post3"
NEEDS = ["ctranslate2-crisperwhisper==4.7.1.post3", "numpy==2.4.6"]
LIMIT = 900

BLOCKS, STEPS = (2, 3, 5, 8), 46
PROMPT = [50258, 50259, 50359]  # start, English, transcribe
END = 50257   # of the text; tokens of text are before it
CLAIM = ("Crisperwhisper 2.0.3 has a mode strict, which promises the text of plain decoding. Its loop is Python (speculative.py); this package computes, by the "
         "calls prefill, forward_step and forward_batch, which are made here.")


def run(env):
    model = env.model("base") or env.skip("needs real weights in $VERITY_PROOF_MODELS/base")
    files = recordings(env)
    cases = [verity(env, model, files)]
    if not (pathlib.Path(model) / "model.bin").exists():
        return cases + [env.missing(VERSION, "needs base as a directory of CTranslate2, as `make weights` makes it")]
    env.note(others(env, model, files))
    return cases


def describe(program, wrong, equal):
    positions = len(wrong) * STEPS
    return (f"{program}, {len(wrong)} recordings, blocks of {', '.join(map(str, BLOCKS))} rows: another token than by single steps at {sum(wrong)} of "
            f"{positions} positions, in {sum(map(bool, wrong))} of the recordings; {equal} of {positions * len(BLOCKS)} rows of logits are equal to the bit.")


def recordings(env):
    base = env.root / "model/base"
    files = [base / "jfk.flac", *sorted((base / "librispeech").glob("*.flac"))]
    if env.shared:
        files += sorted((env.shared / "librispeech" / "LibriSpeech").rglob("*.flac"))[:9 - len(files)]
    return files


def verity(env, model, files):
    """Verity compares whole transcriptions with and without drafts: tokens, log-probabilities, times."""
    command = [env.verity, "compare", "-q", "--model", model, "--precision", "int8", "--assistant", "self", "--draft-tokens", "5", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True)
    verdict = re.search(r"^assisted against baseline: (.*)$", done.stdout, re.M)
    said = verdict.group(1) if verdict else done.stderr.strip()[-200:]
    env.note(f"`verity compare --model base --precision int8 --assistant self --draft-tokens 5`: {said}.")
    return {"case": f"{len(files)} recordings", "of": "verity compare, base in int8", "by": "us", "ok": done.returncode == 0, "reason": said}


def others(env, directory, files):
    """Counts the same of the other program."""
    import ctranslate2
    import numpy
    model = ctranslate2.models.Whisper(str(directory), device="cpu", compute_type="int8")
    wrong, equal = [], 0
    for file in files:
        mel = env.bridge()("logmel", path=str(file), bins=80)
        features = numpy.array(mel["data"], dtype=numpy.float32).reshape(1, 80, 3000)
        encoded = model.encode(ctranslate2.StorageView.from_array(features))
        state, logits = model.prefill(encoded, PROMPT)
        single, tokens = [numpy.array(logits).reshape(-1)], []
        while len(tokens) < STEPS:
            tokens.append(int(single[-1][:END].argmax()))
            single.append(numpy.array(model.forward_step(state, tokens[-1])).reshape(-1))
        other = set()
        for n in BLOCKS:
            state, _ = model.prefill(encoded, PROMPT)
            for at in range(0, STEPS, n):
                block = numpy.array(model.forward_batch(state, tokens[at:at + n])).reshape(-1, len(single[0]))
                for i, row in enumerate(block, at + 1):
                    equal += row.tobytes() == single[i].tobytes()
                    if row.argmax() != single[i].argmax():
                        other.add(i)
        wrong.append(len(other))
    return f"{describe(VERSION, wrong, equal)} {CLAIM}"

"""Whether a pass over several tokens chooses what single steps choose, in Verity and in the other program that claims it.

Protocol: nine recordings, English, base in int8 on the CPU. Greedy tokens by single steps, up to 46 each. Then the same
tokens in blocks of 2, 3, 5 and 8, as a draft is verified: at how many positions is another token the likeliest?
"""
import pathlib
import re
import subprocess

TITLE = "drafts do not change the text"
VERSION = "ctranslate2-crisperwhisper 4.7.1.post3"
NEEDS = ["ctranslate2-crisperwhisper==4.7.1.post3", "numpy==2.4.6"]
LIMIT = 900

BLOCKS, STEPS = (2, 3, 5, 8), 46
PROMPT = [50258, 50259, 50359]  # start, English, transcribe
CLAIM = "crisperwhisper 2.0.3 has a mode strict, which promises the text of plain decoding. It makes these calls."


def run(env):
    model = env.model("base") or env.skip("needs real weights in $VERITY_PROOF_MODELS/base")
    cases = [verity(env, model)]
    if (pathlib.Path(model) / "model.bin").exists():
        others(env, model, recordings(env))
    else:
        cases.append({"case": "the other program", "ok": None, "reason": "base is not a directory of CTranslate2, as `make weights` makes it"})
    return cases


def recordings(env):
    base = env.root / "model/base"
    files = [base / "jfk.flac", *sorted((base / "librispeech").glob("*.flac"))]
    if env.shared:
        files += sorted((env.shared / "librispeech" / "LibriSpeech").rglob("*.flac"))[:9 - len(files)]
    return files


def verity(env, model):
    """Verity checks the same with all its logits: rows in one pass, threads, batches, drafts, instruction sets."""
    command = [env.verity, "selftest", "--model", model, "--precision", "int8", "--assistant", "none"]
    done = subprocess.run(command, capture_output=True, text=True)
    said = done.stdout + done.stderr
    differ = re.findall(r"^.*(?:differ|FAIL).*$", said, re.M)
    env.note("`" + " ".join(["verity", *command[1:2], "--model", "base", *command[4:]]) + "`: " + "; ".join(said.strip().splitlines()[-1:]))
    return {"case": "verity selftest on base in int8: values that differ", "ok": done.returncode == 0, "reason": "; ".join(differ[:3]) or said.strip()[-200:]}


def others(env, directory, files):
    """Counts positions at which blocks choose another token than steps."""
    import ctranslate2
    import numpy
    model = ctranslate2.models.Whisper(str(directory), device="cpu", compute_type="int8")
    positions = wrong = rows = equal = several = 0
    for file in files:
        mel = env.bridge()("logmel", path=str(file), bins=80)
        features = numpy.array(mel["data"], dtype=numpy.float32).reshape(1, 80, 3000)
        encoded = model.encode(ctranslate2.StorageView.from_array(features))
        state, logits = model.prefill(encoded, PROMPT)
        single = [numpy.array(logits).reshape(-1)]
        tokens = []
        while len(tokens) < STEPS:
            token = int(single[-1].argmax())
            if token == 50257:
                break
            tokens.append(token)
            single.append(numpy.array(model.forward_step(state, token)).reshape(-1))
        others = set()
        for n in BLOCKS:
            state, _ = model.prefill(encoded, PROMPT)
            for at in range(0, len(tokens), n):
                block = numpy.array(model.forward_batch(state, tokens[at:at + n])).reshape(-1, len(single[0]))
                for i, row in enumerate(block, at + 1):
                    rows += 1
                    equal += row.tobytes() == single[i].tobytes()
                    if row.argmax() != single[i].argmax():
                        others.add(i)
        positions, wrong, several = positions + len(tokens), wrong + len(others), several + bool(others)
    env.note(f"{CLAIM} On the CPU, base in int8, {len(files)} recordings: blocks of {', '.join(map(str, BLOCKS))} rows choose another token than single "
             f"steps at {wrong} of {positions} positions, in {several} of the recordings; {equal} of {rows} rows of logits are equal to the bit.")

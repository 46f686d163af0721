"""openai/whisper's own tests on Verity, through a module named whisper (tools/proof/shims/whisper)."""
import json
import os
import shutil

TITLE = "openai/whisper's own tests"
BY = "tests"
VERSION = "openai-whisper 20250625"
NEEDS = ["numpy==2.4.6", "scipy==1.17.1", "pytest==9.0.2"]

TIMING = "tests functions that are inside Verity; the goldens of transcribe compare the times of words with upstream's"


def run(env):
    tests = env.work / "tests"
    shutil.copytree(env.sdist("openai-whisper==20250625") / "tests", tests)
    os.remove(tests / "test_timing.py")
    clone = env.source("whisper")  # its recording is not in the package: 44.1 kHz, the same speech as ours
    shutil.copy(clone / "tests/jfk.flac" if clone else env.root / "model/base/jfk.flac", tests / "jfk.flac")
    models = {"the model inside": "base"} | {name: path for name in ("base", "tiny.en") if (path := env.model(name))}
    package = env.work / "site" / "verity_asr"
    shutil.copytree(env.root / "tools/wheel/verity_asr", package)
    os.symlink(env.verity, package / "verity")
    cases = env.pytest(tests, modules=[package.parent],
                       variables={"VERITY_PROOF_WHISPER_MODELS": json.dumps(models)})
    for name in {"base", "tiny.en"} - set(models):
        cases.append(env.missing(f"test_transcribe[{name}]", f"needs real weights in $VERITY_PROOF_MODELS/{name}"))
    return cases + [{"case": "test_timing.py", "ok": None, "reason": TIMING}]

"""What CTranslate2 and transformers expect of tiny.en and of log-mel features: the values as facts, none of their code.

Sources: OpenNMT/CTranslate2@0d8bcd3 python/tests/test_transformers.py, TestWhisper;
huggingface/transformers@031335d tests/models/whisper/test_feature_extraction_whisper.py, test_torch_integration, and
test_modeling_whisper.py, test_tiny_en_generation and test_tiny_en_batched_generation.
"""
import json
import subprocess

TITLE = "cases of CTranslate2 and transformers"
BY = "them"
VERSION = "CTranslate2 0d8bcd3, transformers 031335d"
NEEDS = []

QUILTER, NOR, JFK = "librispeech/1272-128104-0000.flac", "librispeech/1272-128104-0001.flac", "jfk.flac"
UPSTREAM = ("--strategy", "upstream", "--temperature", "0", "--assistant", "none", "--vad=off")
TEXTS = {  # name: sound, options, text
    "CTranslate2, tiny.en, Mr. Quilter, beam 2": (
        QUILTER, ("--pad", "mel", "--beam-size", "2"), " Mr. Quilter is the apostle of the middle classes, and we are glad to welcome his gospel."),
    "CTranslate2, tiny.en, Kennedy, beam 2": (
        JFK, ("--pad", "mel", "--beam-size", "2"),
        " And so, my fellow Americans ask not what your country can do for you ask what you can do for your country."),
    "CTranslate2, tiny.en, Kennedy, beam 5 without timestamps": (
        JFK, ("--without-timestamps", "--beam-size", "5"),
        " And so my fellow Americans ask not what your country can do for you, ask what you can do for your country."),
}
NO_SPEECH = {"CTranslate2, tiny.en, Mr. Quilter, beam 2": (0.02644546702504158, 1e-4), "CTranslate2, tiny.en, Kennedy, beam 2": (0.062380101531744, 1e-3)}
TOKENS = {  # the first of each, as many as upstream generates
    "transformers, tiny.en, batch, recording 1": (QUILTER, (), [1770, 13, 2264, 346, 353, 318, 262, 46329, 286, 262, 3504, 6097, 11, 290, 356, 389, 9675, 284, 7062, 465]),
    "transformers, tiny.en, batch, recording 2": (NOR, (), [5414, 318, 1770, 13, 2264, 346, 353, 338, 5642, 1342, 3499, 621, 465, 2300, 13]),
    "transformers, tiny.en, beam 5": (QUILTER, ("--beam-size", "5"), [1770, 13, 2264, 346, 353, 318, 262, 46329, 286, 262, 3504, 6097, 11, 290, 356, 389, 9675, 284]),
}
LOG_MEL = [0.1193, -0.0946, -0.1098, -0.0196, 0.0225, -0.0690, -0.1736, 0.0951, 0.0971, -0.0817, -0.0702, 0.0162, 0.0260, 0.0017, -0.0192, -0.1678,
           0.0709, -0.1867, -0.0655, -0.0274, -0.0234, -0.1884, -0.0516, -0.0554, -0.0274, -0.1425, -0.1423, 0.0837, 0.0377, -0.0854]
ELSEWHERE = {
    "CTranslate2, tiny, two prompts": "needs the multilingual tiny, which no package of a registry that we know has as weights",
    "CTranslate2, encoder output with a shorter audio context": "tests a call that returns the encoder's output, which Verity keeps inside",
    "CTranslate2, conversion copies tokenizer.json": "tests CTranslate2's converter; Verity reads checkpoints as they are",
    "transformers, tiny.en, batch, recordings 3 and 4": "their sound is not in the repository: Verity's batch has the other two of four, and rows do not depend on one another",
    "transformers, tiny.en, long forms (test_whisper_longform_…)": "their sound is in data sets of Hugging Face's hub, librispeech_asr_dummy joined and meanwhile, which no package carries",
    "transformers, large and multilingual cases": "need weights of several gigabytes or recordings of Common Voice and Multilingual LibriSpeech",
}


def run(env):
    mel = env.bridge()("logmel", path=sound(env, QUILTER), bins=80)
    got = mel["data"][:30]
    worst = max(abs(g - w) for g, w in zip(got, LOG_MEL))
    cases = [{"case": "transformers, shape of features", "ok": (mel["bins"], mel["frames"]) == (80, 3000), "reason": f"{mel['bins']} by {mel['frames']}"},
             {"case": "transformers, features of recording 1", "ok": worst <= 1e-4, "reason": f"differs by {worst}"}]
    cases += [{"case": name, "ok": None, "reason": reason} for name, reason in ELSEWHERE.items()]
    model = env.model("tiny.en")
    names = [*TEXTS, *("no-speech probability of " + n for n in NO_SPEECH), *TOKENS]
    if not model:
        return cases + [{"case": n, "ok": None, "reason": "needs real weights in $VERITY_PROOF_MODELS/tiny.en"} for n in names]
    for name, (file, options, want) in TEXTS.items():
        found = transcript(env, model, file, options)
        cases.append(equal(name, found["text"], want))
        if name in NO_SPEECH:
            want, tolerance = NO_SPEECH[name]
            got = found["segments"][0]["no_speech_prob"]
            cases.append({"case": "no-speech probability of " + name, "ok": abs(got - want) <= tolerance, "reason": f"got {got}, want {want} within {tolerance}"})
    for name, (file, options, want) in TOKENS.items():
        found = transcript(env, model, file, ("--without-timestamps", *options))
        cases.append(equal(name, found["segments"][0]["tokens"][:len(want)], want))
    return cases


def sound(env, file):
    return str(env.root / "model/base" / file)


def transcript(env, model, file, options):
    command = [env.verity, "transcribe", "--quiet", "--model", model, "--language", "en", "--output-format", "json", *UPSTREAM, *options, sound(env, file)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def equal(name, got, want):
    return {"case": name, "ok": got == want, "reason": f"got {got!r}, want {want!r}"}

"""Error rates: jiwer's own tests, and what jiwer, werpy and two normalizers say about Verity's outputs."""
import importlib.util
import json
import random
import subprocess
import sys

TITLE = "word and character error rates"
BY = "them"
VERSION = "jiwer 4.0.0"
NEEDS_QUICK = ["jiwer==4.0.0", "pytest==9.0.2", "regex==2026.11.19", "more-itertools==11.2.1"]
NEEDS = NEEDS_QUICK + ["werpy==3.5.0"]
QUICK = True
LIMIT = 900

NOT_APPLICABLE = {
    "test_transforms": "tests jiwer's text transforms, which Verity does not have: it has normalizers, compared below",
    "test_speed": "times jiwer, and tests no result",
}


def run(env):
    return own_tests(env) + outputs(env)


def own_tests(env):
    source = env.sdist("jiwer==4.0.0")
    slow = {"test_large_vocab": "takes a minute, so only make proof runs it"} if env.quick else {}
    return env.pytest(source / "tests", plugin="verity_jiwer", not_applicable=NOT_APPLICABLE | slow, of="jiwer 4.0.0, its own tests")


def package(path, name):
    """Imports a package from its directory."""
    spec = importlib.util.spec_from_file_location(name, path / "__init__.py", submodule_search_locations=[str(path)])
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def outputs(env):
    """Scores what Verity recognizes, and the same texts with random errors, by Verity and by others."""
    upstream = package(env.sdist("openai-whisper==20250625") / "whisper" / "normalizers", "upstream_normalizers")
    normalizers = {"openai-whisper 20250625, normalizer": (upstream.EnglishTextNormalizer(), "english"),
                   "openai-whisper 20250625, basic normalizer": (upstream.BasicTextNormalizer(), "basic")}
    out = env.work / "out"
    rows, report = evaluate(env, out)
    cases = []
    for name, (normal, ours) in normalizers.items():
        texts = [t for row in rows for t in row] + damaged([t for row in rows for t in row], 200 if env.quick else 2000)
        got = env.bridge()("normalize", name=ours, texts=texts)["texts"]
        cases += [case(f"text {i}", g == normal(t), f"{t!r}: got {g!r}, want {normal(t)!r}", name) for i, (t, g) in enumerate(zip(texts, got))]
    english = normalizers["openai-whisper 20250625, normalizer"][0]
    cases += rates(env, out, rows, english, "english", report)
    leaderboard = env.source("open_asr_leaderboard")
    of = "open_asr_leaderboard's normalizer, jiwer 4.0.0"
    if leaderboard:
        normal = package(leaderboard / "normalizer", "leaderboard_normalizer").EnglishTextNormalizer()
        cases += rates(env, out, rows, normal, None, None, of)
    else:
        cases.append(env.missing(of, env.quick_or("needs a clone of huggingface/open_asr_leaderboard in $VERITY_PROOF_SOURCES")))
    return cases


def case(name, ok, reason, of):
    return {"case": name, "ok": bool(ok), "reason": "" if ok else reason, "of": of}


def evaluate(env, out):
    """Runs eval and returns pairs of reference and hypothesis, and its report."""
    dataset, limit = env.root / "model/base/librispeech/manifest.jsonl", "2" if env.quick else "0"
    if env.shared and not env.quick:
        dataset, limit = env.shared / "librispeech" / "LibriSpeech", "30"
    done = subprocess.run([env.verity, "eval", "--quiet", "--json", "--dataset", dataset, "--limit", limit, "--out", out],
                          check=True, capture_output=True, text=True)
    rows = [json.loads(line) for line in (out / "records.jsonl").read_text(encoding="utf8").splitlines()]
    return [(r["reference"], r["hypothesis"]) for r in rows if "hypothesis" in r], json.loads(done.stdout)


def damaged(texts, n):
    """Makes texts with what normalizers change: numbers, money, contractions, British spelling, symbols."""
    rng = random.Random(46)
    pool = ("twenty one", "$2.50", "won't", "colour", "3rd", "Mr.", "[noise]", "(uh)", "um", "one hundred and five", "50%", "naïve", "don't",
            "double oh seven", "£20 million", "it's", "grey", "1,234", "two and a half", "point five", "nineteen ninety nine", "œuvre", "—", "ﬁ")
    made = []
    for _ in range(n):
        words = rng.choice(texts).split()
        for _ in range(rng.randrange(1, 4)):
            words.insert(rng.randrange(len(words) + 1), rng.choice(pool))
        made.append(" ".join(words))
    return made


def rates(env, out, rows, normal, name, report, of="jiwer 4.0.0 on eval's texts"):
    """Compares counts and rates of eval's texts, and of the same with random errors, in sets of 1 to 20."""
    import jiwer
    pairs = [(normal(r), normal(h)) for r, h in rows]
    cases = []
    if report:
        words = jiwer.process_words(*map(list, zip(*pairs)))
        chars = jiwer.process_characters(*map(list, zip(*pairs)))
        want = {"hits": words.hits, "substitutions": words.substitutions, "deletions": words.deletions, "insertions": words.insertions,
                "wer": words.wer, "mer": words.mer, "wil": words.wil, "cer": chars.cer}
        cases += [case(f"eval's {k}", report[k] == v, f"got {report[k]!r}, want {v!r}", of) for k, v in want.items()]
    if report is None:  # the rates of eval with another's normalizer: report counts texts as they are
        cases.append(reported(env, out, normal, pairs, of))
    rng = random.Random(4646)
    for n in range(20 if env.quick else 200):
        some = [(r, edited(rng, h)) for r, h in rng.choices(pairs, k=rng.randrange(1, 20))]
        ref, hyp = map(list, zip(*some))
        got = env.bridge()("score", ref=ref, hyp=hyp)
        w, c = jiwer.process_words(ref, hyp), jiwer.process_characters(ref, hyp)
        want = (w.wer, w.mer, w.wil, w.wip, c.cer, c.hits, c.substitutions, c.deletions, c.insertions)
        ours = (*(got["words"][k] for k in ("rate", "mer", "wil", "wip")), *(got["chars"][k] for k in ("rate", "hits", "substitutions", "deletions", "insertions")))
        cases.append(case(f"set {n}", ours == want, f"got {ours}, want {want}", of))
        if not env.quick and name:
            import werpy
            want = werpy.wer(ref, hyp)
            cases.append(case(f"set {n}", round(got["words"]["rate"], 12) == round(float(want), 12), f"got {got['words']['rate']}, want {want}", "werpy 3.5.0"))
    return cases


def edited(rng, text):
    words = text.split()
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(words) + 1)
        words[at:at + rng.randrange(3)] = rng.choice([["one"], ["the", "the"], []])
    return " ".join(words)


def reported(env, out, normal, pairs, of):
    """Writes eval's records with normalized texts and lets verity report count them as they are."""
    import jiwer
    lines = []
    for line in (out / "records.jsonl").read_text(encoding="utf8").splitlines():
        record = json.loads(line)
        if "hypothesis" in record:
            record |= {"reference": normal(record["reference"]), "hypothesis": normal(record["hypothesis"])}
        lines.append(json.dumps(record))
    (env.work / "normal").mkdir()
    (env.work / "normal" / "records.jsonl").write_text("\n".join(lines) + "\n", encoding="utf8")
    done = subprocess.run([env.verity, "report", "--json", "--normalizer", "none", env.work / "normal"], capture_output=True, text=True)
    want = jiwer.wer(*map(list, zip(*pairs)))
    if done.returncode != 0:
        return case("eval's wer", False, done.stderr.strip(), of)
    got = json.loads(done.stdout)
    got = got[0] if isinstance(got, list) else got
    return case("eval's wer", got["wer"] == want, f"got {got['wer']!r}, want {want!r}", of)

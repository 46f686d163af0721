#!/usr/bin/env python3
"""Times verity beside faster-whisper, whisper.cpp and openvino-genai on the same recordings.

    python tools/bench-peers.py --verity bin/verity --dataset LibriSpeech/mini --limit 30 \\
        --model DIR --ct2 DIR --ggml FILE[,FILE] --whisper-cli FILE --openvino DIR[,DIR] --rounds 2

--model is the checkpoint for verity (Hugging Face layout), --ct2 the same weights for
faster-whisper (CTranslate2), --ggml the same for whisper.cpp, --openvino what optimum-cli
exports of them (--weight-format int4 or int8). An engine that is not named or not
installed is left out with a line that says so.

Every engine decodes greedily (beam 1) with its own fallback, reads the same files from
disk, and gets the same number of threads. Loading the model is not counted. Engines
take turns, --rounds times. --avx2 restricts all engines to AVX2, except whisper.cpp, whose
instructions are fixed when it is built. Word error rates use openai/whisper's English normaliser and
jiwer for all engines. Needs openai-whisper and jiwer; faster-whisper with --ct2.
Writes a Markdown table. Nothing else should run on the machine.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

# faster-whisper multiplies with oneDNN, or MKL on Intel's; openvino-genai with oneDNN.
AVX2 = {"VERITY_DISABLE": "avx512,avxvnni,amx", "CT2_FORCE_CPU_ISA": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}


def utterances(options):
    """Returns id, file and reference of the first recordings, by name."""
    rows = []
    for folder, _, names in sorted(os.walk(options.dataset)):
        for name in sorted(names):
            if not name.endswith(".trans.txt"):
                continue
            with open(os.path.join(folder, name), encoding="utf8") as lines:
                for line in lines:
                    key, _, text = line.strip().partition(" ")
                    rows.append((key, os.path.join(folder, key + ".flac"), text))
    rows.sort()
    step = max(1, len(rows) // options.limit)
    return rows[::step][: options.limit]


def quantised(options, rows, directory):
    return verity(options, rows, "auto", directory)


def verity(options, rows, precision, model=None):
    """Runs verity eval on a manifest of the recordings."""
    with tempfile.TemporaryDirectory() as work:
        manifest = os.path.join(work, "rows.jsonl")
        with open(manifest, "w", encoding="utf8") as out:
            for key, path, text in rows:
                print(json.dumps({"id": key, "audio": os.path.abspath(path), "text": text}), file=out)
        command = [options.verity, "eval", "--quiet", "--json", "--dataset", manifest, "--model", model or options.model,
                   "--precision", precision, "--out", work + "/out", "--language", "en",
                   "--threads", str(options.threads)]
        report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        texts = {}
        with open(work + "/out/records.jsonl", encoding="utf8") as lines:
            for line in lines:
                record = json.loads(line)
                texts[record["id"]] = record["hypothesis"]
    return report["elapsed_seconds"], texts


def faster_whisper(options, rows, precision):
    from faster_whisper import WhisperModel
    model = WhisperModel(options.ct2, device="cpu", compute_type=precision, cpu_threads=options.threads)

    def text(path):
        segments, _ = model.transcribe(path, language="en", beam_size=1)
        return "".join(segment.text for segment in segments)

    text(rows[0][1])  # warm-up
    begin = time.perf_counter()
    texts = {key: text(path) for key, path, _ in rows}
    return time.perf_counter() - begin, texts


def whisper_cpp(options, rows, model):
    """Runs whisper-cli once over all files and takes off the time it says loading took."""
    with tempfile.TemporaryDirectory() as work:
        command = [options.whisper_cli, "-m", model, "-t", str(options.threads), "-bs", "1", "-bo", "1", "-l", "en",
                   "-otxt"]
        for key, path, _ in rows:
            command += ["-f", path, "-of", os.path.join(work, key)]
        begin = time.perf_counter()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        seconds = time.perf_counter() - begin
        load = re.search(r"load time\s*=\s*([\d.]+) ms", done.stderr)
        texts = {}
        for key, _, _ in rows:
            with open(os.path.join(work, key + ".txt"), encoding="utf8") as lines:
                texts[key] = " ".join(line.strip() for line in lines)
    return seconds - float(load.group(1)) / 1000, texts


def openvino(options, rows, directory):
    import openvino_genai
    import whisper.audio
    properties = {"INFERENCE_NUM_THREADS": options.threads}
    if options.avx2:
        # What the plugin itself comes to on such a processor; here it would take bfloat16, and bytes for
        # activations, by cpuid, and then find no kernel.
        properties.update(INFERENCE_PRECISION_HINT="f32", DYNAMIC_QUANTIZATION_GROUP_SIZE="0")
    pipeline = openvino_genai.WhisperPipeline(directory, "CPU", **properties)

    def text(path):
        return str(pipeline.generate(whisper.audio.load_audio(path).tolist(), language="<|en|>", task="transcribe"))

    text(rows[0][1])  # warm-up
    begin = time.perf_counter()
    texts = {key: text(path) for key, path, _ in rows}
    return time.perf_counter() - begin, texts


def score(rows, texts):
    import jiwer
    from whisper.normalizers import EnglishTextNormalizer
    normal = EnglishTextNormalizer()
    out = jiwer.process_words([normal(text) for _, _, text in rows], [normal(texts[row[0]]) for row in rows])
    return 100 * out.wer


def engines(options):
    for precision in filter(None, options.precisions.split(",")):
        yield f"verity, {precision}", verity, precision
    for directory in filter(None, options.quantised.split(",")):
        yield f"verity, {os.path.basename(directory)}", quantised, directory
    if options.ct2:
        for precision in options.ct2_precisions.split(","):
            yield f"faster-whisper, {precision}", faster_whisper, precision
    for model in filter(None, options.ggml.split(",")):
        yield f"whisper.cpp, {os.path.basename(model)}", whisper_cpp, model
    for directory in filter(None, options.openvino.split(",")):
        yield f"openvino-genai, {os.path.basename(directory)}", openvino, directory


def cpu_seconds():
    """Returns CPU seconds of the whole machine, and of this process and its children."""
    try:
        with open("/proc/stat", encoding="ascii") as lines:
            fields = [int(field) for field in lines.readline().split()[1:9]]
    except OSError:
        return 0, 0
    busy = sum(fields) - fields[3] - fields[4]  # less idle and waiting for disks
    times = os.times()
    return busy / os.sysconf("SC_CLK_TCK"), times.user + times.system + times.children_user + times.children_system


def audio_seconds(rows):
    import whisper.audio
    return sum(len(whisper.audio.load_audio(path)) for _, path, _ in rows) / whisper.audio.SAMPLE_RATE


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verity", default="bin/verity")
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--limit", type=int, default=30, help="recordings, evenly spaced")
    parser.add_argument("--model", required=True)
    parser.add_argument("--precisions", default="int8,f16")
    parser.add_argument("--quantised", default="", help="directories that verity quantize wrote of the same weights")
    parser.add_argument("--ct2", default="")
    parser.add_argument("--ct2-precisions", default="int8")
    parser.add_argument("--ggml", default="")
    parser.add_argument("--whisper-cli", default="whisper-cli")
    parser.add_argument("--openvino", default="")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--avx2", action="store_true", help="as on a processor with AVX2 alone")
    options = parser.parse_args()
    if options.avx2:
        os.environ.update(AVX2)
    rows = utterances(options)
    seconds = audio_seconds(rows)
    taken, rates = {}, {}
    for number in range(options.rounds):
        for name, run, what in engines(options):
            all_before, own_before = cpu_seconds()
            try:
                time_taken, texts = run(options, rows, what)
            except (ImportError, FileNotFoundError) as reason:
                print(f"*** SKIPPED: {name}: {reason} ***", file=sys.stderr)
                continue
            everything, own = cpu_seconds()
            others = everything - all_before - (own - own_before)
            taken.setdefault(name, []).append(time_taken)
            rates[name] = score(rows, texts)
            print(f"round {number + 1}, {name}: {time_taken:.2f} s, {rates[name]:.2f} %; "
                  f"others used {others:.1f} CPU seconds meanwhile", file=sys.stderr)
    words = sum(len(text.split()) for _, _, text in rows)
    print(f"{len(rows)} recordings, {seconds:.0f} s of speech, {words} words, {options.threads} threads\n")
    print("| engine | seconds | × real time | word error rate |\n|---|---|---|---|")
    for name, runs in sorted(taken.items(), key=lambda item: min(item[1])):
        each = ", ".join(f"{s:.1f}" for s in runs)
        print(f"| {name} | {each} | {seconds * len(runs) / sum(runs):.1f} | {rates[name]:.2f} % |")


if __name__ == "__main__":
    main()

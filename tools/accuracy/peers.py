"""Transcribes files with another program and its defaults, and prints a line of JSON for each.

    python peers.py faster-whisper MODEL MULTILINGUAL FILE…    int8, weights of CTranslate2
    python peers.py openai-whisper base.pt MULTILINGUAL FILE…  float32
    python peers.py whisper.cpp FORMAT MULTILINGUAL FILE…      such as q8_0

More may follow the name of a program: "whisper.cpp f16". Each runs on one thread. Languages are detected. openai-whisper
has the defaults of its command, not of its function in Python: so all three search five sequences.
`make bench-peers PEERS="--rounds 0"` prepares all three, in bin/peers.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

engine, weights, multilingual, *files = sys.argv[1:]
if engine.startswith("faster-whisper"):
    from faster_whisper import WhisperModel
    model = WhisperModel(weights, device="cpu", compute_type="int8", cpu_threads=1)

    def text(file):
        return "".join(s.text for s in model.transcribe(file, multilingual=multilingual == "true")[0])
elif engine.startswith("openai-whisper"):
    import torch
    import whisper
    torch.set_num_threads(1)
    model = whisper.load_model(weights, device="cpu")

    def text(file):
        return model.transcribe(file, fp16=False, beam_size=5, best_of=5)["text"]
else:
    peers = pathlib.Path(__file__).resolve().parents[2] / "bin/peers"
    [cli] = peers.glob("src/*/whisper.cpp/build/bin/whisper-cli")
    weights = peers / f"models/ggml-base-{weights}.bin"
    work = pathlib.Path(tempfile.mkdtemp())

    def text(file):
        subprocess.run([cli, "-m", weights, "-t", "1", "-l", "auto", "-np", "-otxt", "-of", work / "text", "-f", file], check=True, stdout=subprocess.DEVNULL)
        return " ".join((work / "text.txt").read_text(encoding="utf8", errors="replace").split())

for file in files:
    print(json.dumps({"text": text(file)}), flush=True)

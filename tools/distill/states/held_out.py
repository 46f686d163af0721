"""Windows of held-out speakers, each recording alone, with the text that base wrote. python held_out.py FOLDER"""
import json, os
from pathlib import Path
import torch, soundfile, whisper, numpy as np
import expand, windows
E = windows.HERE / "eval"; E.mkdir(exist_ok=True)
model = expand.load(windows.MODEL); model.model.decoder.config._attn_implementation = "eager"
for p in sorted(Path(__import__("sys").argv[1]).rglob("*.flac")):
    j, out = windows.HERE / "evaljson" / (p.stem + ".json"), E / (p.stem + ".pt")
    if not j.exists() or out.exists(): continue
    x, _ = soundfile.read(p, dtype="float32")
    segs = json.load(open(j))["segments"]
    if len(x) > 480000 or any(s["seek"] for s in segs): continue
    tokens = [windows.SOT, windows.EN, windows.TR] + [t for s in segs for t in s["tokens"]] + [windows.END]
    d = windows.teach(model, whisper.log_mel_spectrogram(whisper.pad_or_trim(torch.from_numpy(x))), tokens, 3, windows.G["suppress_tokens"])
    d["seconds"] = len(x) / 16000
    torch.save(d, out)
    said = d["tokens"][3:]
    print(p.stem, len(tokens), (d["top_i"][:, 0] == said).float().mean().item(), flush=True)

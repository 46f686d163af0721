"""Loads a planted pair (verity synth) in transformers and checks what it says.

  verity synth --size tiny --alpha 0.8 --out DIR
  python planted_check.py DIR

Nothing is written; a difference is an error.
"""
import json
import sys
from pathlib import Path

import torch
from transformers import WhisperFeatureExtractor, WhisperForConditionalGeneration

out = Path(sys.argv[1])
torch.manual_seed(0)
proc = WhisperFeatureExtractor.from_pretrained(out / "target")
target, small = (WhisperForConditionalGeneration.from_pretrained(out / name, dtype=torch.float32).eval() for name in ("target", "assistant"))
multilingual = target.generation_config.is_multilingual
plant = json.loads((out / "target/config.json").read_text())["verity_planted"]


def planted(m):
    """The choice at each position, from the embeddings alone."""
    d = m.model.decoder
    return (d.embed_positions.weight.float() @ d.embed_tokens.weight.float().T).argmax(-1).tolist()


def said(m, **more):
    noise = torch.randn(160000).numpy()
    x = proc(noise, sampling_rate=16000, return_tensors="pt").input_features
    task = {"task": "transcribe"} if multilingual else {}
    return m.generate(x, return_timestamps=True, do_sample=False, **task, **more)[0].tolist()


first = 2 if multilingual else 0
want = planted(target)[first:first + plant["tokens"]]
ids = target.generation_config
special = range(ids.eos_token_id, ids.no_timestamps_token_id + 1)  # timestamps are not among them
got = [t for t in said(target) if t not in special]
assert got == want, f"transformers says {got}\nplanted was {want}"
same = sum(a == b for a, b in zip(want, planted(small)[first:]))
print(f"transformers says the {len(want)} planted tokens; the assistant's own are the same in {same} places")

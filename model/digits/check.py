"""Checks that the exported checkpoint is what transformers takes it for.

Logits of our network equal WhisperForConditionalGeneration's, features equal
WhisperFeatureExtractor's, the tokenizer's two forms agree, and everything fits in 8 MB.

  python check.py --full /tmp/assistant
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import torch
from transformers import WhisperFeatureExtractor, WhisperForConditionalGeneration, WhisperTokenizer, WhisperTokenizerFast

import decode
import export
import strings
import vocab as V


def same_logits(folder, mel):
    theirs = WhisperForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()
    ours = export.read(folder)
    rng = np.random.default_rng(0)
    tokens = torch.tensor([[*decode.head(False), *rng.integers(V.DIGIT, V.DIGIT + 10, 20)]] * len(mel))
    with torch.no_grad():
        d = (ours(mel, tokens) - theirs(input_features=mel, decoder_input_ids=tokens).logits).abs().max().item()
    print(f"{folder}: logits differ by {d:.2g}")
    assert d < 1e-3
    return ours, theirs


def same_text(ours, theirs, mel):
    made = theirs.generate(mel, language="en", task="transcribe", max_new_tokens=strings.MOST).tolist()
    with torch.no_grad():
        audio = ours.encoder(mel, torch.float32)
    for row, r in zip(made, decode.greedy(ours, audio, False)):
        text = [t for t in row if V.DIGIT <= t < V.DIGIT + 10]
        assert text == [t for t in r.tokens if t < V.EOT], (text, r.tokens)
    print(f"generate agrees on {len(made)} windows")


def tokenizers(folder):
    fast = WhisperTokenizerFast.from_pretrained(folder)
    with tempfile.TemporaryDirectory() as d:
        for name in ("vocab.json", "merges.txt", "added_tokens.json", "tokenizer_config.json", "special_tokens_map.json"):
            (Path(d) / name).write_bytes((folder / name).read_bytes())
        slow = WhisperTokenizer.from_pretrained(d)
    for text in (" one two three", " zero nine", "seven, Größe 7", ""):
        for t in (fast, slow):
            ids = t(text, add_special_tokens=False).input_ids
            assert t.decode(ids) == text, (text, ids)
            assert ids == fast(text, add_special_tokens=False).input_ids
    assert fast(" one two", add_special_tokens=False).input_ids == [V.DIGIT + 1, V.DIGIT + 2]
    assert fast.convert_tokens_to_ids("<|8.00|>") == V.SIZE - 1 and fast.convert_tokens_to_ids("<|nospeech|>") == V.NOSPEECH


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--model", default=export.HERE, type=Path)
    a.add_argument("--full", type=Path, help="folder written by export.py --full")
    args = a.parse_args()
    target = args.model / "target"
    wave = np.random.default_rng(1).normal(size=(4, V.WINDOW * 16000)).astype(np.float32) * 0.01
    wave[:, 40000:] *= np.array([0, 0.1, 1, 5])[:, None].astype(np.float32)
    mel = strings.log_mel(strings.power(torch.tensor(wave[:1]))).transpose(1, 2)
    extractor = WhisperFeatureExtractor.from_pretrained(target)
    theirs = extractor(wave[0], sampling_rate=16000, return_tensors="pt").input_features
    assert theirs.shape == (1, 80, V.WINDOW * 100) and (theirs - mel).abs().max() < 1e-4
    mel = strings.log_mel(strings.power(torch.tensor(wave))).transpose(1, 2)
    same_text(*same_logits(target, mel), mel)
    if args.full:
        same_logits(args.full, mel)
    tokenizers(target)
    size = sum(f.stat().st_size for d in ("target", "assistant") for f in (args.model / d).iterdir())
    assert size <= 8e6, size
    print(f"{size} bytes")


if __name__ == "__main__":
    main()

"""Smoke test of distill.py on a tiny random Whisper: runs, learns, goes on exactly, and writes what it says.

  python smoke.py
"""

import json
import tempfile
from pathlib import Path

import numpy as np
import soundfile
import torch
from safetensors.torch import load_file
from transformers import WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration

import distill


def tiny(folder):
    """A random checkpoint of 3 decoder layers, 2 s windows and 40 tokens."""
    torch.manual_seed(0)
    config = WhisperConfig(vocab_size=40, d_model=16, encoder_layers=1, decoder_layers=3, encoder_attention_heads=2, decoder_attention_heads=2,
                           encoder_ffn_dim=32, decoder_ffn_dim=32, max_source_positions=100, max_target_positions=24, num_mel_bins=80,
                           eos_token_id=30, bos_token_id=30, pad_token_id=30, decoder_start_token_id=31, suppress_tokens=[31])
    model = WhisperForConditionalGeneration(config)
    for p in model.parameters():
        p.data += 0.1 * torch.randn_like(p)
    model.half().save_pretrained(folder)
    (folder / "generation_config.json").write_text(json.dumps({
        "no_timestamps_token_id": 34, "lang_to_id": {"<|en|>": 32}, "task_to_id": {"transcribe": 33}, "eos_token_id": 30, "decoder_start_token_id": 31,
        "alignment_heads": [[0, 1], [2, 0]], "suppress_tokens": [31, 32, 33, 34], "begin_suppress_tokens": [30]}))
    WhisperFeatureExtractor(chunk_length=2).save_pretrained(folder)


def recordings(folder):
    rng = np.random.default_rng(0)
    rows = []
    for i in range(6):
        soundfile.write(folder / f"{i}.wav", rng.normal(size=8000 * (i + 1)) * 0.05, 8000)
        rows.append(json.dumps({"audio_filepath": f"{i}.wav"}))
    (folder / "manifest.jsonl").write_text("\n".join(rows))


def main():
    assert distill.spaced(1, 4) == [3] and distill.spaced(2, 32) == [0, 31] and distill.spaced(3, 32) == [0, 16, 31]
    with tempfile.TemporaryDirectory() as d:
        d = Path(d)
        tiny(d / "target")
        recordings(d)
        common = ["--target", str(d / "target"), "--manifest", str(d / "manifest.jsonl"), "--steps", "30", "--batch", "4",
                  "--rate", "3e-3", "--warmup", "2", "--log", "10", "--device", "cpu"]
        distill.main([*common, "--out", str(d / "whole"), "--full", str(d / "full"), "--save", "100"])
        interrupted(d, common)
        a, b = load_file(d / "whole/model.safetensors"), load_file(d / "parts/model.safetensors")
        assert all(torch.equal(a[k], b[k]) for k in a), "going on differs from going through"
        assert all(k.startswith("model.decoder.") for k in a) and not any(k.startswith("model.decoder.layers.2") for k in a)
        assert a["model.decoder.embed_tokens.weight"].dtype == torch.float16
        full = WhisperForConditionalGeneration.from_pretrained(d / "full")
        target = WhisperForConditionalGeneration.from_pretrained(d / "target")
        assert full.config.decoder_layers == 2 and full.generation_config.alignment_heads == [[0, 1], [1, 0]]
        for (name, p), q in zip(full.model.encoder.named_parameters(), target.model.encoder.parameters()):
            assert torch.equal(p, q), name
    print("ok")


def interrupted(d, common):
    """Runs the same training, stopped once in the middle by a full disk, as it were."""
    write, calls = torch.save, []

    def fail_later(*args):
        write(*args)
        calls.append(args)
        if len(calls) == 11:
            raise OSError("stopped")

    torch.save = fail_later
    try:
        distill.main([*common, "--out", str(d / "parts"), "--save", "0"])
        raise AssertionError("was to be stopped")
    except OSError:
        pass
    finally:
        torch.save = write
    distill.main([*common, "--out", str(d / "parts"), "--save", "100"])


if __name__ == "__main__":
    main()

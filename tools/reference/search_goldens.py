"""Goldens of beam search: openai-whisper's own, over the networks of model_goldens.py.

Each row of decoder/testdata/search.json is one decoding of the window rule.mel(spec):
its options, tokens and mean log-probability. A search has no margins, so a row counts
only if it stays the same when the input moves by the drift of the mel.
"""

import json
import sys

import numpy as np
import torch
import whisper
import whisper.decoding

import model_goldens
import rule

OUT = rule.ROOT / "decoder/testdata/search.json"
OPTIONS = [
    dict(beam_size=2), dict(beam_size=3, length_penalty=0.0), dict(beam_size=5), dict(beam_size=5, patience=2.0),
    dict(beam_size=5, patience=0.5, length_penalty=1.0), dict(beam_size=4, length_penalty=0.6, without_timestamps=True),
    dict(beam_size=3, sample_len=7), dict(beam_size=2, patience=1.3, prompt=[1000 + 7 * i for i in range(12)]),
    dict(beam_size=3, prefix=[1000 + 7 * i for i in range(5)]),
]


def decode(net, mel, **options):
    options = whisper.DecodingOptions(fp16=False, temperature=0.0, **options)
    return whisper.decode(net, torch.from_numpy(mel), options), whisper.decoding.DecodingTask(net, options).initial_tokens


def rows(name):
    spec = rule.SPECS[name]
    net = model_goldens.openai_model(spec, rule.state_dict(spec, model_goldens.shapes_of(spec)))
    # A timestamp is 0.02 s in any window; upstream would divide 30 s by the positions.
    whisper.decoding.CHUNK_LENGTH = net.dims.n_audio_ctx * 0.02
    mel, rng = rule.mel(spec), np.random.default_rng(1)
    for o in OPTIONS:
        options = dict(o, language="de" if net.is_multilingual else "en")
        r, initial = decode(net, mel, **options)
        stable = all(
            decode(net, mel + rng.uniform(-1e-5, 1e-5, mel.shape).astype(np.float32), **options)[0].tokens == r.tokens
            for _ in range(2))
        yield {"spec": name, "options": o, "initial": list(initial), "tokens": r.tokens,
               "avg_logprob": model_goldens.f32(r.avg_logprob), "stable": stable}


def main():
    torch.set_num_threads(1)
    found = [row for name in sys.argv[1:] or ["odd", "english", "sharded", "multi"] if name in rule.SPECS for row in rows(name)]
    head = {"source": model_goldens.SOURCE.replace("model_goldens", "search_goldens")}
    OUT.write_text("\n".join(json.dumps(x, separators=(",", ":")) for x in [head, *found]) + "\n")
    print(f"{len(found)} rows, {sum(r['stable'] for r in found)} stable")


if __name__ == "__main__":
    main()

"""Goldens of shorter encoder contexts: openai-whisper's encoder with its table of positions cut.

Each row of encoder/testdata/context.jsonl is a test checkpoint, a number of positions n, and the
features of the first 2n frames of rule.mel at a few positions.
"""

import json

import torch

import model_goldens
import rule

OUT = rule.ROOT / "encoder/testdata/context.jsonl"
CONTEXTS = {"odd": [1, 37, 149], "english": [64, 250], "sharded": [5]}


@torch.no_grad()
def rows(name):
    spec = rule.SPECS[name]
    net = model_goldens.openai_model(spec, rule.state_dict(spec, model_goldens.shapes_of(spec)))
    table, mel = net.encoder.positional_embedding, torch.from_numpy(rule.mel(spec))
    for n in CONTEXTS[name]:
        net.encoder.positional_embedding = table[:n]
        features = net.encoder(mel[None, :, :2 * n])[0]
        at = sorted({0, n // 2, n - 1})
        yield {"spec": name, "context": n, "positions": at,
               "features": [[model_goldens.f32(x) for x in features[p].tolist()] for p in at]}


def main():
    torch.set_num_threads(1)
    head = {"source": model_goldens.SOURCE.replace("model_goldens", "context_goldens")}
    found = [head, *(r for name in CONTEXTS for r in rows(name))]
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text("".join(json.dumps(x, separators=(",", ":")) + "\n" for x in found))


if __name__ == "__main__":
    main()

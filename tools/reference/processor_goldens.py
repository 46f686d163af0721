"""Write the goldens of decoder's Repetition, TopK and TopP with transformers' own processors.

    python tools/reference/processor_goldens.py

Pinned: transformers 5.23.0, torch 2.15 (Apache-2.0, BSD). Writes decoder/testdata/processors.jsonl: a header, then
one case a line: what was asked, the tokens before the place (begin of them the prompt), logits, and what the
processors leave of these; null is -Inf. Cases whose top-p stands within 1e-4 of a sum of probabilities are not written.
"""

import importlib.metadata
import json
import math
import pathlib
import random

import torch
from transformers.generation import logits_process as lp

OUT = pathlib.Path(__file__).resolve().parents[2] / "decoder" / "testdata" / "processors.jsonl"
VOCAB, EOT = 24, 20
rng = random.Random(5)


def processors(o, begin):
    """In the order of GenerationMixin._get_logits_processor."""
    if "penalty" in o:
        yield lp.RepetitionPenaltyLogitsProcessor(o["penalty"])
    if "no_repeat" in o:
        yield lp.NoRepeatNGramLogitsProcessor(o["no_repeat"])
    if "min_tokens" in o:
        yield lp.MinNewTokensLengthLogitsProcessor(begin, o["min_tokens"], EOT)
    if "temperature" in o:
        yield lp.TemperatureLogitsWarper(o["temperature"])
    if "top_k" in o:
        yield lp.TopKLogitsWarper(o["top_k"])
    if "top_p" in o:
        yield lp.TopPLogitsWarper(o["top_p"])


def doubtful(o, logits):
    """Whether rounding decides what top-p leaves."""
    if "top_p" not in o:
        return False
    x = torch.tensor(logits, dtype=torch.float64) / o["temperature"]
    p = x.sort(descending=True).values[: o.get("top_k", VOCAB)].softmax(0).cumsum(0)
    return bool(((p - o["top_p"]).abs() < 1e-4).any())


def case(o, begin, sampled, small):
    seen = [rng.randrange(small) for _ in range(begin + sampled)]
    logits = torch.tensor([rng.uniform(-4, 4) for _ in range(VOCAB)], dtype=torch.float32).tolist()
    if doubtful(o, logits):
        return None
    ids, scores = torch.tensor([seen], dtype=torch.long), torch.tensor([logits])
    for p in processors(o, begin):
        scores = p(ids, scores)
    want = [None if math.isinf(v) else v for v in scores[0].tolist()]
    return {"options": o, "begin": begin, "seen": seen, "logits": logits, "want": want}


def main():
    asked = [{"penalty": v} for v in (0.5, 1.2, 3.0)] + [{"no_repeat": n} for n in (1, 2, 3)] + [{"min_tokens": n} for n in (1, 4)]
    asked += [{"penalty": 1.3, "no_repeat": 2, "min_tokens": 5}]
    asked += [{"temperature": t} | o for t in (0.4, 1.0) for o in ({"top_k": 1}, {"top_k": 5}, {"top_p": 0.01}, {"top_p": 0.9}, {"top_k": 6, "top_p": 0.7})]
    head = {"source": "transformers " + importlib.metadata.version("transformers") + ", torch " + importlib.metadata.version("torch"),
            "command": "tools/reference/processor_goldens.py", "eot": EOT}
    cases = [case(o, begin, sampled, small) for o in asked for begin, sampled, small in ((1, 0, 24), (3, 2, 4), (4, 12, 5), (2, 30, 24))]
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text("".join(json.dumps(c) + "\n" for c in [head] + [c for c in cases if c]))


main()

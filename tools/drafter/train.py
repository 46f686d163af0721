"""Trains the head that drafts letters from the output of a Whisper encoder.

    python tools/drafter/train.py --features DIR --steps 2000 --out HEAD.pt

DIR holds pairs made by `go run ./tools/drafter`: NAME.f16, the encoder's output of a window
as binary16 [1500][width], and NAME.txt, what the model itself writes for it. Names that begin with
"test" or "dev" are only measured, never trained on. A step is a batch of windows. The learning rate depends on the
step alone, so the same pairs give the same head on any machine, up to the rounding of its arithmetic.

The loss is connectionist temporal classification (Graves et al. 2006). The layout of the network is
that of assistant/ctc/head.go.
"""

import argparse
import copy
import glob
import os
import random
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from safetensors.torch import load_file

SYMBOLS = " !',-.0123456789:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyzÄÖÜßàáäçèéêëíïóôöúü"
POSITIONS = 1500  # of a window
INDEX = {c: i + 1 for i, c in enumerate(SYMBOLS)}


class Block(nn.Module):
    def __init__(self, width, dropout):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.conv = nn.Conv1d(width, width, 5, padding=2)
        self.linear = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        y = F.gelu(self.conv(self.norm(x).transpose(1, 2))).transpose(1, 2)
        return x + self.dropout(self.linear(self.dropout(y)))


class Head(nn.Module):
    def __init__(self, features, width, blocks, dropout=0.1):
        super().__init__()
        self.norm_in = nn.LayerNorm(features)
        self.stem = nn.Conv1d(features, width, 3, stride=2, padding=1)
        self.blocks = nn.ModuleList([Block(width, dropout) for _ in range(blocks)])
        self.norm_out = nn.LayerNorm(width)
        self.out = nn.Linear(width, len(SYMBOLS) + 1)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = F.gelu(self.stem(self.dropout(self.norm_in(x)).transpose(1, 2))).transpose(1, 2)
        for block in self.blocks:
            x = block(x)
        return self.out(self.norm_out(x))


class Windows:
    """The pairs of a directory."""

    def __init__(self, directory):
        self.pairs = {}
        for path in sorted(glob.glob(os.path.join(directory, "*.f16"))):
            name = os.path.basename(path)[:-4]
            label = path[:-4] + ".txt"
            if not os.path.exists(label):
                continue
            text = " ".join(open(label, encoding="utf-8").read().split())
            features = torch.from_numpy(np.fromfile(path, dtype="<f2").reshape(POSITIONS, -1).copy())
            symbols = [INDEX[c] for c in text if c in INDEX]
            # A repeated symbol needs a blank between, and a loop of the decoder more frames than there are.
            need = len(symbols) + sum(a == b for a, b in zip(symbols, symbols[1:]))
            self.pairs[name] = (features, symbols, text, len(symbols) > 5 and need < len(features) // 2)

    def part(self, *begins):
        return [(n, *p) for n, p in sorted(self.pairs.items()) if n.startswith(begins)]

    def training(self):
        return [p for n, p in sorted(self.pairs.items()) if p[3] and not n.startswith(("test", "dev"))]


def masked(features, rng):
    """Hides up to eight spans of time and a band of features (SpecAugment, Park et al. 2019)."""
    x = features.float()
    for _ in range(8):
        n = rng.randint(0, 14)
        at = rng.randint(0, max(0, len(x) - n))
        x[at : at + n] = 0
    at = rng.randint(0, x.shape[1] - 12)
    x[:, at : at + 12] = 0
    return x


def load(path):
    """Returns the weights of a head: HEAD.pt, or head.safetensors as export.py writes it."""
    if not path.endswith(".safetensors"):
        return torch.load(path)
    stored, weights = load_file(path), {}
    for name in set(stored) - {"encoder_norm"}:
        value = stored[name]
        if name + ".scale" in stored:
            value = value * stored[name + ".scale"][:, None]
            taps = {"stem.weight": 3}.get(name, 5 if ".conv." in name else 0)
            if taps:
                value = value.reshape(len(value), taps, -1).transpose(1, 2).contiguous()
        if not name.endswith(".scale"):
            weights[name] = value
    return weights


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


def measure(head, windows):
    """Returns the word error rate of the best symbol of each frame against the model's own text."""
    head.eval()
    wrong = words = 0
    for _, features, _, text, _ in windows:
        with torch.no_grad():
            best = head(features.float()[None])[0].argmax(-1).tolist()
        spelt = "".join(SYMBOLS[c - 1] for c, before in zip(best, [0] + best) if c and c != before)
        wrong += distance(text.split(), spelt.split())
        words += len(text.split())
    head.train()
    return wrong / max(words, 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--features", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--width", type=int, default=192)
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--start", help="a head to continue from: HEAD.pt or head.safetensors")
    parser.add_argument("--share", type=float, default=1, help="of what is trained in the weights; the rest is START's")
    o = parser.parse_args()
    torch.manual_seed(0)
    rng = random.Random(0)
    torch.set_num_threads(2)
    windows = Windows(o.features)
    pairs = windows.training()
    if not pairs:
        parser.error(f"--features {o.features}: there is no pair NAME.f16, NAME.txt to train on")
    head = Head(next(iter(windows.pairs.values()))[0].shape[1], o.width, o.blocks)
    if o.start:
        head.load_state_dict(load(o.start))
    average = copy.deepcopy(head)  # of the weights of the last twentieth of the steps, about; it is what is kept
    optimizer = torch.optim.AdamW(head.parameters(), o.rate, weight_decay=0.02, betas=(0.9, 0.98))
    began, epoch, step = time.time(), 0, 0
    while step < o.steps:
        order = sorted(range(len(pairs)), key=lambda i: len(pairs[i][1]) + rng.random() * 200)
        batches = [order[i : i + o.batch] for i in range(0, len(order), o.batch)]
        rng.shuffle(batches)
        batches = batches[: o.steps - step]
        loss_sum = 0
        for batch in batches:
            share = step / o.steps
            warm = min(1, (share + 0.001) / 0.04)
            for group in optimizer.param_groups:
                group["lr"] = o.rate * warm * max(0.02, 0.5 * (1 + np.cos(np.pi * share)))
            x = torch.stack([masked(pairs[i][0], rng) for i in batch])
            log_probs = F.log_softmax(head(x), -1).transpose(0, 1)
            loss = F.ctc_loss(
                log_probs,
                torch.tensor([c for i in batch for c in pairs[i][1]]),
                torch.full((len(batch),), log_probs.shape[0]),
                torch.tensor([len(pairs[i][1]) for i in batch]),
            )
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(head.parameters(), 5.0)
            optimizer.step()
            step += 1
            with torch.no_grad():
                for a, w in zip(average.parameters(), head.parameters()):
                    a.lerp_(w, min(1, max(1 / step, 20 / o.steps)))
            loss_sum += loss.item()
        epoch += 1
        rates = ""
        if epoch % 2 == 0 or step == o.steps:
            rates = " ".join(f"{p} {measure(average, windows.part(p)):.3f}" for p in ("test", "dev-en", "dev-de", "dev-nl"))
        print(f"epoch {epoch}, step {step}: {len(pairs)} windows, loss {loss_sum / len(batches):.3f}, {time.time() - began:.0f} s; WER {rates}", flush=True)
        torch.save(average.state_dict(), o.out)
    if o.share < 1:
        before = load(o.start)
        torch.save({n: torch.lerp(before[n], w, o.share) for n, w in average.state_dict().items()}, o.out)


if __name__ == "__main__":
    main()

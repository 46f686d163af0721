"""Trains the demo model.

On a CPU: two processes of one thread each, gradients averaged (faster than one of two threads). On a GPU: one process,
batches made by worker processes. State is saved every few minutes; the same command goes on from
there. With --steps the result is a function of the seed alone; with --minutes the schedule follows the clock.

  python train.py --minutes 70 --work /tmp/demo
"""

import argparse
import math
import os
import tempfile
import time
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

import corpus
import strings
import vocab as V
from net import Whisper

SHAPE = V.config(width=160, heads=5, inner=640, layers=4, decoder_layers=4)
ROOT = Path(__file__).resolve().parents[2]


class Pupil(nn.Module):
    """The network, and a head on its encoder that names the digit of every frame, used in training only."""

    parts = ("text", "frames", "heads")

    def __init__(self):
        super().__init__()
        self.net = Whisper(SHAPE)
        self.head = nn.Linear(SHAPE["d_model"], strings.BLANK + 1)

    def curriculum(self, progress):
        return progress

    def losses(self, batch, targets):
        """Returns the means of: cross-entropy of tokens, of frames, and -log of the attention mass on what is to be heard."""
        audio = self.net.encoder(batch["mel"], torch.bfloat16)
        frames = F.cross_entropy(self.head(audio.float()).flatten(0, 1), batch["said"].flatten())
        logits, seen = self.net.decoder(batch["inputs"], self.net.decoder.cross(audio))
        asked = batch["rows"] != strings.IGNORED
        q = targets[batch["rows"][asked]]
        text = -(q * F.log_softmax(logits[asked], -1)).sum(-1).mean()
        look = batch["look"]
        known = look.any(-1)
        mass = [(seen[layer][:, head].float() * look).sum(-1)[known] for layer, head in V.ALIGNMENT_HEADS]
        heads = -torch.stack(mass).clamp(min=1e-4).log().mean()
        return text, frames, heads

    def weights(self, p):
        """Of the losses, at progress p: the helping ones fade."""
        return 1.0, 1 - 0.7 * p, 0.25 - 0.15 * p


def new_pupil(_):
    return Pupil()


def optimizer(pupil, rate):
    plain = [p for n, p in pupil.named_parameters() if p.requires_grad and p.ndim > 1 and "embed" not in n]
    bare = [p for n, p in pupil.named_parameters() if p.requires_grad and (p.ndim < 2 or "embed" in n)]
    groups = [{"params": plain, "weight_decay": 0.05}, {"params": bare, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), fused=True)


source = None  # of batches: one in each process that makes them


def open_source(args):
    global source
    torch.set_num_threads(1)
    source = strings.Strings(corpus.load(args.data, args.work, "train", args.voices, args.seed), args.seed)


def make(*args):
    return source.batch(*args)


def feed(args, rank, step, progress):
    """Yields batches from step on. progress is a function of the step; workers make batches ahead of time."""
    if not args.workers:
        open_source(args)
        while True:
            yield make(step, rank, progress(step), args.seconds)
            step += 1
    spawn = torch.multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(args.workers, spawn, open_source, (args,)) as pool:
        queue = deque()
        while True:
            while len(queue) < 4 * args.workers:
                queue.append(pool.submit(make, step, rank, progress(step), args.seconds))
                step += 1
            yield queue.popleft().result()


def average(parameters, ranks):
    flat = torch.cat([p.grad.flatten() for p in parameters])
    dist.all_reduce(flat)
    for p, g in zip(parameters, (flat / ranks).split([p.numel() for p in parameters])):
        p.grad.copy_(g.view_as(p))


def learnt(module):
    return [p for p in module.parameters() if p.requires_grad]


def train(rank, ranks, args, build):
    """Trains build(args), a Pupil or alike, and keeps its state in args.work/args.state."""
    if ranks > 1:
        dist.init_process_group("gloo", f"file://{args.meet}", rank=rank, world_size=ranks)
        torch.set_num_threads(1)
    device = torch.device(args.device)
    torch.manual_seed(args.seed)
    pupil = build(args).to(device)
    parameters = learnt(pupil)
    mean = [p.detach().clone() for p in parameters]  # exponential moving average: what is kept in the end
    opt = optimizer(pupil, args.rate)
    step, spent, state = 0, 0.0, Path(args.work) / args.state
    if state.exists():
        s = torch.load(state, map_location=device)
        pupil.load_state_dict(s["pupil"])
        opt.load_state_dict(s["opt"])
        torch._foreach_copy_(mean, s["mean"])
        step, spent = s["step"], s["spent"]
    targets = strings.soft_targets().to(device)
    began = time.time() - spent

    def progress(step):
        return min(1.0, step / args.steps if args.steps else (time.time() - began) / 60 / args.minutes)

    def share():  # of the training done so far, the same in every process
        p = torch.tensor(progress(step), dtype=torch.float64)
        if ranks > 1:
            dist.broadcast(p, 0)
        return p.item()

    def save():
        torch.save({"pupil": pupil.state_dict(), "opt": opt.state_dict(), "mean": mean,
                    "step": step, "spent": time.time() - began}, str(state) + ".new")
        os.replace(str(state) + ".new", state)

    saved, total, count = time.time(), 0, 0
    batches = feed(args, rank, step, lambda step: pupil.curriculum(progress(step)))
    while (p := share()) < 1:
        batch = {k: v.to(device) for k, v in next(batches).items()}
        losses = pupil.losses(batch, targets)
        opt.zero_grad()
        sum(w * x for w, x in zip(pupil.weights(p), losses)).backward()
        if ranks > 1:
            average(parameters, ranks)
        norm = nn.utils.clip_grad_norm_(parameters, 1.0)
        rate = args.rate * min(1, (step + 1) / 200) * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * p)))
        for group in opt.param_groups:
            group["lr"] = rate
        opt.step()
        step += 1
        torch._foreach_lerp_(mean, parameters, 1 - min(0.999, (1 + step) / (10 + step)))
        total += torch.stack([*losses, norm]).detach().cpu()
        count += len(batch["mel"]) * ranks
        if step % 100 == 0:
            if rank == 0:
                parts = " ".join(f"{k} {v:.4f}" for k, v in zip([*pupil.parts, "norm"], (total / 100).tolist()))
                print(f"step {step} min {(time.time() - began) / 60:.1f} lr {rate:.2e} {parts} strings {count}", flush=True)
            total, count = 0, 0
        if rank == 0 and time.time() - saved > 60 * args.save:
            save()
            saved = time.time()
    if rank == 0:
        save()


def arguments(doc, minutes, state):
    a = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--data", default=ROOT.parent / "shared/data/digits", type=Path, help="folder of the recordings")
    a.add_argument("--work", default=ROOT / "model/digits/run", type=Path, help="folder for caches and state")
    a.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    a.add_argument("--minutes", type=float, default=minutes, help="length of the schedule")
    a.add_argument("--steps", type=int, default=0, help="length in steps, in place of --minutes: exactly repeatable")
    a.add_argument("--seconds", type=float, default=40, help="of audio per batch and process; on a GPU take 400 or so")
    a.add_argument("--rate", type=float, default=1.5e-3, help="peak learning rate")
    a.add_argument("--voices", type=int, default=80, help="synthetic voices")
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--save", type=float, default=3, help="minutes between saves")
    a.add_argument("--workers", type=int, help="processes making batches; default: none on a CPU, else all cores but two")
    args = a.parse_args()
    args.state = state
    if args.workers is None:
        args.workers = 0 if args.device == "cpu" else max(1, (os.cpu_count() or 2) - 2)
    return args


def run(args, build):
    print(f"seed {args.seed} rate {args.rate} seconds {args.seconds} minutes {args.minutes} steps {args.steps} voices {args.voices} "
          f"torch {torch.__version__} device {args.device}", flush=True)
    corpus.load(args.data, args.work, "train", args.voices, args.seed)
    if args.device != "cpu":
        train(0, 1, args, build)
        return
    with tempfile.TemporaryDirectory() as folder:
        args.meet = folder + "/meet"
        torch.multiprocessing.spawn(train, (2, args, build), nprocs=2)


if __name__ == "__main__":
    run(arguments(__doc__, 70, "state.pt"), new_pupil)

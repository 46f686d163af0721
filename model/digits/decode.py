"""Greedy decoding with openai/whisper's rules (decoding.py and transcribe.py at c0d2f62), for scores."""

from dataclasses import dataclass

import torch

import strings
import vocab as V


@dataclass
class Result:
    tokens: list  # without end of text
    logprob: float  # mean per token, end of text counted
    no_speech: float

    @property
    def digits(self):
        return [t - V.DIGIT for t in self.tokens if V.DIGIT <= t < V.DIGIT + 10]


def timestamp_rules(row, seen):
    """ApplyTimestampRules of openai, on one row of logits."""
    last = bool(seen) and seen[-1] >= V.TIME
    before = len(seen) < 2 or seen[-2] >= V.TIME
    if last and before:
        row[V.TIME :] = -torch.inf
    elif last:
        row[: V.EOT] = -torch.inf
    stamps = [t for t in seen if t >= V.TIME]
    if stamps:
        row[V.TIME : stamps[-1] + (not last or before)] = -torch.inf
    if not seen:
        row[: V.TIME] = -torch.inf
        row[V.TIME + 51 :] = -torch.inf
    logp = row.log_softmax(-1)
    if logp[V.TIME :].logsumexp(-1) > logp[: V.TIME].max():
        row[: V.TIME] = -torch.inf


def head(times):
    return [V.SOT, V.EN, V.TRANSCRIBE] + ([] if times else [V.NOTIMES])


@torch.no_grad()
def greedy(net, audio, times, prompt=()):
    """Decodes windows from the encoder's output (B,T,D), all after the same prompt."""
    cross = net.decoder.cross(audio)
    start = [*prompt, *head(times)]
    tokens = torch.tensor([start] * len(audio))
    seen = [[] for _ in audio]
    total, done, no_speech = [0.0] * len(audio), [False] * len(audio), None
    for n in range(strings.MOST):
        logits = net.decoder(tokens, cross)[0]
        if n == 0:
            no_speech = logits[:, len(prompt)].softmax(-1)[:, V.NOSPEECH].tolist()
        logits = logits[:, -1]
        logits[:, V.SUPPRESS] = -torch.inf
        if n == 0:
            logits[:, [V.SPACE, V.EOT]] = -torch.inf
        if times:
            for row, s in zip(logits, seen):
                timestamp_rules(row, s)
        choice = logits.argmax(-1)
        logp = logits.log_softmax(-1)
        for b, t in enumerate(choice.tolist()):
            if not done[b]:
                total[b] += logp[b, t].item()
                done[b] = t == V.EOT
                seen[b] += [] if done[b] else [t]
        if all(done) or tokens.shape[1] == V.POSITIONS:
            break
        tokens = torch.cat([tokens, choice[:, None]], 1)
    return [Result(s, t / (len(s) + 1), p) for s, t, p in zip(seen, total, no_speech)]


def skipped(r):
    """openai's no-speech gate."""
    return r.no_speech > 0.6 and not r.logprob > -1.0


@torch.no_grad()
def transcribe(net, wave):
    """Sequential decoding of a long recording with timestamps and previous text; returns its digits."""
    frames = len(wave) // 160
    size = V.WINDOW * 100
    padded = torch.nn.functional.pad(torch.as_tensor(wave)[None], (0, V.WINDOW * 16000))
    mel = strings.log_mel(strings.power(padded))[0].T
    seek, earlier, digits = 0, [], []
    while seek < frames:
        window = mel[:, seek : min(seek + size, frames)]
        window = torch.nn.functional.pad(window, (0, size - window.shape[1]), value=mel.min().item())
        r = greedy(net, net.encoder(window[None], torch.float32), True, [V.PREV, *earlier[-31:]] if earlier else [])[0]
        if skipped(r):
            seek += size
            continue
        t = r.tokens
        pairs = [i for i in range(1, len(t)) if t[i] >= V.TIME and t[i - 1] >= V.TIME]
        closed = len(t) > 1 and t[-1] >= V.TIME > t[-2]
        if pairs and not closed:
            t = t[: pairs[-1]]
            seek += max((t[-1] - V.TIME) * 2, 1)
        else:
            seek += size
        earlier += t
        digits += Result(t, 0, 0).digits
    return digits

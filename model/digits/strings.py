"""Digit strings for training: audio put together from clips, and what Whisper should say about it.

In: Clips. Out: batches of log-mel windows, decoder inputs, and soft targets. A batch is a
function of (seed, step, rank, progress) alone, so that a resumed training sees what it would have seen.

What the model is taught:
  - a digit is written if at least half of it is in the window; with timestamps, one that the window's end cuts is
    not: its segment ends before it, and only the start time of the next one follows (as in openai's training);
  - segments part where speakers pause for 0.4 s or more; times are on a grid of 0.1 s, starts
    rounded down and ends up, so that seeking to a time never cuts speech;
  - a window without speech: <|nospeech|> after <|startoftranscript|>; the first text token is spread over the ten words and
    end of text, the first timestamp over its 51 values (which keeps the mean log-probability under openai's
    gate of -1); then end of text, so that greedy decoding writes no words;
  - earlier text in the prompt (words, timestamps, any bytes) says nothing about the digits to come.
"""

from dataclasses import dataclass, field

import numpy as np
import torch

import vocab as V
from corpus import RATE, Clips

FRAME = 320  # samples per encoder position
PAUSE = 0.4  # seconds of silence that part two segments
GRID = 5  # ticks of 0.02 s between the times that are written
MOST = 32  # tokens after the prompt, as openai's sample_len
WARPS = np.linspace(0.87, 1.15, 15)  # of the vocal tract
BLANK = 10  # class of frames without speech
IGNORED, SILENT_TEXT, SILENT_TIME = V.SIZE, V.SIZE + 1, V.SIZE + 2  # rows of soft_targets past the tokens
# Shares of the sources in mixed strings. The same for every digit: a source is also a channel, and must not tell the digit.
MIXED = {"fsdd": 0.2, "sc": 0.4, "an4": 0.2, "so762": 0.12, "espeak": 0.06, "feiyu": 0.01, "asterisk_en": 0.01}
NARROW = ("fsdd", "asterisk_en")  # recorded at 8 kHz


def mel_filters(warp=1.0):
    """Slaney's mel filterbank (201,80) of 0 to 8 kHz; warp shifts formants."""
    def hz(m):
        return np.where(m < 15, m * 200 / 3, 1000 * np.exp((m - 15) * np.log(6.4) / 27))

    edges = hz(np.linspace(0, 15 + 27 * np.log(8) / np.log(6.4), 82))
    f = np.linspace(0, 8000, 201)[:, None] * warp
    up = (f - edges[:-2]) / (edges[1:-1] - edges[:-2])
    down = (edges[2:] - f) / (edges[2:] - edges[1:-1])
    return (np.maximum(0, np.minimum(up, down)) * 2 / (edges[2:] - edges[:-2])).astype(np.float32)


FILTERS = torch.tensor(np.stack([mel_filters(), *(mel_filters(w) for w in WARPS)]))
HANN = torch.hann_window(400)


def power(waves):
    """Power spectra (B,T,201) of waves (B,160T)."""
    s = torch.stft(waves, 400, 160, window=HANN, return_complex=True)[..., :-1]
    return torch.view_as_real(s).square().sum(-1).transpose(1, 2)


def log_mel(spectra, filters=FILTERS[0], louder=0.0):
    """Whisper's features (B,T,80). louder: by how many decades the file's maximum is over the window's."""
    mel = (spectra @ filters).clamp(min=1e-10).log10()
    top = mel.amax((1, 2), keepdim=True) + louder
    return (torch.maximum(mel, top - 8) + 4) / 4


def soft_targets(smoothing=0.02):
    """Rows of target distributions: one per token, then the three special rows."""
    text = [*range(V.DIGIT, V.DIGIT + 10), V.EOT]
    q = torch.zeros(V.SIZE + 3, V.SIZE)
    q[: V.SIZE] = torch.eye(V.SIZE)
    for t in text:
        q[t] *= 1 - smoothing
        q[t, text] += smoothing / len(text)
    for i in range(0, V.SIZE - V.TIME, GRID):
        near = [V.TIME + j for j in (i - GRID, i + GRID) if 0 <= j < V.SIZE - V.TIME]
        q[V.TIME + i, V.TIME + i] = 0.84
        q[V.TIME + i, near] = 0.16 / len(near)
    q[SILENT_TEXT, text[:-1]] = 0.04
    q[SILENT_TEXT, V.EOT] = 0.6
    q[SILENT_TIME, V.TIME : V.TIME + 51] = 1 / 51
    return q


@dataclass
class Window:
    """A stretch of audio, the digits heard in it, and how it is to be spoilt."""

    wave: np.ndarray
    spans: list = field(default_factory=list)  # (digit, start, end) in seconds, may reach over both ends
    cut: bool = False  # whether speech goes on past the end
    narrow: bool = False
    stop: float = 0.0  # where the recording ends, seconds


def write(window, times):
    """The tokens after <|transcribe|>, end of text included, and where in time each looks: (start, end) or None."""
    length = len(window.wave) / RATE
    spans = [s for s in window.spans if min(s[2], length) - max(s[1], 0) >= 0.5 * (s[2] - s[1])]
    if not times:
        tokens = [V.DIGIT + d for d, _, _ in spans]
        look = [(a, b) for _, a, b in spans]
        end = spans[-1][2] if spans else 0
        return tokens + [V.EOT], look + [(end, end + 0.3)]
    last = None  # start of a digit that the end cuts
    if window.cut:
        over = [s for s in window.spans if s[2] > length - 0.02 and s[1] < length]
        spans = [s for s in spans if s[2] <= length - 0.02]
        last = over[0][1] if over and spans else None

    step = GRID * V.TICK
    tokens, look, before = [], [], 0

    def tick(t, up):
        nonlocal before
        n = int(np.ceil(t / step - 1e-6) if up else np.floor(t / step + 1e-6))
        before = min(max(before, n), int(length / step))
        tokens.append(V.TIME + before * GRID)
        look.append((t - 0.1, t + 0.1))

    for i, (d, a, b) in enumerate(spans):
        if i == 0 or a - spans[i - 1][2] >= PAUSE:
            if i > 0:
                tick(spans[i - 1][2], True)
            tick(max(a, 0), False)
        tokens.append(V.DIGIT + d)
        look.append((a, b))
    if spans:
        tick(spans[-1][2], True)
        if last is not None:
            tick(max(last, spans[-1][2]), False)
    tokens.append(V.EOT)
    look.append((spans[-1][2], spans[-1][2] + 0.3) if spans else None)
    return tokens, look


class Strings:
    """Makes training batches out of Clips."""

    def __init__(self, clips: Clips, seed):
        self.clips, self.seed = clips, seed
        self.voices = {}  # (source, digit) to a list of one array of clips per speaker
        self.solo = {}  # source to a list of {digit: clips}, of speakers with four digits or more
        self.shelve()
        mean = clips.color.mean(1, keepdims=True)
        self.color = (clips.color / np.maximum(mean, 1e-12))[mean[:, 0] > 1e-9]

    def shelve(self):
        c, by = self.clips, {}
        for i, key in enumerate(zip(c.source.tolist(), c.speaker.tolist(), c.digit.tolist())):
            by.setdefault(key[:2], {}).setdefault(key[2], []).append(i)
        for (source, _), digits in by.items():
            digits = {d: np.array(v) for d, v in digits.items()}
            for d, clips in digits.items():
                self.voices.setdefault((source, d), []).append(clips)
            if len(digits) >= 4:
                self.solo.setdefault(source, []).append(digits)

    def chooser(self, rng, narrow):
        """Returns a function that draws one clip after the other for a string."""
        allowed = [s for s in MIXED if (s, 0) in self.voices and (narrow or s not in NARROW)]
        share = np.array([MIXED[s] for s in allowed])
        share /= share.sum()
        if rng.random() < (0.5 if narrow else 0.35):  # one speaker
            source = "fsdd" if narrow and "fsdd" in allowed and rng.random() < 0.55 else str(rng.choice(allowed, p=share))
            digits = self.solo[source][rng.integers(len(self.solo[source]))]
            known = list(digits)
            return lambda: rng.choice(digits[known[rng.integers(len(known))]])

        def any_voice():
            digit = rng.integers(10)
            while True:
                voices = self.voices.get((str(rng.choice(allowed, p=share)), digit))
                if voices:
                    return rng.choice(voices[rng.integers(len(voices))])

        return any_voice

    def window(self, rng, seconds, full, dense):
        """A string in a window of so many seconds. full: the window is as long as the model's."""
        narrow = rng.random() < 0.5
        draw = self.chooser(rng, narrow)
        total = int(seconds * RATE)
        wave = np.zeros(total + 4 * RATE, np.float32)  # two seconds more at each end, cut off below
        cut = full and rng.random() < 0.3
        most = 99 if cut or dense or rng.random() < 0.5 else rng.integers(1, 13)
        at = rng.uniform(-0.5, 0) if rng.random() < 0.2 else rng.exponential(0.15) if rng.random() < 0.6 else rng.uniform(0, 1)
        pace = 0 if dense else rng.choice(3, p=[0.35, 0.35, 0.3])
        spans = []
        while len(spans) < most and at < seconds:
            i = draw()
            piece, s0, s1 = self.clips.piece(i), self.clips.s0[i], self.clips.s1[i]
            end = at + (s1 - s0) / RATE
            if end > seconds - 0.05 and not cut:
                break
            a = 2 * RATE + int(at * RATE) - s0
            piece = piece[max(0, -a) : len(wave) - a]
            wave[max(0, a) : max(0, a) + len(piece)] += piece * 10 ** (rng.normal(0, 2) / 20)
            spans.append((int(self.clips.digit[i]), at, end))
            at = end + self.gap(rng, pace)
        w = Window(wave[2 * RATE : 2 * RATE + total], spans, cut and at >= seconds, narrow)
        w.stop = min(seconds, spans[-1][2] + rng.uniform(0.05, 0.5)) if spans else 0
        heard = [s for s in spans if s[2] > 0.1]
        w.spans = heard
        good = heard and heard[0][2] - max(heard[0][1], 0) > 0.12 and len(write(w, True)[0]) <= MOST
        return w if good and write(w, True)[0][0] != V.EOT else self.window(rng, seconds, full, dense)

    def gap(self, rng, pace):
        """Silence after a digit: connected, slow, or with pauses. Nothing close to PAUSE, where segments part."""
        if pace == 0:
            return rng.exponential(0.05)
        if pace == 1:
            return rng.uniform(0, 0.3)
        return rng.uniform(0, 0.3) if rng.random() < 0.45 else rng.uniform(0.48, 1.2)

    def nothing(self, rng, seconds):
        """A window without speech: noise only, clicks, or digital silence."""
        wave = np.zeros(int(seconds * RATE), np.float32)
        for _ in range(rng.poisson(1.5) if rng.random() < 0.3 else 0):
            at = rng.integers(len(wave) - 800)
            click = rng.normal(size=800) * np.exp(-np.arange(800) / rng.uniform(10, 300))
            wave[at : at + 800] += click.astype(np.float32) * rng.uniform(0.02, 0.3)
        w = Window(wave, stop=seconds if rng.random() < 0.7 else rng.uniform(0, seconds))
        w.narrow = rng.random() < 0.5
        return w

    def spoil_wave(self, rng, w, ramp):
        x = w.wave
        if rng.random() < 0.2 * ramp:  # reverberation
            n = int(RATE * rng.uniform(0.08, 0.4))
            tail = rng.normal(size=n) * np.exp(-np.arange(n) * 6.9 / n) * rng.uniform(0.01, 0.08)
            size = 1 << (len(x) + n - 1).bit_length()
            f = np.fft.rfft(x, size) * (1 + np.fft.rfft(tail.astype(np.float32), size))
            x = np.fft.irfft(f, size)[: len(x)].astype(np.float32)
        if rng.random() < 0.07 * ramp:  # clipping
            x = np.clip(x, -rng.uniform(0.1, 0.4), rng.uniform(0.1, 0.4))
        return x * 10 ** (rng.uniform(-22, 8) / 20)

    def channel(self, rng, w, ramp):
        """Gains of the 201 bins, power: a random equaliser and band limits."""
        f = np.linspace(0, 8000, 201)
        db = np.zeros(201)
        if rng.random() < 0.7 * ramp:
            db += rng.uniform(-1, 1) * 6 * (f / 8000 - 0.25) + np.interp(f, np.linspace(0, 8000, 7), rng.normal(0, 3, 7))
        if w.narrow:
            db[f > rng.uniform(3300, 4000)] -= rng.uniform(30, 80)
        if w.narrow and rng.random() < 0.3:
            db[f < rng.uniform(150, 350)] -= rng.uniform(10, 30)
        return (10 ** (db / 10)).astype(np.float32)

    def noise(self, rng, w, frames, ramp):
        """Power spectra (T,201) of noise and the signal-to-noise ratio it is added at, dB."""
        kind = rng.random()
        if kind < 0.5:
            color = self.color[rng.integers(len(self.color))]
        else:
            color = (np.linspace(0.02, 1, 201) ** rng.uniform(-2, 1)).astype(np.float32)
            if kind > 0.85:  # hum
                color[[1, 2, 3, 4, 5][: rng.integers(1, 6)]] += rng.uniform(1, 100)
            color /= color.mean()
        n = rng.standard_exponential((frames, 201), dtype=np.float32) * color
        if rng.random() < 0.3:
            n *= np.exp(np.interp(np.arange(frames), np.linspace(0, frames, 6), rng.normal(0, 0.7, 6)))[:, None].astype(np.float32)
        if rng.random() < 0.4:  # only as long as the recording
            n[int(w.stop * 100) + 1 :] = 0
        low = 24 - 20 * ramp
        return n, rng.uniform(low, 60) if rng.random() < 0.55 else rng.uniform(low, 28)

    def features(self, rng, windows, ramp):
        """Log-mel features (B,80,T) of spoilt windows."""
        waves = torch.tensor(np.stack([self.spoil_wave(rng, w, ramp) for w in windows]))
        spectra = power(waves)
        frames, louder, filters = spectra.shape[1], [], []
        for s, w in zip(spectra, windows):
            level = s.mean().item()
            noise, snr = self.noise(rng, w, frames, ramp)
            if not w.spans:
                level, snr = 10 ** rng.uniform(-9, 0.5), 0
            if rng.random() < 0.85 or not w.spans:
                s += torch.from_numpy(noise) * (level * 10 ** (-snr / 10))
            s *= torch.from_numpy(self.channel(rng, w, ramp))
            s += rng.uniform(0, 2) * 1e-9 if rng.random() < 0.3 else 0  # dither
            louder.append(rng.uniform(0, 1.2) if rng.random() < 0.25 else 0)
            if not w.spans and rng.random() < 0.5:
                louder[-1] = rng.uniform(0, 5)
            filters.append(rng.integers(1, len(FILTERS)) if rng.random() < 0.7 * ramp else 0)
        mel = log_mel(spectra, FILTERS[filters], torch.tensor(louder, dtype=torch.float32)[:, None, None])
        for m, w in zip(mel, windows):
            self.mask(rng, m, w, ramp)
        return mel.transpose(1, 2).contiguous()

    def mask(self, rng, m, w, ramp):
        """SpecAugment on one window (T,80); and zeros past the recording, as openai pads mel."""
        floor = m.min()
        for _ in range(rng.integers(0, 3) if rng.random() < 0.6 * ramp else 0):
            at = rng.integers(75)
            m[:, at : at + rng.integers(1, 11)] = floor
        for _ in range(rng.integers(0, 3) if rng.random() < 0.4 * ramp else 0):
            at = rng.integers(len(m))
            m[at : at + rng.integers(1, 9)] = floor
        if not w.cut and rng.random() < 0.08:
            m[int(w.stop * 100) + 1 :] = 0

    def prompt(self, rng, most):
        """Earlier text: <|startofprev|> and up to most tokens of digits, maybe with times, seldom other bytes."""
        tokens, n, at = [], rng.integers(1, most + 1), 0
        kind = rng.random()
        if kind < 0.1:
            tokens = rng.integers(0, V.DIGIT, n).tolist()
        while len(tokens) < n:
            words = (V.DIGIT + rng.integers(0, 10, rng.integers(1, 9))).tolist()
            if kind < 0.6:
                tokens += words
                continue
            end = min(at + rng.integers(2, 20), 80)
            tokens += [V.TIME + at * GRID, *words, V.TIME + end * GRID]
            at = 0 if end == 80 else end
        return [V.PREV, *tokens[-n:]]

    def tokens(self, rng, w):
        """Decoder inputs, rows of soft targets and spans to look at, for one window."""
        times = rng.random() < 0.5
        head = [V.SOT, V.EN, V.TRANSCRIBE] + ([] if times else [V.NOTIMES])
        text, look = write(w, times)
        if not w.spans:
            first = V.TIME + GRID * rng.integers(11) if times else V.DIGIT + rng.integers(10)
            text, look = [first, V.EOT], [None, None]
        room = min(31, V.POSITIONS - len(head) - len(text) - 1)
        before = self.prompt(rng, room) if rng.random() < 0.4 else []
        rows = [IGNORED] * (len(before) + len(head) - 1) + text
        rows[len(before)] = V.EN if w.spans else V.NOSPEECH
        if not w.spans:
            rows[-2:] = [SILENT_TIME if times else SILENT_TEXT, SILENT_TEXT]
        spoilt = [V.DIGIT + rng.integers(10) if t - V.DIGIT in range(10) and rng.random() < 0.1 else t for t in text]
        if times:  # times heard wrong must not lead the digits astray
            spoilt = [min(t + GRID * rng.integers(-1, 2), V.SIZE - 1) if t > V.TIME and rng.random() < 0.1 else t for t in spoilt]
        inputs = before + head + spoilt[:-1]
        return inputs, rows, [None] * (len(before) + len(head) - 1) + look

    def batch(self, step, rank, progress, seconds=48.0):
        """One batch of about so many seconds of audio; progress of the training in [0,1] steers the curriculum."""
        rng = np.random.default_rng([self.seed, step, rank])
        dense = progress < 0.25
        ramp = min(1.0, 0.1 + progress * 6)
        full = rng.random() < (0.0 if progress < 0.1 else 0.1 if dense else 0.35 + 0.4 * (progress > 0.6))
        length = V.WINDOW if full else round(rng.uniform(1.2, 3.4) if dense else rng.uniform(1.6, 7), 1)
        windows = []
        for _ in range(max(4, round(seconds / length))):
            silent = not dense and rng.random() < 0.05
            windows.append(self.nothing(rng, length) if silent else self.window(rng, length, full, dense))
        return self.collate(rng, windows, self.features(rng, windows, ramp))

    def collate(self, rng, windows, mel):
        made = [self.tokens(rng, w) for w in windows]
        width, frames = max(len(m[0]) for m in made), mel.shape[2] // 2
        inputs = np.full((len(made), width), V.EOT)
        rows = np.full((len(made), width), IGNORED)
        look = np.zeros((len(made), width, frames), bool)
        said = np.full((len(made), frames), BLANK)
        for b, (w, (ids, targets, spans)) in enumerate(zip(windows, made)):
            inputs[b, : len(ids)], rows[b, : len(ids)] = ids, targets
            for n, span in enumerate(spans):
                if span:
                    first = min(max(0, int(span[0] * 50)), frames - 3)
                    look[b, n, first : max(first + 3, int(span[1] * 50) + 1)] = True
            for d, s, e in w.spans:
                said[b, max(0, int(s * 50)) : max(0, int(e * 50))] = d
        return {"mel": mel, "inputs": torch.tensor(inputs), "rows": torch.tensor(rows),
                "look": torch.tensor(look), "said": torch.tensor(said)}

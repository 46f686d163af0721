"""Joins recordings to windows of up to 29 s, for `go run ./tools/drafter`.

    python tools/drafter/windows.py FOLDER OUT

Recordings of one folder that follow each other by name share a window. Each becomes 16 kHz, mono, by ffmpeg, and one
that is too long is cut. Windows are called LANGUAGE-0000.wav, with OUT's name as the language; those of recordings whose
names begin with "test" or "dev" keep that in front. Every second window, but for those, has a changed copy,
LANGUAGE-0000-changed.wav: at 0.9 or 1.1 of its speed (and pitch), with noise, reverberation, or the band of a telephone.
The number of a window decides what changes.
"""

import os
import subprocess
import sys
import wave

import numpy as np

RATE = 16000
MOST = 29 * RATE  # samples
SOUNDS = (".flac", ".wav", ".mp3", ".m4a", ".ogg", ".opus")


def samples(path):
    command = ["ffmpeg", "-v", "error", "-i", path, "-ac", "1", "-ar", str(RATE), "-f", "s16le", "-"]
    return subprocess.run(command, check=True, capture_output=True).stdout


def filtered(x, gain):
    """Multiplies the spectrum by gain, a function of the frequencies in Hz."""
    return np.fft.irfft(np.fft.rfft(x) * gain(np.fft.rfftfreq(len(x), 1 / RATE)), len(x))


def changed(window, number):
    rng = np.random.default_rng(number)
    x = np.frombuffer(window, "<i2") / 32768
    speed = rng.choice([0.9, 1, 1.1])
    x = np.interp(np.arange(0, len(x) - 1, speed), np.arange(len(x)), x)[:MOST]
    kinds = ["noise", "echo", "telephone"] + ["none"] * int(speed != 1)
    kind = rng.choice(kinds)
    if kind == "noise":
        colour = rng.uniform(0, 1)  # from white to brown
        noise = filtered(rng.standard_normal(len(x)), lambda f: np.maximum(f, 50) ** -colour)
        x = x + noise * np.sqrt(np.mean(x**2) / np.mean(noise**2)) * 10 ** (-rng.uniform(5, 20) / 20)
    elif kind == "echo":
        t = np.arange(RATE // 2) / RATE
        room = rng.standard_normal(len(t)) * 10 ** (-3 * t / rng.uniform(0.2, 0.6))
        room *= rng.uniform(0.3, 1) / np.sqrt(np.sum(room**2))
        n = len(x) + len(t)
        x = x + np.fft.irfft(np.fft.rfft(x, n) * np.fft.rfft(room, n), n)[: len(x)]
    elif kind == "telephone":
        x = filtered(x, lambda f: (f > 300) & (f < 3400))
    return np.round(x / max(1, np.abs(x).max()) * 32767).astype("<i2").tobytes()


def main():
    folder, out = sys.argv[1:]
    language = os.path.basename(out)
    os.makedirs(out, exist_ok=True)
    names = sorted(os.path.join(d, f) for d, _, files in os.walk(folder) for f in files if f.lower().endswith(SOUNDS))
    for prefix in ("test", "dev", ""):
        window, count, before = b"", 0, None

        def store(data, end):
            with wave.open(os.path.join(out, "-".join(filter(None, (prefix, language, f"{count:04}" + end)))), "wb") as f:
                f.setparams((1, 2, RATE, 0, "NONE", ""))
                f.writeframes(data)

        def write():
            store(window, ".wav")
            if not prefix and count % 2 == 0:
                store(changed(window, count), "-changed.wav")

        for name in names:
            directory, first = os.path.split(name)
            if first.startswith(prefix) if prefix else not first.startswith(("test", "dev")):
                data = samples(name)
                if window and (len(window) + len(data) > 2 * MOST or directory != before):
                    write()
                    window, count = b"", count + 1
                window, before = window + data, directory
                while len(window) > 2 * MOST:
                    rest, window = window[2 * MOST :], window[: 2 * MOST]
                    write()
                    window, count = rest, count + 1
        if window:
            write()


if __name__ == "__main__":
    main()

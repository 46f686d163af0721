"""Joins recordings to windows of up to 29 s, for `go run ./tools/drafter`.

    python tools/drafter/windows.py FOLDER OUT

Recordings that follow each other by name share a window. Each becomes 16 kHz, mono, by ffmpeg, and one that is too
long is cut. Windows are called LANGUAGE-0000.wav, with OUT's name as the language; those of recordings whose names begin
with "test" or "dev" keep that in front.
"""

import os
import subprocess
import sys
import wave

RATE = 16000
MOST = 29 * RATE  # samples
SOUNDS = (".flac", ".wav", ".mp3", ".m4a", ".ogg", ".opus")


def samples(path):
    command = ["ffmpeg", "-v", "error", "-i", path, "-ac", "1", "-ar", str(RATE), "-f", "s16le", "-"]
    return subprocess.run(command, check=True, capture_output=True).stdout


def main():
    folder, out = sys.argv[1:]
    language = os.path.basename(out)
    os.makedirs(out, exist_ok=True)
    names = sorted(os.path.join(d, f) for d, _, files in os.walk(folder) for f in files if f.lower().endswith(SOUNDS))
    for prefix in ("test", "dev", ""):
        window, count = b"", 0

        def write():
            with wave.open(os.path.join(out, "-".join(filter(None, (prefix, language, f"{count:04}.wav")))), "wb") as f:
                f.setparams((1, 2, RATE, 0, "NONE", ""))
                f.writeframes(window)

        for name in names:
            first = os.path.basename(name)
            if first.startswith(prefix) if prefix else not first.startswith(("test", "dev")):
                data = samples(name)
                if window and len(window) + len(data) > 2 * MOST:
                    write()
                    window, count = b"", count + 1
                window += data
                while len(window) > 2 * MOST:
                    rest, window = window[2 * MOST :], window[: 2 * MOST]
                    write()
                    window, count = rest, count + 1
        if window:
            write()


if __name__ == "__main__":
    main()

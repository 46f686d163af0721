#!/usr/bin/env python3
"""Transcribes recordings without speech in every mode, and prints the words that each mode invents.

    python tools/accuracy/invented.py FILE.wav...              all modes
    python tools/accuracy/invented.py --mode POST FILE.wav...  those whose names begin with POST

Files have 16 bits and one channel. `make invented` makes them and runs this. Modes named realtime need the package
websockets, from pip. Exit status: 0 no word, 1 some.
"""
import argparse
import base64
import contextlib
import http.client
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import uuid
import wave

HINTS = "Kubernetes, Anneke Vos, Mr. Quilter"


def modes(verity, files, work, chosen=""):
    """Yields the names of modes, and their texts of the files. Only those begin that are chosen."""
    sound = {path: read(path) for path in files}
    terms, stereo = work / "terms.txt", work / "stereo"
    stereo.mkdir(parents=True, exist_ok=True)
    terms.write_text(HINTS.replace(", ", "\n"))
    for path, (pcm, rate) in sound.items():  # one channel with the sound, one silent
        with wave.open(str(stereo / path.name), "wb") as w:
            w.setparams((2, 2, rate, 0, "NONE", ""))
            w.writeframes(b"".join(pcm[i:i + 2] + b"\0\0" for i in range(0, len(pcm), 2)))
    pairs = [stereo / path.name for path in files]

    def transcribe(*flags, paths=files):
        done = subprocess.run([*verity, "transcribe", "--quiet", "-f", "json", *flags, *paths], capture_output=True, text=True, check=True)
        return [t["text"] for t in objects(done.stdout)]

    def listen(*flags):
        return [subprocess.run([*verity, "listen", "--quiet", *flags, "-"], stdin=path.open("rb"), capture_output=True, text=True, check=True).stdout
                for path in files]

    hotwords, prompt = ["--hotwords", HINTS], ["--initial-prompt", HINTS, "--carry-initial-prompt"]
    commands = {}
    for hint in [], hotwords, ["--terms", terms], prompt:
        commands[" ".join(["transcribe", *hint[::2]])] = lambda hint=hint: transcribe(*hint)
    for hint in [], hotwords:
        for flags in (["--chunked"], ["--multilingual", "--word-timestamps"], ["--task", "translate", "--language", "nl"]):
            commands[" ".join(["transcribe", *flags, *hint[::2]])] = lambda flags=flags, hint=hint: transcribe(*flags, *hint)
        commands[" ".join(["transcribe --speakers channels", *hint[::2]])] = lambda hint=hint: transcribe("--speakers", "channels", *hint, paths=pairs)
    for hint in [], hotwords, prompt:
        commands[" ".join(["listen", *hint[::2]])] = lambda hint=hint: listen(*hint)
    served = {}
    for fields in {}, {"prompt": HINTS}, {"keywords[]": HINTS}, {"vad_filter": "true"}:
        served[" ".join(["POST", *fields])] = lambda port, fields=fields: [post(port, path, fields) for path in files]
    for turns in {"type": "server_vad"}, None:
        for asks in {}, {"prompt": HINTS}, {"keywords": HINTS.split(", ")}:
            name = " ".join(["realtime, turns", "detected" if turns else "committed", *asks])
            served[name] = lambda port, turns=turns, asks=asks: [realtime(port, pcm, rate, turns, asks) for pcm, rate in sound.values()]
    for name in filter(lambda name: name.startswith(chosen), commands):
        yield name, commands[name]()
    if any(name.startswith(chosen) for name in served):
        with server(verity) as port:
            for name in filter(lambda name: name.startswith(chosen), served):
                yield name, served[name](port)


def read(path):
    with wave.open(str(path)) as w:
        return w.readframes(w.getnframes()), w.getframerate()


def objects(text):
    decoder, at = json.JSONDecoder(), 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        value, at = decoder.raw_decode(text, at)
        yield value


@contextlib.contextmanager
def server(verity):
    process = subprocess.Popen([*verity, "serve", "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
    try:
        lines = iter(process.stderr)
        port = next(int(m[1]) for line in lines if (m := re.search(r" on http://\S+:(\d+)", line)))
        threading.Thread(target=lambda: [None for _ in lines], daemon=True).start()
        yield port
    finally:
        process.terminate()
        process.wait()


def post(port, path, fields):
    edge = uuid.uuid4().hex
    form = "".join(f'--{edge}\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n' for k, v in fields.items())
    form += f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{path.name}"\r\n\r\n'
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("POST", "/v1/audio/transcriptions", form.encode() + path.read_bytes() + f"\r\n--{edge}--\r\n".encode(),
                       {"Content-Type": f"multipart/form-data; boundary={edge}"})
    answer = connection.getresponse().read().decode()
    return json.loads(answer).get("text", answer)  # an error counts as words


def realtime(port, pcm, rate, turns, asks):
    from websockets.sync.client import connect
    texts, pending, errors = [], set(), 0
    with connect(f"ws://127.0.0.1:{port}/v1/realtime?intent=transcription", proxy=None) as socket:
        def send(kind, **more):
            socket.send(json.dumps({"type": kind} | more))

        send("session.update", session={"type": "transcription", "audio": {"input": {
            "format": {"type": "audio/pcm", "rate": rate}, "transcription": {"model": "base"} | asks, "turn_detection": turns}}})
        for i in range(0, len(pcm), 2 * rate):
            send("input_audio_buffer.append", audio=base64.b64encode(pcm[i:i + 2 * rate]).decode())
        send("input_audio_buffer.commit")  # an error if the last turn has ended
        send("input_audio_buffer.commit")  # an error in any case: nothing was added
        while errors == 0 or pending:
            event = json.loads(socket.recv(timeout=120))
            kind = event["type"]
            if kind == "error":
                errors += 1
            elif kind == "input_audio_buffer.committed":
                pending.add(event["item_id"])
            elif kind.endswith((".completed", ".failed")):
                pending.discard(event["item_id"])
                texts.append(event.get("transcript", json.dumps(event.get("error"))))
    return " ".join(texts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE.wav", type=pathlib.Path)
    parser.add_argument("--verity", default="bin/verity", help="the program (%(default)s)")
    parser.add_argument("--mode", default="", help="only modes whose names begin so")
    options = parser.parse_args()
    count, began = 0, time.monotonic()
    with tempfile.TemporaryDirectory() as work:
        for mode, texts in modes([options.verity], options.files, pathlib.Path(work), options.mode):
            words = {path.name: text.strip() for path, text in zip(options.files, texts, strict=True) if re.search(r"\w", text)}
            count += sum(len(text.split()) for text in words.values())
            print(f"{mode}: {words or 'no word'} ({time.monotonic() - began:.0f} s)", flush=True)
            began = time.monotonic()
    print(f"{count} words invented in {len(options.files)} recordings")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())

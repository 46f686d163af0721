"""What Home Assistant's wyoming package expects of verity serve. make clients runs it.

    python wyoming_python.py VERITY MODEL SOUND.wav
"""

import asyncio
import re
import subprocess
import sys
import wave

from wyoming.asr import Transcribe, Transcript, TranscriptChunk, TranscriptStart, TranscriptStop
from wyoming.audio import AudioStart, AudioStop, wav_to_chunks
from wyoming.client import AsyncTcpClient
from wyoming.error import Error
from wyoming.info import Describe, Info
from wyoming.ping import Ping, Pong


def main(verity, model, sound):
    server = subprocess.Popen(
        [verity, "serve", "--model", model, "--listen", "127.0.0.1:0", "--wyoming", "127.0.0.1:0"],
        stderr=subprocess.PIPE, text=True,
    )
    try:
        for line in server.stderr:
            if found := re.search(r"Wyoming on 127.0.0.1:(\d+)", line):
                break
        else:
            sys.exit("the server does not say where it listens")
        command = [verity, "transcribe", "--quiet", "--model", model, "--output-format", "txt", sound]
        want = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        asyncio.run(check(int(found[1]), sound, " ".join(want.split())))
    finally:
        server.terminate()
        if code := server.wait():
            sys.exit(f"the server ended with {code}")
    print("wyoming gets what it expects")


def equal(what, got, want):
    if got != want:
        sys.exit(f"{what}: got {got!r}, want {want!r}")


async def check(port, sound, want):
    async with AsyncTcpClient("127.0.0.1", port) as client:
        await client.write_event(Describe().event())
        info = Info.from_event(await client.read_event())
        program = info.asr[0]
        if not program.supports_transcript_streaming or "en" not in program.models[0].languages:
            sys.exit(f"info: {program}")
        await client.write_event(Ping("hello").event())
        equal("pong", Pong.from_event(await client.read_event()).text, "hello")
        for _ in range(2):  # a connection may have several commands
            text, chunks = await transcribe(client, sound, Transcribe(language="en"))
            equal("transcript", " ".join(text.split()), want)
            equal("chunks", chunks.strip(), text)
    async with AsyncTcpClient("127.0.0.1", port) as client:
        equal("an error", await transcribe(client, sound, Transcribe(name="nobody")), None)


async def transcribe(client, sound, request):
    await client.write_event(request.event())
    with wave.open(sound, "rb") as file:
        rate, width, channels = file.getframerate(), file.getsampwidth(), file.getnchannels()
        await client.write_event(AudioStart(rate, width, channels).event())
        for chunk in wav_to_chunks(file, 1024):
            await client.write_event(chunk.event())
    await client.write_event(AudioStop().event())
    kinds, chunks, text = [], "", None
    while event := await client.read_event():
        kinds.append(event.type)
        if TranscriptChunk.is_type(event.type):
            chunks += TranscriptChunk.from_event(event).text
        if Transcript.is_type(event.type):
            text = Transcript.from_event(event).text
        if Error.is_type(event.type):
            return None
        if TranscriptStop.is_type(event.type):
            equal("the first event", TranscriptStart.is_type(kinds[0]), True)
            return text, chunks
    sys.exit(f"the connection ended after {kinds}")


if __name__ == "__main__":
    main(*sys.argv[1:])

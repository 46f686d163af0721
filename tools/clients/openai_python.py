"""What OpenAI's Python client expects of verity serve. make clients runs it.

    python openai_python.py VERITY MODEL SOUND.wav

VERITY is the program, MODEL its checkpoint, SOUND.wav 16 kHz mono of 16 bits.
"""

import base64
import re
import subprocess
import sys

import openai


def main(verity, model, sound):
    server = subprocess.Popen(
        [verity, "serve", "--model", model, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True
    )
    try:
        address = None
        for line in server.stderr:
            if found := re.search(r" on (http://\S+)", line):
                address = found[1]
                break
        if not address:
            sys.exit("the server does not say where it listens")
        client = openai.OpenAI(base_url=address + "/v1", api_key="none", max_retries=0)
        want = " ".join(plain(verity, model, sound, "txt").split())
        check(client, verity, model, sound, want)
        realtime(client, sound)
    finally:
        server.terminate()
        if code := server.wait():
            sys.exit(f"the server ended with {code}")
    print("openai", openai.__version__, "gets what it expects")


def plain(verity, model, sound, form):
    command = [verity, "transcribe", "--quiet", "--model", model, "--output-format", form, sound]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def equal(what, got, want):
    if got != want:
        sys.exit(f"{what}: got {got!r}, want {want!r}")


def check(client, verity, model, sound, want):
    def create(**options):
        with open(sound, "rb") as file:
            return client.audio.transcriptions.create(model="whisper-1", file=file, **options)

    equal("json", create().text, want)
    equal("text", create(response_format="text"), want + "\n")
    for form in ("srt", "vtt"):
        equal(form, create(response_format=form), plain(verity, model, sound, form))
    verbose = create(response_format="verbose_json", timestamp_granularities=["word", "segment"], language="en")
    equal("words", len(verbose.words), len(verbose.text.split()))
    if not verbose.segments or verbose.language != "english":
        sys.exit(f"verbose_json: {verbose}")

    deltas, done = "", None
    for event in create(stream=True):
        if event.type == "transcript.text.delta":
            deltas += event.delta
        elif event.type == "transcript.text.done":
            done = event
    equal("deltas", " ".join(deltas.split()), want)
    equal("usage of the end of a stream", done.usage.type, "tokens")
    equal("done", done.text, deltas)

    newer = new_model(client, sound)
    equal("gpt-transcribe", newer.text, want)
    equal("languages", [language.code for language in newer.languages], ["en"])
    equal("usage", newer.usage.total_tokens, newer.usage.input_tokens + newer.usage.output_tokens)
    try:
        list(create(response_format="srt", stream=True))
    except openai.BadRequestError as error:
        equal("a stream of subtitles", (error.param, error.code), ("response_format", "invalid_value"))
    else:
        sys.exit("a stream of subtitles is no error")

    diarized(client, sound, want)
    equal("models", len(client.models.list().data), 1)
    for kind, options in (
        (openai.NotFoundError, {"model": "nobody-1"}),
        (openai.BadRequestError, {"model": "whisper-1", "language": "klingon"}),
    ):
        try:
            with open(sound, "rb") as file:
                client.audio.transcriptions.create(file=file, **options)
        except kind as error:
            if not error.param or not error.message:
                sys.exit(f"{kind.__name__} says nothing: {error}")
        else:
            sys.exit(f"{kind.__name__} was not raised")


def diarized(client, sound, want):
    """Who speaks: in the typed answer, in a stream, and by a name that the client knows."""
    def create(**options):
        with open(sound, "rb") as file:
            return client.audio.transcriptions.create(
                model="gpt-4o-transcribe-diarize", file=file, response_format="diarized_json",
                chunking_strategy="auto", **options
            )

    whole = create()
    equal("diarized_json", (type(whole).__name__, whole.task, whole.text), ("TranscriptionDiarized", "transcribe", want))
    equal("its segments", " ".join(segment.text for segment in whole.segments), want)
    equal("its usage", whole.usage.type, "tokens")
    segments = [event for event in create(stream=True) if event.type == "transcript.text.segment"]
    equal("segments of a stream", [(s.id, s.speaker, s.text) for s in segments],
          [(s.id, s.speaker, s.text) for s in whole.segments])
    with open(sound, "rb") as file:
        reference = "data:audio/wav;base64," + base64.b64encode(file.read()).decode()
    known = create(known_speaker_names=["agent"], known_speaker_references=[reference])
    equal("a speaker who is known", {segment.speaker for segment in known.segments}, {"agent"})


def new_model(client, sound):
    """The fields of gpt-transcribe, unless the client is older than they are."""
    with open(sound, "rb") as file:
        return client.audio.transcriptions.create(
            model="gpt-transcribe", file=file, keywords=["seven", "nine"], languages=["en"]
        )


def realtime(client, sound):
    # A client of gpt-live-transcribe, one of a conversation whose input is transcribed, and one before both.
    live(client, sound, {"intent": "transcription"}, "transcription", {})
    live(client, sound, {"intent": "transcription"}, "transcription",
         {"model": "gpt-live-transcribe", "languages": ["en"], "keywords": ["seven"], "delay": "low"})
    live(client, sound, {"model": "gpt-realtime-2"}, "realtime", {"model": "gpt-realtime-whisper", "language": "en"})


def live(client, sound, query, kind, transcription):
    with open(sound, "rb") as file:
        pcm = file.read()[44:]
    with client.realtime.connect(extra_query=query) as session:
        session.session.update(
            session={
                "type": kind,
                "audio": {
                    "input": {
                        "format": {"type": "audio/pcm", "rate": 16000},
                        "transcription": transcription,
                        "turn_detection": None,
                    }
                },
            }
        )
        for at in range(0, len(pcm), 32000):
            session.input_audio_buffer.append(audio=base64.b64encode(pcm[at : at + 32000]).decode())
        session.input_audio_buffer.commit()
        deltas = segments = ""
        for event in session:
            if event.type == "session.updated":
                equal("the type of the session", event.session.type, kind)
            if event.type == "conversation.item.input_audio_transcription.segment":
                segments += " " + event.text
            if event.type == "error":
                sys.exit(f"realtime: {event.error.message}")
            if event.type == "conversation.item.input_audio_transcription.delta":
                deltas += event.delta
            if event.type == "conversation.item.input_audio_transcription.completed":
                equal("realtime", event.transcript, deltas)
                equal("segments", segments.strip(), deltas)
                if transcription:
                    equal("languages", [language.code for language in event.languages], ["en"])
                    equal("usage", event.usage.total_tokens, event.usage.input_tokens + event.usage.output_tokens)
                if len(deltas.split()) < 5:
                    sys.exit(f"realtime: {deltas!r}")
                return
    sys.exit("realtime: the session ended without a text")


if __name__ == "__main__":
    main(*sys.argv[1:])

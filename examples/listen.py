"""Live sound to text with OpenAI's Python client (pip install 'openai[realtime]').

    arecord -q -f S16_LE -r 16000 -t raw | python listen.py
"""

import base64
import os
import sys
import threading

import openai

client = openai.OpenAI(
    base_url=os.environ.get("VERITY_URL", "http://127.0.0.1:8000") + "/v1",
    api_key=os.environ.get("VERITY_KEY", "none"),
)


def send(session):
    while piece := sys.stdin.buffer.read(3200):  # a tenth of a second
        session.input_audio_buffer.append(audio=base64.b64encode(piece).decode())
    session.input_audio_buffer.commit()


with client.realtime.connect(extra_query={"intent": "transcription"}) as session:
    # Without turn_detection the end of the input ends the text. With server_vad, the default,
    # every utterance is its own item.
    sound = {"format": {"type": "audio/pcm", "rate": 16000}, "turn_detection": None}
    session.session.update(session={"type": "transcription", "audio": {"input": sound}})
    threading.Thread(target=send, args=(session,), daemon=True).start()
    for event in session:
        if event.type == "conversation.item.input_audio_transcription.delta":
            print(event.delta, end="", flush=True)
        if event.type == "conversation.item.input_audio_transcription.completed":
            print()
            break
        if event.type == "error":
            sys.exit(event.error.message)

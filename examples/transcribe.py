"""A file to text with OpenAI's Python client: python transcribe.py talk.wav"""

import os
import sys

import openai

client = openai.OpenAI(
    base_url=os.environ.get("VERITY_URL", "http://127.0.0.1:8000") + "/v1",
    api_key=os.environ.get("VERITY_KEY", "none"),
)
with open(sys.argv[1], "rb") as file:
    for event in client.audio.transcriptions.create(model="whisper-1", file=file, stream=True):
        if event.type == "transcript.text.delta":
            print(event.delta, end="", flush=True)
print()

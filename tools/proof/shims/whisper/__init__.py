"""The names of openai/whisper that its own tests use, answered by Verity: through the Python package verity_asr, and for
what that does not have through tools/proof/bridge."""
import dataclasses
import json
import os

import verity_asr

MODELS = json.loads(os.environ.get("VERITY_PROOF_WHISPER_MODELS", "{}"))  # name: path


def available_models():
    return list(MODELS)


def load_model(name):
    return Model(name)


class Model:
    def __init__(self, name):
        self.model = verity_asr.Model(MODELS[name])
        self.is_multilingual = self.model.is_multilingual
        self.num_languages = len(self.model.supported_languages)

    def to(self, device):
        return self

    def transcribe(self, audio, **options):
        transcript = self.model.transcribe(audio, **options)
        segments = [dataclasses.asdict(s) for s in transcript.segments]
        return {"text": transcript.text, "language": transcript.language, "segments": segments}

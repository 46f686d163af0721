"""Speech to text with Whisper on a CPU.

    import verity_asr

    with verity_asr.Model("base") as model:
        transcript = model.transcribe("talk.mp3", word_timestamps=True)
        print(transcript.text)
        for segment in model.stream("talk.mp3", language="en"):  # each as soon as it is final
            print(segment.start, segment.end, segment.text)

A Model keeps the program verity running, which lies in this package with the model base. The package needs no other.
Names of arguments are those of openai-whisper and faster-whisper; verity_asr.Options lists them. Warnings go to the
logger verity_asr.
"""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys

from ._audio import Audio
from ._errors import AudioError, ModelError, OptionError, ProcessError, VerityError
from ._model import Comparison, Model, Stream, compare, transcribe
from ._options import Options
from ._process import program
from ._results import Segment, Transcript, Turn, Word

__all__ = [
    "Audio", "AudioError", "Comparison", "Model", "ModelError", "OptionError", "Options", "ProcessError", "Segment", "Stream",
    "Transcript", "Turn", "VerityError", "Word", "compare", "program", "transcribe",
]


# The names of faster-whisper and of openai-whisper.
WhisperModel = load_model = Model

_OTHERS = {"BatchedInferencePipeline": "Model", "load_audio": "Model.transcribe", "detect_language": "Model.detect_language"}


def __getattr__(name: str) -> str:
    if name == "__version__":
        return importlib.metadata.version("verity-asr")
    hint = f"; use verity_asr.{_OTHERS[name]}" if name in _OTHERS else ""
    raise AttributeError(f"module verity_asr has no {name}{hint}")


def main() -> None:
    """Runs the program: the command verity."""
    if os.name == "nt":
        sys.exit(subprocess.call([program(), *sys.argv[1:]]))
    os.execv(program(), [program(), *sys.argv[1:]])

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
from typing import TYPE_CHECKING

from ._audio import Audio
from ._errors import AudioError, ModelError, OptionError, ProcessError, VerityError
from ._model import Comparison, Model, Stream, compare, transcribe
from ._options import Options
from ._process import program
from ._results import Info, Segment, Transcript, Turn, Word
from ._whisper import BatchedInferencePipeline, VadOptions, WhisperModel, available_models, decode_audio, load_audio

load_model = Model  # openai-whisper's name

__all__ = [
    "Audio", "AudioError", "BatchedInferencePipeline", "Comparison", "Info", "Model", "ModelError", "OptionError", "Options",
    "ProcessError", "Segment", "Stream", "Transcript", "Turn", "VadOptions", "VerityError", "WhisperModel", "Word",
    "available_models", "compare", "decode_audio", "load_audio", "load_model", "program", "transcribe",
]

# Names of openai-whisper and faster-whisper that are not here: what to do instead.
_OTHERS = {
    "pad_or_trim": "pass the file to Model.transcribe, with clip_timestamps",
    "log_mel_spectrogram": "pass the file to Model.transcribe", "detect_language": "use Model.detect_language",
    "decode": "use Model.transcribe", "DecodingOptions": "use arguments of Model.transcribe",
}

__version__: str

if not TYPE_CHECKING:  # a type checker refuses unknown names

    def __getattr__(name):
        if name == "__version__":
            return importlib.metadata.version("verity-asr")
        raise AttributeError(f"verity_asr has no {name}" + (f": {_OTHERS[name]}" if name in _OTHERS else ""))


def main() -> None:
    """Runs the program: the command verity."""
    if os.name == "nt":
        sys.exit(subprocess.call([program(), *sys.argv[1:]]))
    os.execv(program(), [program(), *sys.argv[1:]])

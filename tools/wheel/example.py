"""Uses verity_asr with the types of its arguments and results, for mypy."""

import io
import pathlib

import verity_asr
from verity_asr.utils import get_writer


def text(path: pathlib.Path) -> str:
    with verity_asr.Model("base", compute_type="int8", num_workers=2) as model:
        transcript = model.transcribe(path, language="en", temperature=[0, 0.5], vad_filter=True, fp16=False, verbose=None)
        for word in transcript.words:
            assert word.start <= word.end
        with model.stream(io.BytesIO(path.read_bytes()), speakers="voice") as segments:
            for segment in segments:
                print(segment.speaker or "?", segment.text)
        model.transcribe(path, "de", verbose=True, vad_parameters=verity_asr.VadOptions(threshold=0.4))
        model.transcribe(path, beam_sise=5)  # type: ignore[call-arg]
        model.transcribe(path, task=3)  # type: ignore[arg-type]
        verity_asr.Model("base", cpu_thread=2)  # type: ignore[call-arg]
    return transcript.text


def as_faster_whisper(model: verity_asr.WhisperModel) -> str:
    segments, info = model.transcribe("talk.mp3", beam_size=5)
    segments = list(segments)
    for segment in segments:
        print(segment.start, segment.text, round(segment.end / info.duration, 2))
        segment.txet  # type: ignore[attr-defined]
    info.duration_after_vad  # type: ignore[attr-defined]
    return info.language + segments[0].text


def as_openai_whisper(name: str) -> str:
    model = verity_asr.load_model(name)
    result = model.transcribe("talk.mp3", fp16=False)
    first: str = result["segments"][0]["text"]
    get_writer("srt", ".")(result, "talk.mp3")
    return first + (result["text"] if "text" in result else str(dict(result)))

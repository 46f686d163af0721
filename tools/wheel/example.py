"""Uses verity_asr with the types of its arguments and results, for mypy."""

import io
import pathlib

import verity_asr


def text(path: pathlib.Path) -> str:
    with verity_asr.Model("base", compute_type="int8", num_workers=2) as model:
        transcript = model.transcribe(path, language="en", temperature=[0, 0.5], vad_filter=True)
        for word in transcript.words:
            assert word.start <= word.end
        with model.stream(io.BytesIO(path.read_bytes()), speakers="voice") as segments:
            for segment in segments:
                print(segment.speaker or "?", segment.text)
        model.transcribe(path, beam_sise=5)  # type: ignore[call-arg]
        model.transcribe(path, task=3)  # type: ignore[arg-type]
    return transcript.text

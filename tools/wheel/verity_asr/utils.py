"""What programs import from whisper.utils."""

from __future__ import annotations

import os
from typing import Any, Callable, Optional

from ._errors import OptionError
from ._results import FORMATS, Transcript


def format_timestamp(seconds: float, always_include_hours: bool = False, decimal_marker: str = ".") -> str:
    """Returns a time as 01:02:03.004, without hours if there are none."""
    ms = round(seconds * 1000)
    hours = f"{ms // 3_600_000:02}:" if always_include_hours or ms >= 3_600_000 else ""
    return f"{hours}{ms // 60_000 % 60:02}:{ms // 1000 % 60:02}{decimal_marker}{ms % 1000:03}"


def get_writer(output_format: str, output_dir: str) -> Callable[..., None]:
    """Returns a function that writes a transcript to output_dir in a format, or in all of txt, vtt, srt, tsv and json.

    The file has the name of the audio file. Limits of lines are options of Model.transcribe.
    """
    formats = ["txt", "vtt", "srt", "tsv", "json"] if output_format == "all" else [output_format]
    if not {*FORMATS, "json"}.issuperset(formats):
        raise OptionError(f"output_format: got {output_format!r}, want all, json, " + ", ".join(FORMATS))

    def write(result: Transcript, audio_path: str, options: Optional[dict[str, Any]] = None, **others: Any) -> None:
        for name, value in {**(options or {}), **others}.items():
            if value:
                raise OptionError(f"{name}: pass it to transcribe, which formats the files")
        name = os.path.splitext(os.path.basename(audio_path))[0]
        for f in formats:
            result.write(os.path.join(output_dir, f"{name}.{f}"))

    return write

"""Audio as files that the program can read."""

from __future__ import annotations

import array
import contextlib
import difflib
import errno
import math
import os
import re
import shutil
import struct
import sys
import tempfile
from collections.abc import Sequence
from typing import Any, BinaryIO, NamedTuple, Union

from ._errors import OptionError

# A path or URL, the bytes of a sound file, a file opened for reading in binary mode, or samples: a one-dimensional
# array of numpy or torch, with float samples from -1 to 1 or int16, or a list of such floats.
Audio = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, BinaryIO, Any]


class File(NamedTuple):
    """A file that the program can read. A temporary one is removed by until, or by the program after Python's sudden end."""

    path: str
    name: str  # in messages
    temporary: bool = True


def as_file(audio: Audio, sampling_rate: int, until: contextlib.ExitStack) -> File:
    """Returns a file with the audio."""
    if isinstance(audio, (str, os.PathLike)):
        path = os.fspath(audio)
        if not isinstance(path, str):
            raise TypeError("audio: got a path in bytes, want str: os.fsdecode(path)")
        return _path(path, until)
    if isinstance(audio, (bytes, bytearray)):
        return File(temporary(bytes(audio), until), "the bytes")
    if callable(getattr(audio, "read", None)):
        name = getattr(audio, "name", None)
        return File(_copied(audio, until), name if isinstance(name, str) else "the file object")
    if hasattr(audio, "detach") and hasattr(audio, "cpu"):  # torch
        audio = audio.detach().cpu().numpy()
    if hasattr(audio, "astype") and hasattr(audio, "shape"):  # numpy
        return File(temporary(_wav(_samples(audio), sampling_rate), until), "the samples")
    if isinstance(audio, (memoryview, array.array)):
        return as_buffer(memoryview(audio), sampling_rate, until)
    if isinstance(audio, Sequence):
        return File(temporary(_wav(_floats(audio), sampling_rate), until), "the samples")
    raise TypeError(
        f"audio: got {type(audio).__name__}, want a path, a URL, the bytes of a sound file, a file opened with 'rb', "
        "or samples: an array of numpy, or a list of floats"
    )


def as_buffer(view: memoryview, sampling_rate: int, until: contextlib.ExitStack) -> File:
    """Writes a buffer: bytes are a sound file, other numbers are samples."""
    if view.format in ("B", "b", "c"):
        return File(temporary(view.tobytes(), until), "the bytes")
    if view.ndim != 1 or view.format not in ("h", "f", "d"):
        raise OptionError(f"audio: got a buffer of format {view.format!r} with {view.ndim} dimensions, want one of h, f or d with 1")
    samples = array.array("h", view.tolist()) if view.format == "h" else _floats(view.tolist())
    return File(temporary(_wav(samples, sampling_rate), until), "the samples")


def _path(path: str, until: contextlib.ExitStack) -> File:
    if re.match("https?://", path, re.IGNORECASE):
        return File(path, path, False)
    path_there = os.path.abspath(path)
    if not os.path.exists(path):
        near: list[str] = []
        with contextlib.suppress(OSError):
            near = difflib.get_close_matches(os.path.basename(path), os.listdir(os.path.dirname(path) or "."), 1)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT) + (f"; did you mean {near[0]}?" if near else ""), path)
    if os.path.isdir(path_there):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    try:
        path_there.encode()
    except UnicodeEncodeError:  # a name that is no text
        with open(path_there, "rb") as f:
            return File(_copied(f, until), ascii(path))
    return File(path_there, path, False)


def _samples(audio: Any) -> Any:
    """Checks an array of numpy, and returns its samples as int16 or float32."""
    if len(audio.shape) == 2 and 1 in audio.shape:  # one channel, as torchaudio returns it
        audio = audio.reshape(-1)
    if len(audio.shape) == 2:
        channels = min(audio.shape)
        raise OptionError(f"audio: got {channels} channels, want one: pass audio.mean(axis={audio.shape.index(channels)})")
    if len(audio.shape) != 1:
        raise OptionError(f"audio: got an array of shape {tuple(audio.shape)}, want one dimension, the samples of one channel")
    kind = str(audio.dtype)
    if kind == "int16":
        return audio
    if not kind.startswith("float"):
        remedy = f": pass audio / 2**{8 * audio.dtype.itemsize - 1}" if kind.startswith("int") else ""
        raise OptionError(f"audio: got samples of {kind}, want int16, or float from -1 to 1{remedy}")
    _check_peak(float(abs(audio).max()) if len(audio) else 0)
    return audio.astype("float32")


def _floats(audio: Sequence[Any]) -> array.array[float]:
    """Checks a list of samples, and returns them as float32."""
    try:
        samples = array.array("f", audio)
    except (TypeError, OverflowError) as e:
        raise OptionError(f"audio: got a {type(audio).__name__} of something else than floats from -1 to 1: {e}") from None
    _check_peak(next((x for x in samples if not math.isfinite(x)), max(map(abs, samples), default=0)))
    return samples


def _check_peak(peak: float) -> None:
    if not math.isfinite(peak):
        raise OptionError(f"audio: got a sample of {peak}, want -1 to 1; numpy.nan_to_num(audio, posinf=0, neginf=0) makes silence of it")
    if peak > 32:
        raise OptionError(f"audio: got samples up to {peak:g}, want -1 to 1; divide samples of 16 bits by 32768")


def check_rate(rate: int) -> None:
    if not isinstance(rate, int) or isinstance(rate, bool) or not 1000 <= rate <= 1_000_000:
        raise OptionError(f"sampling_rate: got {rate!r}, want a whole number from 1000 to 1000000")


def _wav(samples: Any, rate: int) -> bytes:
    """Returns a WAV file. samples is an array with tobytes, of int16 or float32."""
    check_rate(rate)
    if isinstance(samples, array.array) and sys.byteorder == "big":
        samples.byteswap()
    elif not isinstance(samples, array.array):
        samples = samples.astype(samples.dtype.newbyteorder("<"))
    data: bytes = samples.tobytes()
    width = samples.itemsize
    if len(data) >= 1 << 32:
        raise OptionError(f"audio: got {len(data)} bytes of samples, want less than 4 GiB; write them to a file and give its path")
    tag = 1 if width == 2 else 3  # WAVE_FORMAT_PCM, WAVE_FORMAT_IEEE_FLOAT
    format = struct.pack("<HHIIHH", tag, 1, rate, rate * width, width, 8 * width)
    size = min(4 + 8 + len(format) + 8 + len(data), (1 << 32) - 1)
    return b"RIFF" + struct.pack("<I", size) + b"WAVEfmt " + struct.pack("<I", len(format)) + format + b"data" + struct.pack("<I", len(data)) + data


def temporary(data: bytes, until: contextlib.ExitStack) -> str:
    path = _new(until)
    with open(path, "wb") as f:
        f.write(data)
    return path


def _copied(source: Any, until: contextlib.ExitStack) -> str:
    """Copies a file object from its position to its end."""
    start = source.read(0)
    if not isinstance(start, bytes):
        raise TypeError("audio: got a file that is open for text, want binary mode: open(path, 'rb')")
    path = _new(until)
    with open(path, "wb") as f:
        shutil.copyfileobj(source, f)
    return path


def _new(until: contextlib.ExitStack) -> str:
    """Makes a temporary file that only this user may read."""
    number, path = tempfile.mkstemp(prefix="verity-")
    os.close(number)
    until.callback(_remove, path)
    return path


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.remove(path)

"""The errors of the package."""

from __future__ import annotations


class VerityError(RuntimeError):
    """The program refused or failed. The classes below say why; the message says what to do."""


class OptionError(VerityError, ValueError):
    """An argument is unknown or has an unusable value."""


class AudioError(VerityError):
    """The audio is damaged, or in a format that Verity does not read; with ffmpeg installed it reads M4A, MP4 and nearly any other."""


class ModelError(VerityError):
    """The model cannot be found or loaded."""


class ProcessError(VerityError):
    """The program ended, or was closed, before it answered."""

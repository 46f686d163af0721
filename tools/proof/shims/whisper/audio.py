import os
import tempfile

import numpy

from ._bridge import bridge

SAMPLE_RATE = 16000


def load_audio(path):
    with tempfile.TemporaryDirectory() as work:
        file = os.path.join(work, "samples")
        bridge("sound", path=path, file=file)
        return numpy.fromfile(file, dtype=numpy.float32)


def log_mel_spectrogram(audio, n_mels=80):
    sound = {"path": audio} if isinstance(audio, str) else {"samples": audio.tolist()}
    mel = bridge("logmel", bins=n_mels, pad_mel=True, **sound)
    return numpy.array(mel["data"], dtype=numpy.float32).reshape(mel["bins"], mel["frames"])[:, :mel["of_clip"]]

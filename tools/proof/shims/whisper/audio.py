import numpy

from ._bridge import bridge

SAMPLE_RATE = 16000


def load_audio(path):
    return numpy.array(bridge("samples", path=path)["samples"], dtype=numpy.float32)


def log_mel_spectrogram(audio, n_mels=80):
    sound = {"path": audio} if isinstance(audio, str) else {"samples": audio.tolist()}
    mel = bridge("logmel", bins=n_mels, pad_mel=True, **sound)
    return numpy.array(mel["data"], dtype=numpy.float32).reshape(mel["bins"], mel["frames"])[:, :mel["of_clip"]]

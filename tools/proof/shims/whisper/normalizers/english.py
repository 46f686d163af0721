"""Verity has one normalizer for English. Its numbers and its spelling are tested through the whole of it."""
from .._bridge import bridge


class EnglishTextNormalizer:
    def __call__(self, text):
        return bridge("normalize", name="english", texts=[text])["texts"][0]


EnglishNumberNormalizer = EnglishSpellingNormalizer = EnglishTextNormalizer

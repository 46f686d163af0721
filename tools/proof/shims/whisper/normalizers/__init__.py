from .english import EnglishTextNormalizer  # noqa: F401

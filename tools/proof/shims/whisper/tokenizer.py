from ._bridge import bridge


def get_tokenizer(multilingual, *, num_languages=99):
    return Tokenizer(51765 + 1 + num_languages if multilingual else 51864)


class Tokenizer:
    def __init__(self, vocabulary):
        self.vocabulary = vocabulary
        special = bridge("tokenizer", vocabulary=vocabulary)
        self.sot, self.timestamp_begin = special["sot"], special["timestamp_begin"]
        self.all_language_codes, self.all_language_tokens = tuple(special["languages"]), tuple(special["language_tokens"])
        self.sot_sequence = (self.sot,)

    def encode(self, text):
        return bridge("encode", vocabulary=self.vocabulary, text=text)["tokens"]

    def decode(self, tokens):
        return bridge("decode", vocabulary=self.vocabulary, tokens=[t for t in tokens if t < self.timestamp_begin])["text"]

    def decode_with_timestamps(self, tokens):
        return bridge("decode", vocabulary=self.vocabulary, tokens=tokens)["with_timestamps"]

    def split_tokens_on_unicode(self, tokens):
        split = bridge("split", vocabulary=self.vocabulary, tokens=tokens, language="zh")  # where every character is a word
        return split["words"], split["groups"]

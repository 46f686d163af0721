"""The demo model's own vocabulary and the Hugging Face files that describe it.

Ids, in openai's order: 256 bytes, 27 merge steps and the ten words (each one token, with
its leading space), then the specials, then 401 timestamps of 0.02 s.
"""

import json
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

WORDS = "zero one two three four five six seven eight nine".split()
WINDOW = 8  # seconds
TICK = 0.02  # seconds per timestamp, and per encoder position
POSITIONS = 64  # of the decoder: 31 of prompt, 32 of text


def byte_alphabet():
    """GPT-2's printable stand-ins for the 256 bytes, in its order of ids."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    return [chr(b) for b in plain] + [chr(256 + n) for n in range(len(rest))]


def build():
    """Returns the vocabulary {token: id} of plain text and its merges, best first.

    Every word is built from the left, so each of its prefixes is a token too.
    """
    vocab = {c: i for i, c in enumerate(byte_alphabet())}
    merges, words = [], []
    for word in WORDS:
        word = "Ġ" + word
        for n in range(2, len(word) + 1):
            pair = (word[: n - 1], word[n - 1])
            if pair not in merges:
                merges.append(pair)
        words.append(word)
    steps = ["".join(p) for p in merges if "".join(p) not in words]
    for token in steps + words:
        vocab[token] = len(vocab)
    merges.sort(key=lambda p: vocab["".join(p)])
    return vocab, merges


VOCAB, MERGES = build()
SPACE = VOCAB["Ġ"]
DIGIT = VOCAB["Ġzero"]  # the id of " zero"; the others follow
SPECIALS = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|translate|>", "<|transcribe|>",
            "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]
EOT, SOT, EN, TRANSLATE, TRANSCRIBE, SOLM, PREV, NOSPEECH, NOTIMES = range(len(VOCAB), len(VOCAB) + 9)
TIME = NOTIMES + 1  # the id of <|0.00|>
SIZE = TIME + round(WINDOW / TICK) + 1
TIMES = [f"<|{i * TICK:.2f}|>" for i in range(SIZE - TIME)]

# What may never be written: all but the ten words, end of text and timestamps.
SUPPRESS = [*range(DIGIT), SOT, EN, TRANSLATE, TRANSCRIBE, SOLM, PREV, NOSPEECH, NOTIMES]
ALIGNMENT_HEADS = [[1, 0], [2, 0]]  # the two that training guides


def config(width, heads, inner, layers, decoder_layers):
    """config.json of a Whisper of these dims."""
    return {
        "architectures": ["WhisperForConditionalGeneration"], "model_type": "whisper",
        "vocab_size": SIZE, "num_mel_bins": 80, "d_model": width,
        "encoder_layers": layers, "encoder_attention_heads": heads, "encoder_ffn_dim": inner,
        "decoder_layers": decoder_layers, "decoder_attention_heads": heads, "decoder_ffn_dim": inner,
        "num_hidden_layers": layers, "max_source_positions": WINDOW * 50, "max_target_positions": POSITIONS,
        "activation_function": "gelu", "scale_embedding": False, "is_encoder_decoder": True,
        "dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0,
        "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0, "init_std": 0.02, "use_cache": True,
        "tie_word_embeddings": True, "bos_token_id": EOT, "eos_token_id": EOT, "pad_token_id": EOT,
        "decoder_start_token_id": SOT, "median_filter_width": 7, "torch_dtype": "float16",
    }


def generation_config(alignment_heads):
    return {
        "alignment_heads": alignment_heads, "begin_suppress_tokens": [SPACE, EOT], "suppress_tokens": SUPPRESS,
        "bos_token_id": EOT, "eos_token_id": EOT, "pad_token_id": EOT, "decoder_start_token_id": SOT,
        "is_multilingual": True, "lang_to_id": {"<|en|>": EN},
        "task_to_id": {"transcribe": TRANSCRIBE, "translate": TRANSLATE},
        "no_timestamps_token_id": NOTIMES, "prev_sot_token_id": PREV, "return_timestamps": False,
        "max_initial_timestamp_index": 50, "max_length": POSITIONS,
    }


PREPROCESSOR = {
    "feature_extractor_type": "WhisperFeatureExtractor", "processor_class": "WhisperProcessor",
    "feature_size": 80, "sampling_rate": 16000, "chunk_length": WINDOW, "n_samples": WINDOW * 16000,
    "nb_max_frames": WINDOW * 100, "n_fft": 400, "hop_length": 160, "padding_side": "right",
    "padding_value": 0.0, "return_attention_mask": False,
}


def write_json(path, value):
    Path(path).write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def write_tokenizer(folder):
    """Writes both of the tokenizer's forms: tokenizer.json, and vocab.json with merges.txt."""
    folder = Path(folder)
    added = {t: EOT + i for i, t in enumerate(SPECIALS + TIMES)}
    write_json(folder / "vocab.json", VOCAB)
    write_json(folder / "added_tokens.json", added)
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in MERGES))
    write_json(folder / "special_tokens_map.json", {
        "bos_token": SPECIALS[0], "eos_token": SPECIALS[0], "unk_token": SPECIALS[0], "pad_token": SPECIALS[0],
        "additional_special_tokens": SPECIALS[1:],
    })
    write_json(folder / "tokenizer_config.json", {
        "tokenizer_class": "WhisperTokenizer", "processor_class": "WhisperProcessor", "add_prefix_space": False,
        "bos_token": SPECIALS[0], "eos_token": SPECIALS[0], "unk_token": SPECIALS[0], "pad_token": SPECIALS[0],
        "errors": "replace", "model_max_length": POSITIONS,
        "additional_special_tokens": SPECIALS[1:],
    })
    t = Tokenizer(models.BPE(vocab=VOCAB, merges=MERGES))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.add_special_tokens([AddedToken(s, normalized=False, special=True) for s in SPECIALS])
    t.add_tokens([AddedToken(s, normalized=False, special=False) for s in TIMES])
    t.save(str(folder / "tokenizer.json"))

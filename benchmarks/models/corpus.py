"""Text that every Python has, the sources of its standard library, and a tokenizer for it."""

import json
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

END_OF_TEXT = "<|endoftext|>"
TEXT_BYTES = 8 * 2**20
"""Enough for bigrams of ten thousand tokens, and soon read."""


def library_texts(num_bytes: int = TEXT_BYTES) -> list[str]:
    """Return sources of the standard library in the order of their names, without its tests."""
    root = Path(sysconfig.get_paths()["stdlib"])
    texts: list[str] = []
    left_bytes = num_bytes
    for path in sorted(root.rglob("*.py")):
        if {"test", "tests", "idlelib", "site-packages"} & set(path.relative_to(root).parts):
            continue
        text = path.read_text(encoding="utf-8", errors="ignore")
        left_bytes -= len(text)
        if left_bytes < 0:
            break
        texts.append(text)
    return texts


def train_tokenizer(texts: Sequence[str], vocab_size: int) -> Tokenizer:
    """Return a byte-level BPE tokenizer; token 0 ends a text.

    Raises:
        ValueError: the texts hold too little for so many tokens.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    if tokenizer.get_vocab_size() != vocab_size:
        found = tokenizer.get_vocab_size()
        raise ValueError(f"the texts give {found} tokens, {vocab_size} were asked for")
    return tokenizer


def save_tokenizer(tokenizer: Tokenizer, folder: Path, max_tokens: int) -> None:
    """Write a tokenizer as transformers loads it."""
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": END_OF_TEXT,
        "model_max_length": max_tokens,
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")

"""The target's tokens are found in the tokens of the whole text."""

from __future__ import annotations

import pytest
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast

from headatlas.errors import TaskError
from headatlas.models.tokens import Tokens, common_prefix, encode, leading_special_tokens
from small_things import byte_tokenizer


def test_prompt_and_target_are_one_text(embedded):
    tokens = embedded.encode("Q: wolf\nA:", " wolves")
    assert embedded.tokenizer.decode(tokens.ids) == "Q: wolf\nA: wolves"
    assert embedded.tokenizer.decode(tokens.target) == " wolves"


def test_a_token_over_the_border_belongs_to_the_target(embedded):
    tokens = embedded.encode("The wol", "ves")
    whole = tuple(embedded.tokenizer("The wolves")["input_ids"])
    assert tokens.ids == whole
    assert embedded.tokenizer.decode(tokens.target).endswith("wolves")


def test_bos_comes_first_and_eos_is_left_out():
    tokenizer = byte_tokenizer()
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    assert leading_special_tokens(tokenizer) == (0,)
    tokens = encode(tokenizer, "ab", "c")
    assert tokens.ids[0] == 0
    assert 1 not in tokens.ids
    assert tokenizer.decode(tokens.target) == "c"


def test_a_target_needs_something_before_it():
    with pytest.raises(TaskError, match="something before it"):
        encode(byte_tokenizer(), "", "abc")
    with pytest.raises(TaskError, match="at least one token"):
        Tokens((1, 2), 2)


def test_common_prefix():
    assert common_prefix([[1, 2, 3], [1, 2], [1, 2, 9]]) == 2
    assert common_prefix([[5], [6]]) == 0
    assert common_prefix([[5, 6]]) == 2


WORDS = "the wolf and the wolves sat by a river, 12 3456 times; naïve café — Привет 你好 🙂 x\ny"


def _trained(model, trainer, pre=None, normalizer=None, decoder=None):
    backend = Tokenizer(model)
    backend.pre_tokenizer = pre
    backend.normalizer = normalizer
    backend.decoder = decoder
    backend.train_from_iterator([WORDS] * 20, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=backend)


def _tokenizers():
    metaspace = pre_tokenizers.Metaspace(prepend_scheme="first")
    yield "bytes", byte_tokenizer()
    yield (
        "byte-level BPE",
        _trained(
            models.BPE(),
            trainers.BpeTrainer(
                vocab_size=320, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
            ),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
            decoder=decoders.ByteLevel(),
        ),
    )
    yield (
        "unigram over word borders",
        _trained(
            models.Unigram(),
            trainers.UnigramTrainer(vocab_size=60, unk_token="<unk>", special_tokens=["<unk>"]),
            decoder=decoders.Metaspace(),
        ),
    )
    yield (
        "sentencepiece-like BPE",
        _trained(
            models.BPE(unk_token="<unk>"),
            trainers.BpeTrainer(vocab_size=120, special_tokens=["<unk>"]),
            metaspace,
            decoder=decoders.Metaspace(prepend_scheme="first"),
        ),
    )
    yield (
        "word pieces, lower case",
        _trained(
            models.WordPiece(unk_token="[UNK]"),
            trainers.WordPieceTrainer(vocab_size=120, special_tokens=["[UNK]"]),
            pre_tokenizers.BertPreTokenizer(),
            normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()]),
            decoders.WordPiece(),
        ),
    )


TOKENIZERS = dict(_tokenizers())
PAIRS = [
    ("Q: wolf\nA:", " wolves"),
    ("The wol", "ves sat"),
    ("by a river, 12", "34 times"),
    ("naïve caf", "é — Привет"),
    ("你", "好 🙂"),
    ("the wolf ", "and the"),
    ("a", "\ny"),
    ("x x x", "  x"),
]


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize(("prompt", "target"), PAIRS)
def test_the_target_is_every_token_that_reaches_into_it_and_no_other(name, prompt, target):
    tokenizer = TOKENIZERS[name]
    whole = tokenizer(prompt + target, add_special_tokens=False, return_offsets_mapping=True)
    ends = [end for _, end in whole["offset_mapping"]]
    starts = [start for start, _ in whole["offset_mapping"]]
    if ends[0] > len(prompt):
        with pytest.raises(TaskError, match="something before it"):
            encode(tokenizer, prompt, target)
        return
    tokens = encode(tokenizer, prompt, target)
    assert list(tokens.ids) == whole["input_ids"]  # as one text, not as two
    assert all(end <= len(prompt) for end in ends[: tokens.target_start])
    assert all(end > len(prompt) for end in ends[tokens.target_start :])
    assert all(start >= len(prompt) for start in starts[tokens.target_start + 1 :])


def test_tokens_before_the_border_may_change_without_becoming_the_target():
    """A unigram model may cut the prompt itself differently when the target follows."""
    pieces = [("<unk>", -20.0), ("x", -1.0), ("ab", -1.0), ("c", -1.0), ("a", -2.0), ("d", -9.0)]
    backend = Tokenizer(models.Unigram([*pieces, ("bcd", -1.0)], unk_id=0))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend)
    assert tokenizer.tokenize("xabc") == ["x", "ab", "c"]
    assert tokenizer.tokenize("xabcd") == ["x", "a", "bcd"]
    tokens = encode(tokenizer, "xabc", "d")
    assert tokenizer.convert_ids_to_tokens(list(tokens.target)) == ["bcd"]


def test_a_tokenizer_that_tells_no_places_gives_the_same_border():
    class Slow:
        is_fast = False

        def __init__(self, inner):
            self.inner = inner

        def __call__(self, text, **options):
            return self.inner(text, **options)

    for prompt, target in PAIRS:
        fast = byte_tokenizer()
        assert encode(Slow(fast), prompt, target) == encode(fast, prompt, target)

"""The target's tokens are found in the tokens of the whole text."""

from __future__ import annotations

import pytest
from tokenizers import processors

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

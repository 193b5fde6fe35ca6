"""Text as tokens: which tokens are the target, and which special tokens come first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from transformers import PreTrainedTokenizerBase

from headatlas.errors import TaskError


@dataclass(frozen=True)
class Tokens:
    """The token ids of one example; the target runs from `target_start` to the end.

    Only tokens with something before them can be predicted, so `target_start` is at least 1.
    """

    ids: tuple[int, ...]
    target_start: int

    def __post_init__(self) -> None:
        if not isinstance(self.ids, tuple):
            object.__setattr__(self, "ids", tuple(self.ids))
        if not 1 <= self.target_start < len(self.ids):
            raise TaskError(
                f"a target needs at least one token and something before it, but it starts at "
                f"token {self.target_start} of {len(self.ids)}."
            )

    @property
    def target(self) -> tuple[int, ...]:
        return self.ids[self.target_start :]

    @property
    def positions(self) -> range:
        """Where the target's tokens stand."""
        return range(self.target_start, len(self.ids))

    def __len__(self) -> int:
        return len(self.ids)


def leading_special_tokens(tokenizer: PreTrainedTokenizerBase) -> tuple[int, ...]:
    """The special tokens (BOS) that this tokenizer puts before a text.

    Tokens that it would put after the text (EOS, SEP) are not wanted before a target.
    """
    bare = list(tokenizer("a", add_special_tokens=False)["input_ids"])
    full = list(tokenizer("a")["input_ids"])
    # from the end, for tokenizers whose BOS also stands for unknown text
    for start in reversed(range(len(full) - len(bare) + 1)):
        if full[start : start + len(bare)] == bare:
            return tuple(full[:start])
    return ()


def encode(tokenizer: PreTrainedTokenizerBase, prompt: str, target: str) -> Tokens:
    """Tokenize prompt and target as one text and find the target's tokens in it.

    Prompt and target are joined as they are: a target that follows a space brings it along. The
    target starts at the first token that reaches into the target's text, so a token that reaches
    over the border belongs to the target.
    """
    start = leading_special_tokens(tokenizer)
    whole, border = _split(tokenizer, prompt, target)
    return Tokens(start + whole, len(start) + border)


def _split(
    tokenizer: PreTrainedTokenizerBase, prompt: str, target: str
) -> tuple[tuple[int, ...], int]:
    """The tokens of the whole text, and the number of the first one of the target."""
    if tokenizer.is_fast:
        encoded = tokenizer(prompt + target, add_special_tokens=False, return_offsets_mapping=True)
        whole = tuple(encoded["input_ids"])
        for number, (_, end) in enumerate(encoded["offset_mapping"]):
            if end > len(prompt):
                return whole, number
    else:
        whole = _ids(tokenizer, prompt + target)
    # a tokenizer without offsets: the border is where the tokens of the prompt alone differ
    return whole, common_prefix([whole, _ids(tokenizer, prompt)])


def encode_prompt(tokenizer: PreTrainedTokenizerBase, prompt: str) -> tuple[int, ...]:
    """The token ids of a prompt to continue."""
    return leading_special_tokens(tokenizer) + _ids(tokenizer, prompt)


def common_prefix(rows: Sequence[Sequence[int]]) -> int:
    """The number of leading tokens that all rows share."""
    ordered = sorted(map(tuple, rows))  # then the first and the last differ earliest
    first, last = ordered[0], ordered[-1]
    for index, (a, b) in enumerate(zip(first, last, strict=False)):
        if a != b:
            return index
    return min(len(first), len(last))


def group_by_prefix(rows: Sequence[Tokens]) -> list[list[int]]:
    """Row numbers in groups: each row together with the rows that it starts with, longest last.

    A causal model gives the same for a row as for the start of a longer one, so only the last row
    of each group has to run.

    >>> group_by_prefix([Tokens((1, 2), 1), Tokens((1, 3), 1), Tokens((1, 2, 3), 2)])
    [[0, 2], [1]]
    """
    return _nested([row.ids for row in rows])


def group_by_input(rows: Sequence[Tokens]) -> list[list[int]]:
    """Row numbers in groups, by what has to run to score them: all but a row's last token.

    >>> group_by_input([Tokens((1, 2), 1), Tokens((1, 3), 1), Tokens((1, 2, 3), 2)])
    [[0, 1, 2]]
    """
    return _nested([row.ids[:-1] for row in rows])


def _nested(sequences: Sequence[tuple[int, ...]]) -> list[list[int]]:
    """Numbers of the sequences in groups, each together with those that it starts with."""
    order = sorted(range(len(sequences)), key=lambda i: sequences[i])
    groups: list[list[int]] = [[]]
    for place, number in enumerate(order):
        groups[-1].append(number)
        longer = sequences[order[place + 1]] if place + 1 < len(order) else None
        if longer is None or longer[: len(sequences[number])] != sequences[number]:
            groups.append([])
    return groups[:-1]


def _ids(tokenizer: PreTrainedTokenizerBase, text: str) -> tuple[int, ...]:
    return tuple(tokenizer(text, add_special_tokens=False)["input_ids"])

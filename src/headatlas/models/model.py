"""A causal language model whose heads can be edited and read."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from html import escape
from typing import Any, cast

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel, PreTrainedTokenizerBase
from transformers.cache_utils import Cache

from headatlas.errors import EditError, ModelError
from headatlas.models.connection import Connection, Reader
from headatlas.models.edit import Edit
from headatlas.models.heads.survey import survey
from headatlas.models.heads.verify import Check, verify
from headatlas.models.load.fingerprint import fingerprint
from headatlas.models.run.attention_weights import AttentionReader, reading_attention
from headatlas.models.run.generating import generate_ids
from headatlas.models.run.reading import read_heads
from headatlas.models.run.scoring import TargetScores, score_targets
from headatlas.models.run.shortcuts import continues_from_cache, packs, resumes
from headatlas.models.run.sweep import Sweep, SweepPlan
from headatlas.models.spec import ModelSpec
from headatlas.models.tokens import Tokens, encode, encode_prompt
from headatlas.models.weights import count_parameters, input_device


class Model:
    """A frozen model, its tokenizer and its spec.

    `hf` is the `transformers` model itself, in evaluation mode; nothing here changes its weights.
    One model serves one thread at a time.

    >>> from headatlas import load_model
    >>> model = load_model("smollm2-135m")
    >>> model.generate(["The capital of France is"], max_new_tokens=1)
    [' Paris']
    >>> row = model.encode("The capital of France is", " Paris")
    >>> model.score([row]).exact().tolist()
    [True]
    """

    def __init__(
        self, hf: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None, name: str
    ) -> None:
        self.hf = hf.eval().requires_grad_(False)
        self.tokenizer = tokenizer
        config = hf.config.get_text_config(decoder=True)
        self.spec = ModelSpec(
            name=name,
            architecture=type(hf).__name__,
            layers=survey(hf),
            parameters=count_parameters(hf),
            dtype=str(hf.dtype).removeprefix("torch."),
            attn_implementation=str(config._attn_implementation),
            context=getattr(config, "max_position_embeddings", None),
        )
        self._connection = Connection(hf, self.spec)
        self._sweeps: list[Sweep] = []

    def __repr__(self) -> str:
        return f"Model({self.spec.name!r}: {self._summary()})"

    def _repr_html_(self) -> str:
        return f"<p><strong>{escape(self.spec.name)}</strong>: {escape(self._summary())}</p>"

    def _summary(self) -> str:
        spec = self.spec
        state = "not verified yet"
        if (checks := self.__dict__.get("checks")) is not None:  # looked at, but not run for this
            state = "verified" if all(check.passed for check in checks) else "failed verification"
        return (
            f"{spec.architecture}, {spec.n_layers} layers × {spec.n_heads} heads, "
            f"{_short(spec.parameters)} parameters, {state}"
        )

    @property
    def device(self) -> torch.device:
        """The device that inputs go to."""
        return input_device(self.hf)

    @cached_property
    def vocabulary_size(self) -> int:
        """The number of tokens that the model has an embedding for."""
        weight = getattr(self.hf.get_input_embeddings(), "weight", None)
        if isinstance(weight, Tensor):
            return int(weight.shape[0])
        return int(self.hf.config.get_text_config(decoder=True).vocab_size)

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """What `verify` finds on this model, computed once."""
        return verify(self)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of everything that determines what the model computes: weights, config, tokens."""
        return fingerprint(self.hf, self.tokenizer)

    @cached_property
    def continues_from_cache(self) -> bool:
        """Whether rows that continue a cached prefix score as they do without a cache."""
        return continues_from_cache(self)

    @cached_property
    def packs(self) -> bool:
        """Whether rows packed into one, kept apart by a mask, score as they do alone."""
        return packs(self)

    @cached_property
    def resumes(self) -> bool:
        """Whether passes may begin at any layer, with what an earlier pass left there."""
        return resumes(self)

    @property
    def is_read(self) -> bool:
        """Whether head outputs are being read at this moment."""
        return bool(self._connection.readers)

    def new_cache(self) -> Cache:
        """An empty cache of the kind that the model uses."""
        return DynamicCache(config=self.hf.config)

    # -- edits ---------------------------------------------------------------------------------

    def editing(self, edit: Edit, *, copies: bool = False) -> AbstractContextManager[None]:
        """Run everything inside with the edit; on leaving, the model is as it was before.

        An edit inside another one takes its place. A batch must have as many rows as an edit with
        a row axis; with `copies`, it may also hold several copies of each row (beams, samples).

        >>> import torch
        >>> from headatlas import Edit, load_model
        >>> model = load_model("smollm2-135m")
        >>> with model.editing(Edit.ablate(model.spec, [(0, 3)])):
        ...     logits = model.hf(torch.tensor([[504, 3575]])).logits
        """
        return self._connection.editing(edit, copies)

    def editing_rows(self, edit: Edit, rows: Sequence[int]) -> AbstractContextManager[None]:
        """Run with the part of an edit that belongs to some rows of the batch."""
        return self.editing(edit.select_rows(rows))

    def reading(self, reader: Reader) -> AbstractContextManager[None]:
        """Show `reader` the head outputs of everything that runs inside."""
        return self._connection.reading(reader)

    def reading_attention(self, reader: AttentionReader) -> AbstractContextManager[None]:
        """Show `reader` the attention weights of everything that runs inside, one layer at a time.

        The model runs its own eager attention meanwhile, which gives them; `read_attention` of
        `models.run.attention_weights` runs rows.
        """
        return reading_attention(self, reader)

    # -- uses ----------------------------------------------------------------------------------

    def encode(self, prompt: str, target: str) -> Tokens:
        """Tokens of a prompt and its target."""
        return encode(self._need_tokenizer(), prompt, target)

    def encode_fitting(self, texts: Sequence[tuple[str, str]]) -> list[Tokens | None]:
        """Tokens of (prompt, target) pairs; `None` for those longer than the model's context."""
        rows = [self.encode(prompt, target) for prompt, target in texts]
        limit = self.spec.context
        return [row if limit is None or len(row) <= limit else None for row in rows]

    def score(
        self,
        rows: Sequence[Tokens],
        edit: Edit | None = None,
        *,
        share: bool | None = None,
        pack: bool | None = None,
    ) -> TargetScores:
        """Log-probability of every row's target, with gradient if the edit requires it."""
        return score_targets(self, rows, edit or self._connection.edit, share=share, pack=pack)

    def sweep(self, plan: SweepPlan) -> Sweep:
        """The same rows under many edits; the last two are kept, with what was computed."""
        for sweep in self._sweeps:
            if sweep.plan.is_like(plan):
                return sweep
        self._sweeps = self._sweeps[-1:]  # before the new one takes memory
        self._sweeps.append(Sweep(self, plan))
        return self._sweeps[-1]

    def read(
        self,
        rows: Sequence[Sequence[int]],
        *,
        layers: Sequence[int] | None = None,
        heads: Sequence[int] | None = None,
        positions: Sequence[Sequence[int]] | None = None,
        edit: Edit | None = None,
    ) -> Tensor:
        """Head outputs, row × layer × head × position × d_head; see `read_heads`."""
        edit = edit or self._connection.edit
        return read_heads(self, rows, layers=layers, heads=heads, positions=positions, edit=edit)

    def generate(
        self,
        prompts: Sequence[str] | Sequence[Sequence[int]],
        edit: Edit | None = None,
        **options: Any,
    ) -> list[str] | list[list[int]]:
        """Continue prompts (all texts, or all token ids) under an edit; returns the same kind.

        `options` are those of the `generate` of `transformers`; by default, the continuation is
        greedy and has at most 32 new tokens.
        """
        if isinstance(prompts, str):
            raise EditError("generate takes a list of prompts, not one text.")
        texts = [prompt for prompt in prompts if isinstance(prompt, str)]
        if texts and len(texts) < len(prompts):
            raise EditError("prompts are either all texts or all lists of token ids, not both.")
        edit = edit or self._connection.edit
        if not texts:
            return generate_ids(self, cast("Sequence[Sequence[int]]", prompts), edit, options)
        tokenizer = self._need_tokenizer()
        rows = [encode_prompt(tokenizer, text) for text in texts]
        new = generate_ids(self, rows, edit, options)
        return [str(tokenizer.decode(row, skip_special_tokens=True)) for row in new]

    def _need_tokenizer(self) -> PreTrainedTokenizerBase:
        if self.tokenizer is None:
            raise ModelError(
                f"{self.spec.name} came without a tokenizer: give token ids instead of text, or "
                "put a tokenizer.json into its folder."
            )
        return self.tokenizer


def _short(count: int) -> str:
    """A large number in three or four digits: 134.5M."""
    for unit, size in (("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return str(count)

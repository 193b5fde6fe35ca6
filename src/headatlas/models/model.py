"""A causal language model whose heads can be edited and read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache, PreTrainedModel, PreTrainedTokenizerBase
from transformers.cache_utils import Cache

from headatlas.errors import EditError, ModelError
from headatlas.models.edit import Edit
from headatlas.models.load.fingerprint import fingerprint
from headatlas.models.interface import listening
from headatlas.models.run.reading import read_heads
from headatlas.models.run.scoring import TargetScores, score_targets
from headatlas.models.spec import LayerSpec, ModelSpec
from headatlas.models.heads.survey import survey
from headatlas.models.tokens import Tokens, encode, encode_prompt

Reader = Callable[[int, Tensor, int], None]
"""Takes a layer, its head outputs and the position of their first token."""


class Model:
    """A frozen model, its tokenizer and its spec.

    `hf` is the `transformers` model itself, in evaluation mode; nothing here changes its weights.
    One model serves one thread at a time.
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
            parameters=sum(p.numel() for p in hf.parameters()),
            dtype=str(hf.dtype).removeprefix("torch."),
            attn_implementation=str(config._attn_implementation),
            context=getattr(config, "max_position_embeddings", None),
        )
        modules = dict(hf.named_modules())
        self._sites: list[tuple[int, LayerSpec, nn.Module]] = [
            (i, layer, modules[module if layer.site == "attention" else projection])
            for i, layer in enumerate(self.spec.layers)
            if layer
            for module, projection in ((layer.module, layer.projection), *layer.copies)
        ]
        self._layer_of = {
            module: i for i, layer, module in self._sites if layer.site == "attention"
        }
        self._offset = 0
        self._edit = Edit()
        self._readers: list[Reader] = []
        self._open = 0

    def __repr__(self) -> str:
        return f"Model({self.spec.name!r}, {self.spec.n_layers}×{self.spec.n_heads} heads)"

    @cached_property
    def fingerprint(self) -> str:
        """Hash of everything that determines what the model computes: weights, config, tokens."""
        return fingerprint(self.hf, self.tokenizer)

    @cached_property
    def continues_from_cache(self) -> bool:
        """Whether a text in two parts through a cache gives what it gives in one part."""
        from headatlas.models.heads.verify import continues_from_cache

        return continues_from_cache(self)

    @cached_property
    def packs(self) -> bool:
        """Whether rows packed into one, kept apart by a mask, score as they do alone."""
        from headatlas.models.heads.verify import packs

        return packs(self)

    @property
    def is_read(self) -> bool:
        """Whether somebody reads head outputs at this moment."""
        return bool(self._readers)

    def new_cache(self) -> Cache:
        """An empty cache of the kind the model wants."""
        return DynamicCache(config=self.hf.config)

    # -- edits ---------------------------------------------------------------------------------

    @contextmanager
    def editing(self, edit: Edit) -> Iterator[None]:
        """Run everything inside with the edit; on leaving, the model is as it was before.

        An edit inside another one takes its place.
        """
        edit.check(self.spec)
        before = self._edit
        self._edit = edit
        try:
            with self._connected():
                yield
        finally:
            self._edit = before

    def editing_rows(self, edit: Edit, rows: Sequence[int]) -> Any:
        """Run with the part of an edit that belongs to some rows of the batch."""
        return self.editing(edit.select_rows(rows))

    @contextmanager
    def reading(self, reader: Reader) -> Iterator[None]:
        """Show `reader` the head outputs of everything that runs inside."""
        self._readers.append(reader)
        try:
            with self._connected():
                yield
        finally:
            self._readers.remove(reader)

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Connect to the model while any edit or reader is active."""
        self._open += 1
        try:
            with ExitStack() as stack:
                if self._open == 1:
                    self._connect(stack)
                yield
        finally:
            self._open -= 1

    def _connect(self, stack: ExitStack) -> None:
        def at_attention(module: nn.Module, key: Tensor, z: Tensor) -> Tensor:
            layer = self._layer_of.get(module)
            return z if layer is None else self._transform(layer, z)

        def note_offset(module: nn.Module, args: Any, kwargs: dict[str, Any]) -> None:
            past = kwargs.get("past_key_values")
            self._offset = int(past.get_seq_length()) if isinstance(past, Cache) else 0

        stack.enter_context(listening(at_attention))
        handle = self.hf.register_forward_pre_hook(note_offset, with_kwargs=True)
        stack.callback(handle.remove)
        for layer, spec, module in self._sites:
            if spec.site == "projection":
                stack.callback(self._hook_projection(layer, spec, module).remove)

    def _hook_projection(self, layer: int, spec: LayerSpec, module: nn.Module) -> Any:
        def at_projection(module: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            z = args[0].unflatten(-1, (spec.heads, spec.d_head))
            return (self._transform(layer, z).flatten(-2), *args[1:])

        return module.register_forward_pre_hook(at_projection)

    def _transform(self, layer: int, z: Tensor) -> Tensor:
        for reader in self._readers:
            reader(layer, z, self._offset)
        return self._edit.apply(z, layer, self._offset)

    # -- uses ----------------------------------------------------------------------------------

    def encode(self, prompt: str, target: str) -> Tokens:
        """Tokens of a prompt and its target."""
        return encode(self._need_tokenizer(), prompt, target)

    def score(
        self,
        rows: Sequence[Tokens],
        edit: Edit | None = None,
        *,
        share: bool | None = None,
        pack: bool | None = None,
    ) -> TargetScores:
        """Log-probability of every row's target, with gradient if the edit requires it."""
        return score_targets(self, rows, edit or self._edit, share=share, pack=pack)

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
        edit = edit or self._edit
        return read_heads(self, rows, layers=layers, heads=heads, positions=positions, edit=edit)

    @torch.no_grad()
    def generate(
        self,
        prompts: Sequence[str] | Sequence[Sequence[int]],
        edit: Edit | None = None,
        **options: Any,
    ) -> list[str] | list[list[int]]:
        """Continue prompts (texts, or token ids) under an edit, through the model's `generate`.

        Greedy unless `options` say otherwise; the same kind of thing comes back as went in.
        """
        if isinstance(prompts, str):
            raise EditError("generate takes a list of prompts, not one text.")
        texts = [prompt for prompt in prompts if isinstance(prompt, str)]
        rows = [
            encode_prompt(self._need_tokenizer(), p) if isinstance(p, str) else tuple(p)
            for p in prompts
        ]
        edit = edit or self._edit
        edit.check_rows(len(rows))
        length = max(len(row) for row in rows)
        if edit.by_position and any(len(row) != length for row in rows):
            raise EditError("an edit by position needs prompts of one length to generate from.")
        ids = torch.tensor([[*[0] * (length - len(row)), *row] for row in rows])
        mask = torch.tensor([[*[0] * (length - len(row)), *[1] * len(row)] for row in rows])
        settings: dict[str, Any] = {"do_sample": False, "max_new_tokens": 32, **options}
        if self.hf.generation_config.pad_token_id is None:
            settings.setdefault("pad_token_id", 0)
        with self.editing(edit):
            out = self.hf.generate(
                ids.to(self.hf.device), attention_mask=mask.to(self.hf.device), **settings
            )
        new: list[list[int]] = out[:, length:].tolist()
        if not texts:
            return new
        tokenizer = self._need_tokenizer()
        return [str(tokenizer.decode(row, skip_special_tokens=True)) for row in new]

    def _need_tokenizer(self) -> PreTrainedTokenizerBase:
        if self.tokenizer is None:
            raise ModelError(
                f"{self.spec.name} came without a tokenizer: give token ids instead of text, or "
                "put a tokenizer.json into its folder."
            )
        return self.tokenizer

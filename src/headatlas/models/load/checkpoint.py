"""Reading a checkpoint with `transformers`."""

from __future__ import annotations

from typing import Any

from transformers import AutoModelForCausalLM


def load_with_info(source: str, **options: Any) -> tuple[Any, dict[str, Any]]:
    """A model and what was missing from its weights."""
    loaded: Any = AutoModelForCausalLM.from_pretrained(
        source, output_loading_info=True, trust_remote_code=False, **options
    )
    return loaded[0], loaded[1]

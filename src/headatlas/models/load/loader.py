"""Load a model by hub name, folder, GGUF file or the name of the embedded default."""

from __future__ import annotations

import difflib
import logging
import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedTokenizerBase,
)
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
)
from transformers.utils import logging as transformers_logging

from headatlas.errors import HeadAtlasError, ModelError
from headatlas.models.load.checkpoint import load_with_info
from headatlas.models.load.embedded import EMBEDDED, embedded_file
from headatlas.models.load.gguf import converted_folder
from headatlas.models.model import Model

logger = logging.getLogger(__name__)

HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
TOKENIZER_FILES = ("tokenizer*", "vocab*", "merges.txt", "*.model", "spiece*", "*.tiktoken")
QUIET_BYTES = 2_000_000_000
"""Weights up to this size load in a moment; larger ones show a progress bar."""


def load_model(
    name: str = EMBEDDED,
    *,
    device: str | None = None,
    dtype: str | None = None,
    attn_implementation: str | None = None,
    device_map: str | dict[str, Any] | None = None,
    download: bool = False,
) -> Model:
    """Load a causal language model whose heads can be edited and read.

    `name` is a hub name, a folder, a `.gguf` file or `smollm2-135m`. Hub names are looked up in
    the local Hugging Face cache; `download=True` allows the network. Code that comes with a model
    is never run.

    `device` is a torch device (default: the first accelerator, else the CPU); `dtype` a torch
    number format (default: float32 on the CPU, the checkpoint's own elsewhere);
    `attn_implementation` is `sdpa`, `eager`, `flash_attention_2`, … (default: what the model
    prefers); `device_map` spreads a model over several devices, as in `transformers`.

    >>> from headatlas import load_model
    >>> load_model("smollm2-135m").spec.n_heads
    9
    """
    name = str(name)
    folder = _resolve(name)
    source = str(folder or name)
    local = {"local_files_only": not download or folder is not None, "trust_remote_code": False}
    target = _device(device)
    config = _load_config(name, source, local)
    _check_causal(name, config)
    options: dict[str, Any] = {"dtype": _dtype(dtype, target), "config": config}
    options["local_files_only"] = local["local_files_only"]
    if attn_implementation:
        options["attn_implementation"] = attn_implementation
    if device_map is not None:
        options["device_map"] = device_map
    model = _load_weights(name, source, options)
    if device_map is None:
        model = _move(model, name, target)
    tokenizer = _load_tokenizer(name, source, folder, local)
    try:
        return Model(model, tokenizer, name)
    except HeadAtlasError:
        raise
    except Exception as error:
        raise ModelError(f"{name} cannot be run: {_first_line(error)}.") from error


def load_tokenizer(
    name: str = EMBEDDED, *, download: bool = False
) -> tuple[PreTrainedTokenizerBase | None, int | None]:
    """A model's tokenizer and the number of tokens of its context, without its weights.

    Either is `None` if the model does not have it.
    """
    folder = _resolve(str(name))
    local = {"local_files_only": not download or folder is not None, "trust_remote_code": False}
    source = str(folder or name)
    config = _load_config(name, source, local).get_text_config(decoder=True)
    context = getattr(config, "max_position_embeddings", None)
    return _load_tokenizer(name, source, folder, local), context


def _resolve(name: str) -> Path | None:
    """The folder to load from; `None` for a hub name."""
    if name == EMBEDDED:
        return converted_folder(embedded_file(), EMBEDDED)
    path = Path(name).expanduser()
    if path.is_file():
        if path.suffix.lower() != ".gguf":
            raise ModelError(f"{name} is a file but not a GGUF: give a folder or a .gguf file.")
        return converted_folder(path)
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ModelError(f"the folder {name} has no config.json: it is not a saved model.")
        return path
    if path.suffix.lower() == ".gguf" or not HUB_NAME.fullmatch(name) or name.startswith("."):
        raise ModelError(f"there is no file or folder {name}.")
    return None


def _load_config(name: str, source: str, local: dict[str, bool]) -> PreTrainedConfig:
    try:
        config: PreTrainedConfig = AutoConfig.from_pretrained(source, **local)
        return config
    except Exception as error:
        # other people's files and readers: nearly anything can be raised
        if isinstance(error, OSError) and not Path(source).is_dir():
            raise ModelError(_unknown(name, local, error)) from error
        reason = _first_line(error)
        if "trust_remote_code" in str(error):
            reason = "it needs code of its own, which Head Atlas never runs"
        raise ModelError(f"the configuration of {name} cannot be used: {reason}.") from error


def _unknown(name: str, local: dict[str, bool], error: OSError) -> str:
    near = difflib.get_close_matches(name, [EMBEDDED], cutoff=0.6)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    if not local["local_files_only"]:
        return f"no model '{name}' could be loaded from the hub ({_first_line(error)}).{hint}"
    return (
        f"no model '{name}': it is neither a folder nor in the local Hugging Face cache.{hint} Use "
        "--download (download=True) to get a model from the hub."
    )


def _check_causal(name: str, config: PreTrainedConfig) -> None:
    """Refuse what is not a causal language model before loading its weights."""
    classes = list(getattr(config, "architectures", None) or [])
    if config.is_encoder_decoder:
        raise ModelError(
            f"{name} is an encoder–decoder model ({config.model_type}): Head Atlas maps causal "
            "language models."
        )
    known = set(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values())
    if type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING or (classes and not known & set(classes)):
        what = classes[0] if classes else config.model_type
        raise ModelError(
            f"{name} is not a causal language model ({what} is encoder-only or has no language "
            "head): Head Atlas maps causal language models."
        )


def _load_weights(name: str, source: str, options: dict[str, Any]) -> Any:
    try:
        with _quiet(source):
            model, info = load_with_info(source, **options)
    except Exception as error:
        raise ModelError(f"{name} cannot be loaded: {_first_line(error)}.") from error
    missing = sorted(info["missing_keys"])
    if missing:
        raise ModelError(
            f"{name} lacks {len(missing)} of its weights ({missing[0]}, …): its numbers would be "
            "random."
        )
    return model


def _load_tokenizer(
    name: str, source: str, folder: Path | None, local: dict[str, bool]
) -> PreTrainedTokenizerBase | None:
    if folder is not None and not any(list(folder.glob(pattern)) for pattern in TOKENIZER_FILES):
        logger.info("%s has no tokenizer: only token ids can be used", name)
        return None
    try:
        return AutoTokenizer.from_pretrained(source, **local)
    except Exception as error:
        reason = _first_line(error)
        raise ModelError(f"the tokenizer of {name} cannot be read: {reason}.") from error


def _device(device: str | None) -> torch.device:
    """The given device, or the first accelerator, or the CPU."""
    if device is None:
        accelerator = torch.accelerator.current_accelerator(check_available=True)
        return accelerator or torch.device("cpu")
    try:
        return torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ModelError(f"no device '{device}': use cpu, cuda, cuda:1 or mps.") from error


def _move(model: Any, name: str, target: torch.device) -> Any:
    try:
        return model.to(target)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = _first_line(error)
        raise ModelError(f"{name} cannot be put on the device '{target}': {reason}.") from error


def _dtype(dtype: str | None, device: torch.device) -> torch.dtype | str:
    if dtype is None:
        return torch.float32 if device.type == "cpu" else "auto"
    number_format = getattr(torch, str(dtype).removeprefix("torch."), None)
    if not isinstance(number_format, torch.dtype) or not number_format.is_floating_point:
        raise ModelError(f"no number format '{dtype}': use float32, bfloat16 or float16.")
    return number_format


@contextmanager
def _quiet(source: str) -> Iterator[None]:
    """No progress bar of `transformers` for weights that load in a moment."""
    folder = Path(source)
    size = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    if (
        not folder.is_dir()
        or size > QUIET_BYTES
        or not transformers_logging.is_progress_bar_enabled()
    ):
        yield
        return
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.enable_progress_bar()


def _first_line(error: BaseException) -> str:
    """The first sentence of a library's message, on one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    line = lines[0] if lines else type(error).__name__
    return textwrap.shorten(line, 200, placeholder=" …").rstrip(".!:")

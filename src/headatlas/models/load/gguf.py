"""GGUF files: converted once to an ordinary checkpoint, with the tokenizer that the file describes.

What `transformers` reads from a GGUF is corrected in two places. BOS: texts start with it if the
file says so. Digits: some vocabularies were learned on text split at every digit; that is not in
the file itself but follows from the name of its pre-tokenizer.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
from pathlib import Path
from typing import Any

import torch
import transformers
from gguf import GGUFReader
from tokenizers import pre_tokenizers, processors
from transformers import AutoTokenizer, PreTrainedTokenizerBase
from transformers.integrations.gguf.gguf_tokenizer_mapping import GGUF_PRE_TOKENIZER_SPLITS

from headatlas.errors import ModelError
from headatlas.models.load.cache import cache_folder, is_disk_full, made_once
from headatlas.models.load.checkpoint import load_with_info

logger = logging.getLogger(__name__)

CONVERSION = 1
"""Increase this when conversion changes, so that folders converted before are not used."""

SINGLE_DIGITS = {
    "smollm",
    "starcoder",
    "refact",
    "command-r",
    "codeshell",
    "exaone",
    "minerva-7b",
}
"""Pre-tokenizers (`tokenizer.ggml.pre`) that split text at every digit, as llama.cpp has them."""

PLAIN = {"default", "gpt-2"}


def converted_folder(path: Path, name: str | None = None) -> Path:
    """The cached folder with the model of a GGUF file; converts it the first time."""
    digest = _sha256(path)
    folder = cache_folder() / "models" / f"{name or path.stem}-{digest[:16]}-{CONVERSION}"
    if folder.is_dir():
        return folder
    facts = _read_facts(path)
    with made_once(folder, needed_bytes=facts["float32_bytes"] + 50_000_000) as temporary:
        if temporary is not None:
            logger.info("converting %s, once", path.name)
            _convert(path, facts, temporary)
            source = {"source": path.name, "sha256": digest, "conversion": CONVERSION}
            versions = {"transformers": transformers.__version__, "torch": torch.__version__}
            (temporary / "headatlas.json").write_text(json.dumps(source | versions, indent=1))
    return folder


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"the file {path} cannot be read: {error.strerror}.") from error


def _read_facts(path: Path) -> dict[str, Any]:
    """What the conversion needs to know, after checking that the file is whole."""
    try:
        reader = GGUFReader(path)
        ends = [int(t.data_offset) + int(t.n_bytes) for t in reader.tensors]
        metadata = {
            key: field.contents()
            for key, field in reader.fields.items()
            if not key.endswith((".tokens", ".merges", ".scores", ".token_type"))
        }
        sizes = [int(t.n_elements) for t in reader.tensors]
    except (ValueError, KeyError, IndexError, OverflowError, TypeError, OSError) as error:
        raise _damaged(path, error) from error
    if not ends or max(ends) > path.stat().st_size:
        missing = max(ends, default=0) - path.stat().st_size
        raise _damaged(path, f"{missing} bytes of tensors are missing")
    return metadata | {"float32_bytes": 4 * sum(sizes)}


def _damaged(path: Path, why: object) -> ModelError:
    detail = " ".join(str(why).split())[:120]
    return ModelError(f"{path} is not a whole GGUF file ({detail}): get the file again.")


def _convert(path: Path, facts: dict[str, Any], folder: Path) -> None:
    try:
        model, info = load_with_info(
            str(path.parent),
            gguf_file=path.name,
            dtype=torch.float32,
            local_files_only=True,
        )
        tokenizer = AutoTokenizer.from_pretrained(
            str(path.parent), gguf_file=path.name, local_files_only=True
        )
    except Exception as error:
        # transformers and tokenizers raise nearly anything on files that they cannot read
        kind = facts.get("general.architecture", "unknown")
        detail = " ".join(str(error).split())[:160]
        raise ModelError(
            f"{path} holds a model of the kind '{kind}' that transformers cannot read ({detail})."
        ) from error
    if info["missing_keys"]:
        raise _damaged(path, f"no weights for {sorted(info['missing_keys'])[0]}")
    model.hf_quantizer, model.is_quantized = None, False
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    try:
        model.save_pretrained(folder)
        mend_tokenizer(tokenizer, facts).save_pretrained(folder)
    except Exception as error:
        if is_disk_full(error):  # in the words of safetensors, not always an OSError
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
        raise


def mend_tokenizer(
    tokenizer: PreTrainedTokenizerBase, facts: dict[str, Any]
) -> PreTrainedTokenizerBase:
    """Make a GGUF's tokenizer split digits like the original, and add BOS if the file says so."""
    backend = tokenizer.backend_tokenizer
    kind = facts.get("tokenizer.ggml.pre", "default")
    if kind in SINGLE_DIGITS:
        backend.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
            ]
        )
    elif kind not in PLAIN and kind not in GGUF_PRE_TOKENIZER_SPLITS:
        logger.warning("the pre-tokenizer '%s' is not known: text may be split differently", kind)
    if _adds_bos(facts):
        bos = tokenizer.bos_token
        backend.post_processor = processors.TemplateProcessing(
            single=f"{bos} $A",
            pair=f"{bos} $A {bos} $B",
            special_tokens=[(bos, tokenizer.bos_token_id)],
        )
    else:
        backend.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


def _adds_bos(facts: dict[str, Any]) -> bool:
    """What the file says; without a word, SentencePiece vocabularies add BOS, others do not."""
    stated = facts.get("tokenizer.ggml.add_bos_token")
    return bool(stated) if stated is not None else facts.get("tokenizer.ggml.model") == "llama"

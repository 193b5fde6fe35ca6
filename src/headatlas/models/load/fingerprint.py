"""Content hashes of models: equal hash, equal results."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from headatlas.models.weights import load_weight, weight_names

IGNORED_SETTINGS = {"_name_or_path", "_model_name_or_path", "transformers_version", "dtype"}
"""Settings that say where a model came from, not what it computes."""


def fingerprint(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> str:
    """SHA-256 over weights, configuration, attention implementation and tokenizer."""
    names = sorted(weight_names(model))
    with ThreadPoolExecutor() as pool:
        digests = list(pool.map(lambda name: _digest(load_weight(model, name)), names))
    total = hashlib.sha256()
    for name, digest in zip(names, digests, strict=True):
        total.update(f"{name} {digest}\n".encode())
    config = {k: v for k, v in model.config.to_dict().items() if k not in IGNORED_SETTINGS}
    total.update(json.dumps(config, sort_keys=True, default=str).encode())
    total.update(str(model.config._attn_implementation).encode())
    if tokenizer is not None:
        backend = getattr(tokenizer, "backend_tokenizer", None)
        vocabulary = json.dumps(tokenizer.get_vocab(), sort_keys=True)
        total.update((backend.to_str() if backend else vocabulary).encode())
    return total.hexdigest()


def _digest(tensor: Tensor) -> str:
    data = tensor.detach().cpu().contiguous()
    head = f"{tensor.dtype} {tuple(tensor.shape)}".encode()
    digest = hashlib.sha256(head)
    digest.update(data.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()

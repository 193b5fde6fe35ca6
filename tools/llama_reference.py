"""llama.cpp as the reference for a GGUF file: its tokens and its next-token probabilities."""

from __future__ import annotations

import gc
import json
import unicodedata
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFReader, GGUFWriter, ReaderTensor, dequantize
from numpy.typing import NDArray

from headatlas.errors import ModelError

CONTEXT = 2048
SECONDS_PER_ANSWER = 600
SURE = 1000.0
"""A bias that no logit outweighs."""

PROSE = (
    "The old lighthouse had stood on the cliff for more than a hundred years, and nobody in the "
    "village could remember a night on which its lamp had not been lit. When the keeper fell ill "
    "in the winter, his daughter climbed the stairs in his place, counted the ships that passed, "
    "and wrote their names into the book. "
)
CODE = (
    "def area(width, height):\n    return width * height\n\n\ndef volume(width, height, depth):\n"
)

PROBABILITY_TEXTS = (
    "The capital of France is",
    PROSE + "In spring",
    PROSE * 9 + "In spring",  # longer than the sliding windows of the models here
    CODE + "    return",
    "1 + 1 = 2\n12 + 30 = 42\n   7 +   5 =  12\n25 + 14 =",
    "Der schnelle braune Fuchs springt über den",
    "«Que voulez-vous?» demanda-t-elle; «rien… (ou presque)!» — et il s'en",
    "日本の首都は東京です。フランスの首都は",
    "Name:\tAda\r\nAge:\t 36\r\n\r\nName:\tAlan\r\nAge:",
)
"""Texts whose next token is compared over the whole vocabulary."""

MORE_TEXTS = (
    "",
    " ",
    "  ",
    "     ",
    "\n",
    "\n\n\n",
    "\t",
    " \t \n ",
    "a",
    " a",
    "  a",
    "a ",
    "a  ",
    "a\n",
    "Hello world",
    " Hello  world ",
    "Hello\nworld\n",
    "Hello\r\n\r\nworld",
    "1",
    " 1",
    "  1",
    "     1",
    "12345678901234567890",
    "x  1",
    "x   12",
    "x     123  45   6",
    "a\n  1\n    2\n",
    "1 000 000,00 €",
    "3.14159 -2e10 0x1F 1_000",
    "2026-11-15T20:25:01Z",
    "7+5=12;8-3=5",
    "x1y22z333",
    "I'm, you're, we'll, they'd, it's, I've",
    "I'M, YOU'RE, WE'LL",
    "It’s ‘quoted’ and “double”",
    "don't 'stop'",
    "!!! ??? ... --- ___ ***",
    "a.b.c(d)[e]{f}<g>",
    "https://example.org/a-b_c?d=1&e=%20#f",
    "mail@example.org, #tag, @name",
    "snake_case camelCase PascalCase SCREAMING_CASE",
    "for (int i = 0; i < 10; i++) { a[i] += 1; }",
    "if x:\n\treturn y\n\n\n# end",
    "    indented\n        more\n",
    "SELECT * FROM t WHERE a >= 10 AND b != 'c';",
    '<p class="a">b</p><!-- c -->',
    '{"a": [1, 2.5, null], "b": "c\\n"}',
    "$\\frac{a}{b} \\leq \\sum_{i=1}^{n} x_i$",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "Größe, Straße, Äpfel",
    "façade naïve coöperate",
    "e\u0301 and é, n\u0303 and ñ",
    "é and é, ñ and ñ",
    "Привет, мир! Как дела?",
    "Γειά σου Κόσμε",
    "שלום עולם",
    "مرحبا بالعالم ١٢٣",
    "नमस्ते दुनिया १२३",
    "สวัสดีชาวโลก",
    "你好,世界!今天是2026年11月15日。",
    "こんにちは世界 カタカナ",
    "안녕하세요 세계",
    "Tiếng Việt có dấu",
    "🙂 👍🏽 👩‍👩‍👧 🇫🇷",
    "½ ² ³ Ⅷ ①",
    "a\u00a0b\u2003c\u200bd",
    "\ufeffstart",
    "ﬁne ligature ﬀ",
    "→ ⇒ ∀x∈ℝ: x² ≥ 0",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "ALL CAPS AND   wide   gaps",
    "tab\tseparated\tvalues\n1\t2\t3",
    "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
    "<start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n",
)

TOKEN_TEXTS = PROBABILITY_TEXTS + MORE_TEXTS
"""Texts whose tokens are compared."""


@dataclass(frozen=True)
class Reading:
    """What one side made of the texts.

    `tokens` has the ids of every token text; `probabilities` (text × vocabulary) what follows
    each probability text.
    """

    tokens: tuple[tuple[int, ...], ...]
    probabilities: NDArray[np.float32]


@dataclass(frozen=True)
class Agreement:
    """How far two readings agree.

    `composed` are texts that llama.cpp gives the same tokens only once accents are composed (NFC),
    as the tokenizers of some models do by themselves; `differing` are texts with other tokens.
    `largest_gap` is the largest difference of any probability.
    """

    same: int
    composed: tuple[str, ...]
    differing: tuple[str, ...]
    largest_gap: float


def compare(ours: Reading, reference: Reading) -> Agreement:
    """Compare the tokens of all texts, and all probabilities of the probability texts."""
    wanted = dict(zip(TOKEN_TEXTS, reference.tokens, strict=True))
    other = {
        text: ids for text, ids in zip(TOKEN_TEXTS, ours.tokens, strict=True) if ids != wanted[text]
    }
    composed = [
        text for text, ids in other.items() if ids == wanted.get(unicodedata.normalize("NFC", text))
    ]
    return Agreement(
        same=len(TOKEN_TEXTS) - len(other),
        composed=tuple(composed),
        differing=tuple(text for text in other if text not in composed),
        largest_gap=float(np.abs(ours.probabilities - reference.probabilities).max()),
    )


def write_float32(source: Path, target: Path) -> None:
    """Write a GGUF again with all weights in float32, so that llama.cpp computes in float32 too.

    With quantized weights it also rounds the activations to 8 bits, which moves probabilities.
    """
    reader = GGUFReader(source)
    writer = GGUFWriter(target, reader.fields["general.architecture"].contents())
    left_out = ("GGUF.", "general.architecture", "general.file_type", "general.quantization")
    for key, field in reader.fields.items():
        if not key.startswith(left_out):
            item = field.types[-1] if len(field.types) > 1 else None
            writer.add_key_value(key, field.contents(), field.types[0], sub_type=item)
    for tensor in reader.tensors:
        size = 4 * int(tensor.n_elements)
        writer.add_tensor_info(tensor.name, _shape(tensor), np.dtype("float32"), size)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for tensor in reader.tensors:
        weights = dequantize(tensor.data, tensor.tensor_type)
        writer.write_tensor_data(weights.astype(np.float32).reshape(_shape(tensor)))
    writer.close()


def _shape(tensor: ReaderTensor) -> list[int]:
    return [int(size) for size in reversed(tensor.shape)]


def read_with_llama(path: Path, vocabulary: int) -> Reading:
    """Put all texts through llama.cpp, with a float32 cache and its plain attention.

    Each text is tokenised by llama.cpp itself, special tokens included as the file says.
    """
    import xllamacpp as xlc

    settings = xlc.CommonParams()
    settings.model.path = str(path)
    settings.n_ctx, settings.n_parallel, settings.verbosity = CONTEXT, 1, 0
    settings.cache_type_k = settings.cache_type_v = xlc.ggml_type.GGML_TYPE_F32
    settings.flash_attn_type = xlc.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    server = xlc.Server(settings)
    address = server.listening_address
    try:
        tokens = tuple(_tokens(address, text) for text in TOKEN_TEXTS)
        spoken = _tokens(address, "a")[-1]
        prompts = tokens[: len(PROBABILITY_TEXTS)]
        rows = [_next_token(address, ids, spoken, vocabulary) for ids in prompts]
    finally:
        del server
        gc.collect()  # the server stops when it is collected
    return Reading(tokens, np.stack(rows))


def _tokens(address: str, text: str) -> tuple[int, ...]:
    answer = _ask(address, "/tokenize", {"content": text, "add_special": True})
    return tuple(answer["tokens"])


def _next_token(
    address: str, ids: Sequence[int], spoken: int, vocabulary: int
) -> NDArray[np.float32]:
    """The probability of every token after `ids`, by the model's own logits.

    The bias makes llama.cpp say a plain letter: it gives no probabilities with a token that is
    only part of a character. It touches the choice alone, not the probabilities asked for here.
    """
    question = {
        "prompt": list(ids),
        "n_predict": 1,
        "n_probs": vocabulary,
        "post_sampling_probs": False,
        "temperature": 0,
        "logit_bias": [[spoken, SURE]],
        "cache_prompt": False,
    }
    answer = _ask(address, "/completion", question)
    if answer["tokens_evaluated"] != len(ids):
        raise ModelError(f"llama.cpp read {answer['tokens_evaluated']} of {len(ids)} tokens.")
    row = np.full(vocabulary, np.nan, dtype=np.float32)
    for token in answer["completion_probabilities"][0]["top_logprobs"]:
        row[token["id"]] = np.exp(token["logprob"])
    if np.isnan(row).any():
        raise ModelError(f"llama.cpp gave no probability for {np.isnan(row).sum()} tokens.")
    return row


def _ask(address: str, path: str, question: dict[str, Any]) -> Any:
    """Ask the server inside this process; it listens on this machine only, and no proxy is used."""
    body = json.dumps(question).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(address + path, body, headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=SECONDS_PER_ANSWER) as answer:
        return json.load(answer)

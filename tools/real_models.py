"""Get larger real models, check them as `headatlas doctor` does, compare them with llama.cpp.

This is `make real-models`. What it finds becomes docs/models.md; if anything is wrong, it says so
and leaves the page as it was.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import psutil
from filelock import FileLock

from headatlas.cli.screen import duration, size, stderr, waiting
from headatlas.errors import HeadAtlasError, ModelError
from headatlas.models.embedded import EMBEDDED, embedded_file
from headatlas.models.gguf import converted_folder
from headatlas.models.load import load_model
from headatlas.models.model import Model
from headatlas.models.spec import ModelSpec
from headatlas.models.tokens import encode_prompt
from headatlas.models.verify import Check, verify
from headatlas.runs.estimate import Estimate, estimate
from llama_reference import (
    PROBABILITY_TEXTS,
    TOKEN_TEXTS,
    Agreement,
    Reading,
    compare,
    read_with_llama,
    write_float32,
)
from real_model_sources import MODELS, Prompt, RealModel, get, home, sha256

PAGE = Path(__file__).resolve().parents[1] / "docs" / "models.md"
LARGEST_GAP = 0.01
"""How far a probability may be from llama.cpp's when both compute in float32."""
LARGEST_ROUNDED_GAP = 0.05
"""The same when llama.cpp rounds activations to 8 bits: only gross mistakes show here."""
NEW_TOKENS = 24
SPEC_COLUMNS = "model|class|layers × heads (kv)|d_head|vocabulary|parameters|dtype|kernel"

Result = TypeVar("Result")


@dataclass(frozen=True)
class Findings:
    """What one model is, does and costs; `reading` is for the comparison with llama.cpp."""

    spec: ModelSpec
    vocabulary: int
    device: str
    load_seconds: float
    checks: tuple[Check, ...]
    costs: list[Estimate]
    answers: dict[Prompt, str | list[int]]
    reading: Reading | None


def in_own_process(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function in a fresh process, so that its memory is free again afterwards."""
    try:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            return pool.submit(function, *arguments).result()
    except BrokenProcessPool as error:
        raise ModelError(f"the process of {function.__name__} died: is there memory?") from error


def convert(source: Path) -> None:
    """Convert a GGUF file, so that loading is measured from the cache."""
    converted_folder(source, EMBEDDED if source == embedded_file() else None)


def examine(model: RealModel) -> Findings:
    """What `headatlas doctor` finds, the answers to the questions, and our reading of the texts."""
    start = time.perf_counter()
    loaded = load_model(model.name if model.name == EMBEDDED else str(model.source))
    load_seconds = time.perf_counter() - start
    return Findings(
        spec=loaded.spec,
        vocabulary=int(loaded.hf.config.get_text_config(decoder=True).vocab_size),
        device=str(loaded.hf.device),
        load_seconds=load_seconds,
        checks=verify(loaded),
        costs=estimate(loaded),
        answers={
            prompt: loaded.generate([prompt], max_new_tokens=NEW_TOKENS)[0]  # type: ignore[arg-type]
            for prompt in model.questions
        },
        reading=_read(loaded) if loaded.tokenizer is not None else None,
    )


def _read(model: Model) -> Reading:
    import torch

    assert model.tokenizer is not None
    tokens = tuple(encode_prompt(model.tokenizer, text) for text in TOKEN_TEXTS)
    rows = []
    with torch.no_grad():
        for ids in tokens[: len(PROBABILITY_TEXTS)]:
            logits = model.hf(torch.tensor([ids], device=model.hf.device)).logits[0, -1]
            rows.append(logits.float().softmax(-1).cpu().numpy())
    return Reading(tokens, np.stack(rows))


@dataclass(frozen=True)
class Comparison:
    """Agreement with llama.cpp on the file as it is, and on its weights in float32."""

    rounded: Agreement
    exact: Agreement


def compare_with_llama(source: Path, findings: Findings) -> Comparison | None:
    """Compare our reading with llama.cpp's; `None` for a model without text."""
    if findings.reading is None:
        return None
    ours, vocabulary = findings.reading, findings.vocabulary
    rounded = compare(ours, in_own_process(read_with_llama, source, vocabulary))
    with tempfile.TemporaryDirectory(prefix=".float32-", dir=home()) as temporary:
        copy = Path(temporary) / source.name
        in_own_process(write_float32, source, copy)
        exact = compare(ours, in_own_process(read_with_llama, copy, vocabulary))
    return Comparison(rounded, exact)


def faults(model: RealModel, found: Findings, comparison: Comparison | None) -> Iterator[str]:
    """Everything that is not as it must be, each as a sentence."""
    for check in found.checks:
        if not check.passed:
            yield f"{model.name} fails the check '{check.name}': {check.detail}."
    for prompt, answer in found.answers.items():
        if not _is_right(answer, model.questions[prompt], found.vocabulary):
            yield f"{model.name} answers {prompt!r} with {answer!r}."
    if comparison is None:
        return
    for agreement in (comparison.rounded, comparison.exact):
        for text in agreement.differing:
            yield f"{model.name} has other tokens than llama.cpp for {text!r}."
    gap, rounded = comparison.exact.largest_gap, comparison.rounded.largest_gap
    if not gap <= LARGEST_GAP:
        yield f"{model.name} is {gap:.4f} from llama.cpp in float32, more than {LARGEST_GAP}."
    if not rounded <= LARGEST_ROUNDED_GAP:
        yield f"{model.name} is {rounded:.4f} from llama.cpp, more than {LARGEST_ROUNDED_GAP}."


def _is_right(answer: str | list[int], wanted: str, vocabulary: int) -> bool:
    if isinstance(answer, str):
        return re.match(wanted, answer) is not None
    most = max(Counter(answer).values(), default=0)
    return all(0 <= i < vocabulary for i in answer) and len(answer) >= 8 and 2 * most < len(answer)


Examined = tuple[RealModel, Findings, Comparison | None]


def examine_all() -> list[Examined]:
    """Put one model after the other through everything; raise with all faults found."""
    results: list[Examined] = []
    wrong: list[str] = []
    for model in MODELS:
        get(model)
        if model.source.is_file():
            with waiting(f"converting {model.name}, once"):
                in_own_process(convert, model.source)
        with waiting(f"checking {model.name}"):
            found = in_own_process(examine, model)
        with waiting(f"comparing {model.name} with llama.cpp"):
            comparison = compare_with_llama(model.source, found)
        wrong += faults(model, found, comparison)
        results.append((model, found, comparison))
        stderr.print(f"{model.name}: {_summary(found, comparison)}")
    if wrong:
        raise ModelError("\n".join(wrong))
    return results


def _summary(found: Findings, comparison: Comparison | None) -> str:
    passed = sum(check.passed for check in found.checks)
    words = f"{passed} of {len(found.checks)} checks"
    if comparison:
        words += f", at most {comparison.exact.largest_gap:.5f} from llama.cpp"
    return words


def page(results: Sequence[Examined]) -> str:
    """The page about all models, as Markdown."""
    used = ("torch", "transformers", "gguf", "xllamacpp")
    versions = ", ".join(f"{name} {version(name)}" for name in used)
    memory = psutil.virtual_memory().total / 2**30
    devices = " and ".join(sorted({found.device for _, found, _ in results}))
    compared = [(m.name, c) for m, _, c in results if c]
    return f"""# Real models

`make real-models` writes this page; do not edit it. Everything here was found in that run, with
{versions},
on the {devices.upper()} of a machine with {psutil.cpu_count()} cores and {memory:.0f} GB of memory.

## What they are

{_table(SPEC_COLUMNS, _specs(results))}

## Whether their heads can be edited, and what work costs

The checks are those of `headatlas doctor`. Loading is from the cache. Work is on 32 few-shot
prompts; memory includes the weights.

{_table("model|checks passed|loading|work|time|memory", _costs(results))}

## What they answer

{_table("model|prompt|answer", _answers(results))}

## Whether they are read as llama.cpp reads them

Tokens of {len(TOKEN_TEXTS)} texts: prose, code, digits after runs of spaces, many scripts, chat
marks. Then the probability of every token of the vocabulary after {len(PROBABILITY_TEXTS)} of them;
the table shows the largest difference. In float32, llama.cpp gets the same weights written out as
float32, and {LARGEST_GAP} is the limit. On the file itself it also rounds activations to 8 bits:
the last column is what that does, and {LARGEST_ROUNDED_GAP} is its limit.

{_table("model|same tokens|largest difference in float32|on the file itself", _gaps(compared))}
{_composed(compared)}
## Where they come from

{_table("model|packages|file|sha256|licence", _sources(results))}
"""


def _table(header: str, rows: Iterable[Sequence[object]]) -> str:
    names = header.split("|")
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def _specs(results: Sequence[Examined]) -> Iterator[Sequence[object]]:
    for model, found, _ in results:
        spec = found.spec
        heads = f"{spec.n_layers} × {spec.n_heads} ({spec.n_kv_heads})"
        sizes = (heads, spec.d_head, f"{found.vocabulary:,}", f"{spec.parameters:,}")
        yield model.name, spec.architecture, *sizes, spec.dtype, spec.kernel


def _costs(results: Sequence[Examined]) -> Iterator[Sequence[object]]:
    for model, found, _ in results:
        passed = f"{sum(check.passed for check in found.checks)} of {len(found.checks)}"
        first: Sequence[object] = (model.name, passed, duration(found.load_seconds))
        for cost in found.costs:
            work = cost.work.replace(" on 32 few-shot prompts", "")
            yield *first, work, duration(cost.seconds), size(cost.memory)
            first = ("", "", "")


def _answers(results: Sequence[Examined]) -> Iterator[Sequence[object]]:
    for model, found, _ in results:
        for prompt, answer in found.answers.items():
            yield model.name, _quoted(prompt), _quoted(answer)


def _quoted(text: Prompt | list[int]) -> str:
    """Text, or token ids, on one line and safe in a table."""
    line = text if isinstance(text, str) else "ids " + ", ".join(str(token) for token in text)
    return "`` " + line.replace("\n", "⏎").replace("|", "\\|") + " ``"


def _gaps(compared: Sequence[tuple[str, Comparison]]) -> Iterator[Sequence[object]]:
    for name, comparison in compared:
        exact, rounded = comparison.exact, comparison.rounded
        same = f"{exact.same} of {len(TOKEN_TEXTS)}" + ("*" if exact.composed else "")
        yield name, same, f"{exact.largest_gap:.5f}", f"{rounded.largest_gap:.3f}"


def _composed(compared: Sequence[tuple[str, Comparison]]) -> str:
    if not any(comparison.exact.composed for _, comparison in compared):
        return ""
    return (
        "\n\\* Not counted: texts with combining accents, which this model's tokenizer composes\n"
        "first (NFC) and llama.cpp does not; composed, they have the same tokens.\n"
    )


def _sources(results: Sequence[Examined]) -> Iterator[Sequence[object]]:
    for model, _, _ in results:
        source = model.source
        paths = [source] if source.is_file() else [source / file.name for file in model.files]
        packages = model.packages[0].replace("==", " ")
        if len(model.packages) > 1:
            packages += f" … {model.packages[-1].replace('==', ' ')}"
        for path in paths:
            yield model.name, packages, path.name, f"`{sha256(path)}`", model.licence


def main() -> None:
    """Examine all models and write the page."""
    os.environ["TQDM_DISABLE"] = "1"  # for the processes started here: one bar at a time
    home().mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(home() / ".running.lock"):
            for leftover in home().glob(".float32-*"):
                shutil.rmtree(leftover, ignore_errors=True)
            results = examine_all()
    except (HeadAtlasError, OSError) as error:
        sys.exit(f"real-models: {error}")
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(results), encoding="utf-8")
    stderr.print(f"wrote docs/{PAGE.name}")


if __name__ == "__main__":
    main()

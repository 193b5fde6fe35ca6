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
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from filelock import FileLock

from headatlas.cli.screen import stderr, waiting
from headatlas.errors import HeadAtlasError, ModelError
from headatlas.models.heads.verify import verify
from headatlas.models.load.embedded import EMBEDDED, embedded_file
from headatlas.models.load.gguf import converted_folder
from headatlas.models.load.loader import load_model
from headatlas.models.model import Model
from headatlas.models.tokens import encode_prompt
from headatlas.runs.estimate import estimate
from llama_reference import (
    PROBABILITY_TEXTS,
    TOKEN_TEXTS,
    Reading,
    compare,
    read_with_llama,
    write_float32,
)
from real_model_page import (
    LARGEST_GAP,
    LARGEST_ROUNDED_GAP,
    Comparison,
    Examined,
    Findings,
    page,
)
from real_model_sources import MODELS, RealModel, get, home

PAGE = Path(__file__).resolve().parents[1] / "docs" / "models.md"
NEW_TOKENS = 24

Result = TypeVar("Result")


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
            logits = model.hf(torch.tensor([ids], device=model.device)).logits[0, -1]
            rows.append(logits.float().softmax(-1).cpu().numpy())
    return Reading(tokens, np.stack(rows))


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


def faults(model: RealModel, findings: Findings, comparison: Comparison | None) -> Iterator[str]:
    """Everything that is not as it must be, each as a sentence."""
    for check in findings.checks:
        if not check.passed:
            yield f"{model.name} fails the check '{check.name}': {check.detail}."
    for prompt, answer in findings.answers.items():
        if not _is_right(answer, model.questions[prompt], findings.vocabulary):
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
            findings = in_own_process(examine, model)
        with waiting(f"comparing {model.name} with llama.cpp"):
            comparison = compare_with_llama(model.source, findings)
        wrong += faults(model, findings, comparison)
        results.append((model, findings, comparison))
        stderr.print(f"{model.name}: {_summary(findings, comparison)}")
    if wrong:
        raise ModelError("\n".join(wrong))
    return results


def _summary(findings: Findings, comparison: Comparison | None) -> str:
    passed = sum(check.passed for check in findings.checks)
    words = f"{passed} of {len(findings.checks)} checks"
    if comparison:
        words += f", at most {comparison.exact.largest_gap:.5f} from llama.cpp"
    return words


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

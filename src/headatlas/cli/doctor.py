"""headatlas doctor"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import typer
from rich.table import Table

import headatlas as ha
from headatlas.cli import options as given
from headatlas.cli.screen import duration, size, stdout, waiting


def doctor(*, as_json: given.Json = False, model: given.ModelOptions) -> None:
    """Check whether the heads of a model can be edited.

    Also shows what the model is made of and what work will cost. The exit code is 2 if a check
    fails.

    \b
    Examples:
      headatlas doctor
      headatlas doctor --model my-model.gguf --json
    """
    loaded = model.load()
    with waiting("verifying"):
        checks = ha.verify(loaded)
    healthy = all(check.passed for check in checks)
    with waiting("measuring"):
        costs = ha.estimate(loaded) if healthy else []
    if as_json:
        typer.echo(json.dumps(_as_data(loaded, checks, costs), indent=1, ensure_ascii=False))
    else:
        _print_spec(loaded)
        _print_checks(checks)
        _print_costs(costs)
    if not healthy:
        raise typer.Exit(2)


def _as_data(model: ha.Model, checks: Sequence[Any], costs: Sequence[Any]) -> dict[str, Any]:
    return {
        "spec": model.spec.as_dict(),
        "hash": model.fingerprint,
        "device": str(model.device),
        "tokenizer": model.tokenizer is not None,
        "shares_prefixes": model.continues_from_cache,
        "checks": [asdict(check) for check in checks],
        "verified": all(check.passed for check in checks),
        "estimates": [asdict(cost) for cost in costs],
    }


def _print_spec(model: ha.Model) -> None:
    spec = model.spec
    missing = [i for i, layer in enumerate(spec.layers) if layer is None]
    rows = {
        "model": f"{spec.name} ({spec.architecture})",
        "layers": f"{spec.n_layers}" + (f", without attention: {missing}" if missing else ""),
        "query heads": f"{spec.n_heads} per layer, {len(spec.heads())} in all",
        "key/value heads": str(spec.n_kv_heads),
        "d_head": str(spec.d_head),
        "parameters": f"{spec.parameters:,}",
        "dtype": spec.dtype,
        "attn_implementation": spec.attn_implementation,
        "context": f"{spec.context:,} tokens" if spec.context else "not stated",
        "device": str(model.device),
        "edited at": ", ".join(sorted({layer.site for layer in spec.layers if layer})),
        "shared prefixes": "computed once" if model.continues_from_cache else "not supported",
        "hash": model.fingerprint[:16],
    }
    shown = Table(show_header=False, box=None)
    for name, value in rows.items():
        shown.add_row(name, value)
    stdout.print(shown)


def _print_checks(checks: Sequence[Any]) -> None:
    shown = Table("", "check", "evidence", title="Verification", title_justify="left")
    for check in checks:
        mark = "[green]yes[/]" if check.passed else "[red]NO[/]"
        shown.add_row(mark, check.question, check.detail)
    stdout.print(shown)


def _print_costs(costs: Sequence[Any]) -> None:
    if not costs:
        return
    shown = Table(
        "work", "time", "peak memory", title="Estimated cost on this machine", title_justify="left"
    )
    for cost in costs:
        shown.add_row(cost.work, duration(cost.seconds), size(cost.memory))
    stdout.print(shown)

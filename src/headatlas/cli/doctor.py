"""headatlas doctor"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from headatlas.cli import options as given
from headatlas.cli.screen import duration, size, stdout, waiting

if TYPE_CHECKING:
    from headatlas.models.model import Model
    from headatlas.models.heads.verify import Check
    from headatlas.runs.estimate import Estimate


def doctor(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
    model: given.ModelOptions,
) -> None:
    """Say what a model is made of, whether its heads can be edited, and what work will cost.

    The exit code is 2 if a check fails.

    \b
    Examples:
      headatlas doctor
      headatlas doctor --model my-model.gguf --json
    """
    loaded = model.load()
    with waiting("verifying"):
        from headatlas.models.heads.verify import verify
        from headatlas.runs.estimate import estimate

        checks = verify(loaded)
    healthy = all(check.passed for check in checks)
    with waiting("measuring"):
        costs = estimate(loaded) if healthy else []
    if as_json:
        typer.echo(json.dumps(_as_data(loaded, checks, costs), indent=1, ensure_ascii=False))
    else:
        _print_spec(loaded)
        _print_checks(checks)
        _print_costs(costs)
    if not healthy:
        raise typer.Exit(2)


def _as_data(model: Model, checks: tuple[Check, ...], costs: list[Estimate]) -> dict[str, Any]:
    return {
        "spec": model.spec.as_dict(),
        "hash": model.fingerprint,
        "device": str(model.hf.device),
        "tokenizer": model.tokenizer is not None,
        "shares_prefixes": model.continues_from_cache,
        "checks": [asdict(check) for check in checks],
        "verified": all(check.passed for check in checks),
        "estimates": [asdict(cost) for cost in costs],
    }


def _print_spec(model: Model) -> None:
    spec = model.spec
    missing = [i for i, layer in enumerate(spec.layers) if layer is None]
    rows = {
        "model": f"{spec.name} ({spec.architecture})",
        "layers": f"{spec.n_layers}" + (f", without attention: {missing}" if missing else ""),
        "query heads": f"{spec.n_heads} a layer, {len(spec.heads())} in all",
        "key/value heads": str(spec.n_kv_heads),
        "d_head": str(spec.d_head),
        "parameters": f"{spec.parameters:,}",
        "dtype": spec.dtype,
        "attn_implementation": spec.attn_implementation,
        "context": f"{spec.context:,} tokens" if spec.context else "not stated",
        "device": str(model.hf.device),
        "edited at": ", ".join(sorted({layer.site for layer in spec.layers if layer})),
        "shared prefixes": "computed once" if model.continues_from_cache else "not supported",
        "hash": model.fingerprint[:16],
    }
    table = Table(show_header=False, box=None)
    for name, value in rows.items():
        table.add_row(name, value)
    stdout.print(table)


def _print_checks(checks: tuple[Check, ...]) -> None:
    table = Table("", "check", "found", title="Verification", title_justify="left")
    for check in checks:
        mark = "[green]yes[/]" if check.passed else "[red]NO[/]"
        table.add_row(mark, check.question, check.detail)
    stdout.print(table)


def _print_costs(costs: list[Estimate]) -> None:
    if not costs:
        return
    table = Table("work", "time", "memory", title="On this machine, about", title_justify="left")
    for cost in costs:
        table.add_row(cost.work, duration(cost.seconds), size(cost.memory))
    stdout.print(table)

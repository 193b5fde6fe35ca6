"""Options that commands share, as one parameter each instead of one parameter an option."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter
from typing import Any, get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer wants it: a parameter whose type is a dataclass becomes its fields."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[Parameter] = []
    groups: dict[str, Any] = {}
    for parameter in inspect.signature(command).parameters.values():
        kind = hints[parameter.name]
        if is_dataclass(kind):
            groups[parameter.name] = kind
            parameters += _fields(kind)
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=kind))

    @wraps(command)
    def run(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        command(**given)

    del run.__wrapped__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _fields(kind: Any) -> list[Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    return [
        Parameter(
            field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in fields(kind)
    ]

"""Results as plain data: stored as JSON, and checked when they are read again."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from headatlas.errors import StoreError

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pydantic import TypeAdapter


class Result:
    """A frozen dataclass of plain values, tuples and other such dataclasses.

    `kind` is stored with it and says which class it is; `figures` are those that are drawn of it.

    >>> result = atlas.check(gates)  # doctest: +SKIP
    >>> type(result).from_dict(result.as_dict()) == result  # doctest: +SKIP
    True
    """

    kind: ClassVar[str]

    @property
    def figures(self) -> tuple[str, ...]:
        """The names of the figures that are written of it."""
        return ()

    @property
    def file_name(self) -> str:
        """What the files of the result are called, without their suffixes."""
        raise StoreError(f"a {self.kind} has no files of its own.")

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as it is stored."""
        return {"kind": self.kind, **asdict(self)}  # type: ignore[call-overload]

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Self:
        """The result that `as_dict` gave. Raises `StoreError` for anything else."""
        from pydantic import ValidationError

        try:
            adapter: Any = _adapter(cast("Any", cls))
            return cast("Self", adapter.validate_python(stored))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise StoreError(
                f"the stored {cls.kind} cannot be read ({place}: {first['msg']}): it is damaged, "
                "or of another version. Compute it again."
            ) from error

    def summary(self) -> list[str]:
        """What was found, in plain sentences."""
        return []

    def plot(self, figure: str | None = None, **settings: Any) -> Figure:
        """Draw the result; without a name, its main figure."""
        from headatlas.plots import default_figure, draw

        return draw(figure or default_figure(self), self, **settings)

    def _repr_html_(self) -> str:
        from headatlas.plots import default_figure, figure_html

        lines = "".join(f"<p>{escape(line)}</p>" for line in self.summary())
        return lines + figure_html(default_figure(self), self)


@cache
def _adapter(cls: type[Result]) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(cls)

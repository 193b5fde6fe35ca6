"""Results as plain data: stored as JSON, and checked when they are read again."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

from headatlas.errors import StoreError

if TYPE_CHECKING:
    from pydantic import TypeAdapter


class Stored:
    """A frozen dataclass of plain values, tuples and other such dataclasses.

    `kind` is stored with it and says which class it is.
    """

    kind: ClassVar[str]

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as it is stored."""
        return {"kind": self.kind, **asdict(self)}  # type: ignore[call-overload]

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Self:
        """The result that `as_dict` gave; anything else gets one sentence."""
        from pydantic import ValidationError

        try:
            result: Self = _adapter(cls).validate_python(stored)
            return result
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise StoreError(
                f"the stored {cls.kind} cannot be read ({place}: {first['msg']}): it is damaged, "
                "or of another version. Compute it again."
            ) from error


@cache
def _adapter(cls: type[Stored]) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(cls)

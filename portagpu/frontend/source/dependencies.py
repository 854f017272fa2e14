"""Dependencies of generated code: the values that a lowering read, and whether they are still the same.

Each name that is no local, and each attribute of what such a name means, is a row: ``["name", function, name]`` or
``["attribute", row, name]`` (``["constant", argument, name]`` for an attribute of a compile-time argument). Functions
are numbered as `Digest` meets them. Rows tell what to look at; their values are part of a digest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from portagpu.frontend.source.digests import Digest, is_in_digest
from portagpu.ir.types import ArgumentType, ConstantType

Row = tuple[str, int, str]
_OWN = ("portagpu.frontend.", "portagpu.dialect.", "portagpu.dispatch.", "portagpu.cuda.")


class Dependencies:
    """The record of one lowering."""

    def __init__(self, digest: Digest, arguments: Sequence[ArgumentType]) -> None:
        """``digest`` has the kernel and its arguments' types; the values that are read are added to it."""
        self.digest = digest
        self.rows: list[Row] = []
        self.values: list[Any] = []  # of the rows; keeps them alive, as they are known by their ids
        self.trouble = ""  # why the result cannot be kept
        self._seen: set[tuple[Any, str]] = set()
        self._owners: dict[int, tuple[str, int]] = {}
        for number, kind in enumerate(arguments):
            if isinstance(kind, ConstantType) and not is_in_digest(kind.value):
                self._owners[id(kind.value)] = ("constant", number)

    def name(self, function: Any, name: str, value: Any) -> None:
        """Note that a name in a function means a value."""
        if (function, name) in self._seen:
            return
        self._seen.add((function, name))
        number = self.digest.number_of(function)
        if number is not None:
            self._note(("name", number, name), value)
        elif not str(function.__module__).startswith(_OWN):  # those that are part of the package are as its stamp says
            self.refuse(f"the function {function.__qualname__}")

    def attribute(self, owner: Any, name: str, value: Any) -> None:
        """Note that an attribute of a compile-time object is a value."""
        if is_in_digest(owner) or (id(owner), name) in self._seen:
            return
        if isinstance(owner, tuple) and name in getattr(owner, "_fields", ()):
            return
        found = self._owners.get(id(owner))
        if found is None:
            self.refuse(f"an attribute of {type(owner).__qualname__}")
            return
        self._seen.add((id(owner), name))
        self._note((*found, name), value)

    def refuse(self, why: str) -> None:
        """Note that there is something that cannot be looked at again."""
        self.trouble = self.trouble or why

    def _note(self, row: Row, value: Any) -> None:
        self.rows.append(row)
        self.values.append(value)
        if not is_in_digest(value):
            self._owners.setdefault(id(value), ("attribute", len(self.rows) - 1))
        try:
            self.digest.add(value)
        except Exception as error:  # `Unfaithful`, and whatever a user's object raises when it is looked at
            self.refuse(f"`{row[2]}`: {error}")


def values_now(digest: Digest, rows: Sequence[Row], arguments: Sequence[ArgumentType]) -> list[Any] | None:
    """What the rows of an earlier lowering mean now; their values are added to ``digest``.

    None where a row means nothing, or something without a digest.
    """
    values: list[Any] = []
    try:
        for how, number, name in rows:
            if how == "name":
                found, value = digest.look_up(number, name)
                if not found:
                    return None
            else:
                owner: Any = values[number] if how == "attribute" else arguments[number].value  # type: ignore[union-attr]
                value = getattr(owner, name)
            values.append(value)
            digest.add(value)
    except Exception:  # a property of a user's object may raise anything; rows that were made up, too
        return None
    return values

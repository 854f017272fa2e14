"""C identifiers for IR names.

The languages of the family, their headers, extensions and drivers own an open set of words: keywords, types, macros,
hundreds of built-in functions. None of them ends in an underscore. So every name of the user's gets one, but those of a
single small letter with up to two digits (`x`, `i2`), and the extents and strides of such arrays (`x_n0`), which
nobody's headers take. Names of the code generator's own begin with ``pg_``, or are a letter with digits, too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from portagpu.backends.c_family.c_types import short
from portagpu.ir.names import LOCAL_MARK, SHARED_MARK, is_own, word_of
from portagpu.ir.types import Pointer, Scalar, Struct, Type, Vector

_FREE = re.compile(r"[a-z][0-9]{0,2}(_[ns][0-9])?")
_TEMPORARY = re.compile(r"[a-z][0-9]+")
_KIND = re.compile(f"({re.escape(SHARED_MARK)}|{re.escape(LOCAL_MARK)})(?=\\.|$)")
_OWN = "pg_"
_LONGEST = 128  # drivers name files after kernels, and end the process where a file's name has more than 255 bytes


def identifier(name: str) -> str:
    """A legal C identifier that reads like the name; names of one scope that differ may share one, seldom."""
    by_us = is_own(name)
    name = _KIND.sub("", word_of(name))
    text = re.sub(r"[^0-9A-Za-z_]", lambda m: "_" if m.group() == "." else f"u{ord(m.group()):x}_", name)
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST - 16]}_{hashlib.sha256(name.encode()).hexdigest()[:12]}"
    if by_us:
        return text if _TEMPORARY.fullmatch(text) else f"{_OWN}{text}"
    if _FREE.fullmatch(text):
        return text
    return f"u{text}_" if text.startswith("_") else f"{text}_"  # C keeps leading underscores to itself


def distinct(names: Iterable[str]) -> dict[str, str]:
    """An identifier of its own for each of the names."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        found[name] = _first_free(identifier(name), taken)
        taken.add(found[name])
    return found


def _first_free(base: str, taken: set[str]) -> str:
    found, count = base, 2
    while found in taken:
        found = f"{base}{count}_"
        count += 1
    return found


class Names:
    """C identifiers of one function: one for each (name, type)."""

    def __init__(self, taken: frozenset[str] = frozenset()) -> None:
        self._taken = set(taken)
        self._known: dict[tuple[str, Type], str] = {}

    def __call__(self, name: str, kind: Type) -> str:
        """The identifier of a variable."""
        key = (name, _base(kind))
        found = self._known.get(key)
        if found is None:
            base = identifier(name)
            if base in self._taken:
                base = f"{base}{'' if base.endswith('_') else '_'}{_suffix(kind)}_"
            found = self._known[key] = _first_free(base, self._taken)
            self._taken.add(found)
        return found

    def reserve(self, text: str) -> None:
        """Keep an identifier from being given out."""
        self._taken.add(text)


def _base(kind: Type) -> Type:
    if isinstance(kind, Pointer):
        return Pointer(kind.element, kind.space)
    return kind


def _suffix(kind: Type) -> str:
    if isinstance(kind, Scalar | Vector):
        return short(kind)
    if isinstance(kind, Pointer):
        return "p" + short(kind.element)
    return "t" if isinstance(kind, Struct) else "v"

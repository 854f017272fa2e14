"""What elements are reduced by: an associative function of two numbers, and the type that it computes in."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from portagpu import dtypes
from portagpu.errors import DTypeError

_SMALL = {"bool": "int32", "int8": "int32", "int16": "int32", "uint8": "int32", "uint16": "int32"}
SHORT = ("float16", "bfloat16")
"""Dtypes whose numbers are held as float32."""
_LOGICAL = {"logical_and": "x & y", "logical_or": "x | y", "logical_xor": "x ^ y"}
_ARITHMETIC = {"add": "x + y", "multiply": "x * y"}
_BITS = {"bitwise_and": "x & y", "bitwise_or": "x | y", "bitwise_xor": "x ^ y"}
_LOWEST = frozenset({"maximum", "argmax"})
_HIGHEST = frozenset({"minimum", "argmin"})
_FROM_NAN = frozenset({"fmax", "fmin"})
_EXTREMES = {"maximum": ">", "fmax": ">", "minimum": "<", "fmin": "<"}
PLACES = {"argmax": ">", "argmin": "<"}
"""Reducers to the place of an element, by how it compares with others."""


class Reducer(NamedTuple):
    """How elements become one.

    Elements are converted to ``kind``, then to ``held``, in which threads reduce them; what they become is converted to
    ``output``. ``identity``: a number of ``held`` that changes no other; None where there is none, so that a thread
    takes all elements of a result in order. ``mean``: the result is divided by ``divisor``;
    ``root``: and its square root is taken.
    """

    name: str
    kind: np.dtype[Any]
    held: np.dtype[Any]
    output: np.dtype[Any]
    identity: Any
    mean: bool = False
    root: bool = False
    divisor: float = 0

    @property
    def has_places(self) -> bool:
        """Whether threads hold the place of the number beside it."""
        return self.name in PLACES

    @property
    def adds_floats(self) -> bool:
        """Whether the order of elements counts for the error."""
        return self.name == "add" and self.held.kind in "fc"

    @property
    def is_exact(self) -> bool:
        """Whether no result depends on the order of elements, as far as numbers are equal."""
        if self.name in _ARITHMETIC:
            return self.held.kind in "iu" and not self.mean
        return self.name in _LOGICAL or self.name in _BITS or self.name in _EXTREMES or self.name in PLACES

    @property
    def again(self) -> Reducer:
        """The reducer of what threads have reduced elements to."""
        return self._replace(kind=self.held)

    @property
    def joined(self) -> str:
        """Text of two numbers, x and y, as one."""
        name = self.name
        found = _ARITHMETIC.get(name) or _LOGICAL.get(name) or _BITS.get(name)
        if found is not None:
            return found
        if self.held.kind in "iu" and name in _EXTREMES:
            return f"x if x {_EXTREMES[name]} y else y"
        return f"np.{name}(x, y)"


@lru_cache(1024)
def reducer_of(name: str, kind: np.dtype[Any], output: np.dtype[Any] | None = None, *, mean: bool = False) -> Reducer:
    """The reducer that NumPy's function of two numbers is, of elements that are converted to ``kind`` first.

    16-bit floats are held as float32. Raises `DTypeError` for dtypes that no device has.
    """
    for dtype in (kind, output or kind):
        dtypes.from_numpy(dtype)
    held = held_as(name, kind)
    if name in _LOGICAL:
        held = np.dtype(np.int32)
    elif output is not None and output.kind in "iufc" and name not in PLACES and output.itemsize >= held.itemsize:
        held = held_as(name, output)
    return Reducer(name, kind, held, kind if output is None else output, _identity(name, kind, held), mean)


def held_as(name: str, kind: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that threads compute in; the next float16 is another number than the next float32."""
    is_short = kind.name in SHORT and name != "nextafter"
    return np.dtype(_SMALL.get(kind.name, "float32" if is_short else kind))


def _identity(name: str, kind: np.dtype[Any], held: np.dtype[Any]) -> Any:
    if name in _LOGICAL:
        return 1 if name == "logical_and" else 0
    if name in _BITS:
        return {"bitwise_and": -1 if held.kind == "i" else np.iinfo(held).max}.get(name, 0)
    if name in _LOWEST or name in _HIGHEST:
        return _extreme(kind, lowest=name in _LOWEST)
    if name in _FROM_NAN:
        return np.nan if kind.kind in "fc" else _extreme(kind, lowest=name == "fmax")
    found = getattr(np, name).identity
    if found is None or isinstance(found, int | float):
        return found if name in ("add", "multiply", "hypot", "logaddexp", "logaddexp2", "gcd") else None
    raise DTypeError(f"numpy.{name} cannot reduce")


def _extreme(kind: np.dtype[Any], *, lowest: bool) -> Any:
    if kind.kind == "b":
        return int(not lowest)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        return int(limits.min if lowest else limits.max)
    found = -np.inf if lowest else np.inf
    return complex(found, found) if kind.kind == "c" else found


def is_reorderable(name: str) -> bool:
    """Whether elements along several axes can be reduced, in any order."""
    found = getattr(np, name, None)
    if name in _LOWEST or name in _HIGHEST or name in _FROM_NAN:
        return True
    return found is not None and found.identity is not None

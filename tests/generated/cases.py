"""What a generated test is: a function of the registries, its reference, its operands and its accuracy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from comparison import EXACT
from operands import KINDS, Array, of_kinds

Reference = Callable[..., Any]


def same(*names: str) -> str:
    """The operands' common dtype."""
    return str(np.result_type(*names))


def floating(*names: str) -> str:
    """The operands' common dtype, if it is inexact: functions of integers compute in float64."""
    met = np.result_type(*names)
    return str(met) if met.kind in "fc" else "float64"


def always(name: str) -> Callable[..., str]:
    """This dtype, whatever the operands."""
    return lambda *names: name


@dataclass(frozen=True, kw_only=True)
class Case:
    """One function and all that is tested of it."""

    function: Any  # what the kernel calls
    reference: (
        Reference  # takes arrays, gives an array or a tuple of them; of a higher precision where ``ulps`` is not 0
    )
    operands: tuple[tuple[str, ...], ...]  # the combinations of dtypes
    result: Callable[..., str] | tuple[Callable[..., str], ...]  # dtype of the result, or of each, from the operands'
    ulps: Callable[[str], float] = field(default=lambda dtype: EXACT)  # by the result's dtype
    name: str = ""
    covers: tuple[Any, ...] = ()  # keys of the registries; the function itself if empty
    fair: Callable[..., Array] | None = None  # operands with which the comparison makes sense, and why not the others
    zero_signs: bool = True  # whether the sign of a zero is defined
    arrays: bool = False  # of whole arrays, not of numbers
    constant: bool = False  # gives a Python bool for operands that decide it: it has no dtype

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or _qualified(self.function))
        object.__setattr__(self, "covers", self.covers or (self.function,))

    @property
    def results(self) -> int:
        """How many results a call has."""
        return len(self.result) if isinstance(self.result, tuple) else 1

    def dtypes(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Dtypes of the results for operands of these."""
        rules = self.result if isinstance(self.result, tuple) else (self.result,)
        return tuple(rule(*names) for rule in rules)


def _qualified(function: Any) -> str:
    if isinstance(function, np.ufunc):
        return f"np.{function.__name__}"
    module = getattr(function, "__module__", None) or ""
    name = str(getattr(function, "name", None) or function.__name__)
    prefix = {"numpy": "np.", "_operator": "operator.", "builtins": "", "portagpu.cuda": "cuda."}
    return prefix.get(module, f"{module}.") + name


def each(kinds: str, count: int = 1) -> tuple[tuple[str, ...], ...]:
    """Every dtype of these kinds, for all operands the same."""
    return tuple((name,) * count for name in of_kinds(kinds))


def pairs(kinds: str, *, mixed: bool = True) -> tuple[tuple[str, ...], ...]:
    """Two operands: of each dtype with itself, and with one that follows at some distance if ``mixed``."""
    names = of_kinds(kinds)
    steps = (0, 5) if mixed else (0,)
    found = [(a, names[(k + step) % len(names)]) for k, a in enumerate(names) for step in steps]
    return tuple(dict.fromkeys(found))


def met(kinds: str) -> tuple[tuple[str, ...], ...]:
    """Two operands: every dtype with every other, in one of the two orders."""
    names = of_kinds(kinds)
    both = [(a, b) for k, a in enumerate(names) for b in names[k:]]
    return tuple(pair if sum(map(names.index, pair)) % 2 == 0 else pair[::-1] for pair in both)


def wide(function: Callable[..., Any]) -> Reference:
    """A NumPy function, computed in long double."""

    def reference(*arrays: Array) -> Any:
        common = np.result_type(*arrays)
        kind = np.clongdouble if common.kind == "c" else np.longdouble
        # integers are converted to float64 first
        first = common if common.kind in "fc" else np.dtype(np.float64)
        return function(*(a.astype(first).astype(kind) for a in arrays))

    return reference


def elements(function: Callable[..., Any], dtype: Any = np.float64) -> Reference:
    """A Python function of numbers, applied to each element."""

    def reference(*arrays: Array) -> Array:
        return np.array([function(*v) for v in zip(*(a.tolist() for a in arrays), strict=True)], dtype)

    return reference


def is_kind(name: str, kinds: str) -> bool:
    """Whether a dtype is of one of these kinds."""
    return KINDS[name] in kinds

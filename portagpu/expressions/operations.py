"""Functions of elements with the dtypes that they compute in: NumPy's own choice, asked once for each combination."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.errors import DTypeError

_MOST = 4096  # combinations that are remembered
_TRUTH = np.dtype(bool)
_NUMBERS = (int, float, complex)


_COSTLY = frozenset(
    """
    power float_power exp exp2 expm1 log log2 log10 log1p logaddexp logaddexp2 sin cos tan sinh cosh tanh arcsin arccos
    arctan arcsinh arccosh arctanh arctan2 hypot cbrt gcd lcm
    """.split()
)


class Operation:
    """A function of elements: the ``name`` of a NumPy function, or an attribute (".real"), or "astype".

    Of a function with several results, "divmod[1]" is one of them.

    ``inputs`` are the dtypes to which operands are converted before, ``dtype`` is the result's. Equal ones are one
    object as long as they are remembered.
    """

    __slots__ = ("dtype", "inputs", "name")

    def __init__(self, name: str, inputs: tuple[np.dtype[Any], ...], dtype: np.dtype[Any]) -> None:
        self.name, self.inputs, self.dtype = name, inputs, dtype

    @property
    def is_costly(self) -> bool:
        """Whether storing a result and loading it again takes less than computing it twice."""
        return self.name in _COSTLY

    @property
    def facts(self) -> tuple[Any, ...]:
        """What equal ones have in common."""
        return self.name, self.inputs, self.dtype


@lru_cache(_MOST)
def operation_of(ufunc: np.ufunc, *kinds: Any) -> Operation:
    """A ufunc in NumPy's loop for operands of these dtypes; `int`, `float`, `complex`: Python's numbers (NEP 50).

    Raises `DTypeError` where NumPy has none, or one of dtypes that no device has.
    """
    return operations_of(ufunc, kinds)[0]


@lru_cache(_MOST)
def operations_of(
    ufunc: np.ufunc, kinds: tuple[Any, ...], dtype: np.dtype[Any] | None = None, casting: Any = "same_kind"
) -> tuple[Operation, ...]:
    """The same for each result of a ufunc; with a ``dtype``, in NumPy's loop whose results are of it.

    ``casting``: how operands may be converted to the loop's dtypes. Raises `DTypeError`.
    """
    # of native dtypes "no" allows what "equiv" does, by which NumPy 2.4 ends the process where it refuses a number
    options: dict[str, Any] = {"casting": "no" if casting == "equiv" else casting}
    if dtype is not None:
        options["signature"] = (None,) * ufunc.nin + (dtype,) * ufunc.nout
    operands = (_TRUTH if kind is bool else kind for kind in kinds)
    try:
        found = ufunc.resolve_dtypes((*operands, *(None,) * ufunc.nout), **options)
        if casting == "equiv" and any(k in _NUMBERS and d != np.dtype(k) for k, d in zip(kinds, found, strict=False)):
            raise TypeError("a number of Python's is equivalent to one dtype only")
    except TypeError as error:
        shown = ", ".join(kind.__name__ if isinstance(kind, type) else str(kind) for kind in kinds)
        wanted = "" if dtype is None else f" with dtype={dtype} and casting={casting!r}"
        raise DTypeError(
            f"numpy.{ufunc.__name__} takes no operands of types ({shown}){wanted}",
            hint="convert them with x.astype(...)",
        ) from error
    for each in found:
        dtypes.from_numpy(each)
    for kind, taken in zip(kinds, found, strict=False):
        if taken.kind in "iuf" and (kind is complex or getattr(kind, "kind", "") == "c"):
            raise DTypeError(
                f"operands of {kind} cannot become {taken}",
                hint=f"take .real, .imag or np.abs() of them; casting={casting!r} allows no more",
            )
    inputs, outputs = tuple(found[: ufunc.nin]), found[ufunc.nin :]
    names = [ufunc.__name__] if ufunc.nout == 1 else [f"{ufunc.__name__}[{n}]" for n in range(ufunc.nout)]
    return tuple(operation(name, inputs, output) for name, output in zip(names, outputs, strict=True))


@lru_cache(_MOST)
def operation(name: str, inputs: tuple[np.dtype[Any], ...], dtype: np.dtype[Any]) -> Operation:
    """A function of elements that converts its operands to dtypes, and its result to another."""
    return Operation(name, inputs, dtype)


@lru_cache(_MOST)
def conversion(dtype: np.dtype[Any]) -> Operation:
    """The conversion to a dtype. Raises `DTypeError` for one that kernels do not know."""
    dtypes.from_numpy(dtype)
    return Operation("astype", (dtype,), dtype)

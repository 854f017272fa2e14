"""Declared signatures of kernels: the choice among several, and the conversion of arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.dispatch.arguments.typeof import typeof
from portagpu.dtypes import Kind
from portagpu.errors import ArgumentCountError, ArgumentTypeError, KernelTypeError, with_article
from portagpu.frontend.operations.costs import Cost, number_cost, rank
from portagpu.frontend.source.capture import FunctionSource
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.creation import at_address
from portagpu.runtime.host_arguments import ArgumentWrapper, like_tuple
from portagpu.types import Array, CPointer, NoneType, Number, Record, Signature, Tuple, Type


def check_count(signature: Signature, source: FunctionSource) -> None:
    """Raise `KernelTypeError` unless the function has as many parameters as its signature."""
    if len(signature.args) != len(source.parameters):
        raise KernelTypeError(
            f"the signature '{signature}' has {len(signature.args)} parameters, "
            f"`{source.name}` has {len(source.parameters)}",
            span=source.span(source.tree),
        )


def check_result(signature: Signature, device: bool) -> None:
    """Raise `KernelTypeError` where a kernel's signature declares a result."""
    if not device and not isinstance(signature.return_type, NoneType | None):
        raise KernelTypeError(
            f"CUDA kernel must have void return type; the signature is '{signature}'",
            hint="write results to an array argument, or declare a device function: device=True",
        )


def convert_arguments(
    declared: tuple[Signature, ...], args: tuple[Any, ...], names: tuple[str, ...], function: Callable[..., Any]
) -> tuple[Any, ...]:
    """Arguments with numbers converted to the types of the signature that fits best.

    The best signature needs the fewest unsafe conversions, then the fewest safe ones, then the fewest promotions.
    Raises `ArgumentTypeError` where none fits or two fit equally well, and `ArgumentCountError`.
    """
    signature = declared[0] if len(declared) == 1 else _choose(declared, args, function)
    if len(args) != len(signature.args):
        raise ArgumentCountError(
            f"the signature '{signature}' takes {len(signature.args)} arguments, {len(args)} given"
        )
    return tuple(_convert(t, a, n) for t, a, n in zip(signature.args, args, names, strict=True))


def _choose(declared: tuple[Signature, ...], args: tuple[Any, ...], function: Callable[..., Any]) -> Signature:
    ranked = []
    for signature in declared:
        if len(signature.args) != len(args):
            continue
        cost = rank([_cost(t, a) for t, a in zip(signature.args, args, strict=True)])
        if cost is not None:
            ranked.append((cost, signature))
    shown = [str(s) for s in declared]
    given = ", ".join(describe_argument(a) for a in args)
    if not ranked:
        raise ArgumentTypeError(
            f"No matching definition of the kernel for ({given})",
            hint="convert the arguments, or add a signature",
            notes=shown,
        )
    best = min(cost for cost, _ in ranked)
    found = [s for cost, s in ranked if cost == best]
    if len(found) > 1:
        raise ArgumentTypeError(
            f"Ambiguous overloading for ({given}): several signatures of the kernel fit equally well",
            hint="give one argument its exact type, such as np.float32(x)",
            notes=[*map(str, found), _original_words(function, args, found)],
        )
    return found[0]


def _original_words(function: Callable[..., Any], args: tuple[Any, ...], found: list[Signature]) -> str:
    """numba-cuda's message of a call that several signatures fit equally well."""

    def listed(kinds: Iterable[Type]) -> str:
        return f"({', '.join(map(_original_name, kinds))})"

    given = (typeof(a.value if isinstance(a, ArgumentWrapper) else a) for a in args)
    lines = [f"in numba-cuda: Ambiguous overloading for {function!r} {listed(given)}:"]
    return "\n".join([*lines, *(f"{listed(s.args)} -> none" for s in found)])


def _original_name(kind: Type) -> str:
    """The name that numba-cuda's messages have for a type."""
    if isinstance(kind, Array):
        return f"Array({kind.dtype}, {kind.ndim}, {kind.layout!r}, {kind.readonly}, aligned=True)"
    return str(kind)


def describe_argument(value: Any) -> str:
    """An argument's type as messages show it."""
    value = value.value if isinstance(value, ArgumentWrapper) else value
    if isinstance(value, np.ndarray | DeviceNDArray):
        return f"array({value.dtype}, {value.ndim}d)"
    if isinstance(value, np.generic):
        return str(value.dtype)
    if isinstance(value, tuple):
        return f"({', '.join(map(describe_argument, value))})"
    return type(value).__name__


def _cost(declared: Type, value: Any) -> Cost:
    value = value.value if isinstance(value, ArgumentWrapper) else value
    match declared:
        case Array():
            if not _fits(declared, value):
                return Cost.IMPOSSIBLE
            return Cost.EXACT if declared.layout != "A" else Cost.PROMOTION
        case CPointer():
            return Cost.EXACT if _is_address(value) or _fits(declared.array, value) else Cost.IMPOSSIBLE
        case Number():
            return _number_cost(declared, value)
        case Tuple():
            if not isinstance(value, tuple) or len(value) != len(declared.types):
                return Cost.IMPOSSIBLE
            return max((_cost(t, v) for t, v in zip(declared.types, value, strict=True)), default=Cost.EXACT)
        case NoneType():
            return Cost.EXACT if value is None else Cost.IMPOSSIBLE
        case Record():
            return Cost.EXACT if _is_record(declared, value) else Cost.IMPOSSIBLE
        case _:
            return Cost.IMPOSSIBLE


def _is_address(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_record(declared: Record, value: Any) -> bool:
    """Whether an argument is one record of the declared type: a NumPy record, or one on the device."""
    inner = value.value if isinstance(value, ArgumentWrapper) else value
    is_one = isinstance(inner, np.void | np.ndarray | DeviceNDArray) and inner.ndim == 0
    return is_one and inner.dtype == declared.dtype


def _number_cost(declared: Number, value: Any) -> Cost:
    if isinstance(value, np.generic):
        dtype = value.dtype
    elif isinstance(value, bool | int | float | complex):
        dtype = np.dtype(type(value))
    else:
        return Cost.IMPOSSIBLE
    return number_cost(dtypes.from_numpy(dtype), declared.row)


def _fits(declared: Array, value: Any) -> bool:
    dtype, ndim = getattr(value, "dtype", None), getattr(value, "ndim", None)
    if dtype != declared.dtype.dtype or ndim != declared.ndim:
        return False
    if declared.layout == "A" or not isinstance(value, np.ndarray | DeviceNDArray):
        return True
    return bool(value.flags["C_CONTIGUOUS" if declared.layout == "C" else "F_CONTIGUOUS"])


def _convert(declared: Type, value: Any, name: str) -> Any:
    match declared:
        case Array():
            return _checked_array(declared, value, name)
        case CPointer() if _is_address(value):
            return at_address(int(value), declared.dtype.dtype)
        case CPointer():
            return _checked_array(declared.array, value, name)
        case Tuple() if isinstance(value, tuple) and len(value) == len(declared.types):
            pairs = zip(declared.types, value, strict=True)
            return like_tuple(value, (_convert(t, v, f"{name}[{n}]") for n, (t, v) in enumerate(pairs)))
        case Number() if np.iscomplexobj(value) and not declared.row.is_complex:
            raise ArgumentTypeError(f"argument `{name}` is {value!r}; the signature says {declared}")
        case Number() if isinstance(value, bool | int | float | complex | np.generic):
            try:
                return declared.dtype.type(_signed(value, declared))
            except (OverflowError, ValueError, TypeError) as error:
                raise ArgumentTypeError(f"argument `{name}` is {value!r}, which does not fit {declared}") from error
        case NoneType() if value is None:
            return value
        case Record() if _is_record(declared, value):
            return value
        case _:
            raise ArgumentTypeError(
                f"argument `{name}` is {with_article(type(value).__name__)}; the signature says {declared}"
            )


def _signed(value: Any, declared: Number) -> Any:
    """A bit pattern such as 0xFFFFFFFF for int32 as the signed number that has it."""
    bits = declared.bitwidth
    if type(value) is int and declared.row.kind is Kind.INT and 2 ** (bits - 1) <= value < 2**bits:
        return value - 2**bits
    return value


def _checked_array(declared: Array, value: Any, name: str) -> Any:
    inner = value.value if isinstance(value, ArgumentWrapper) else value
    if isinstance(inner, np.ndarray | DeviceNDArray) and _differs_in_sign(declared, inner.dtype):
        inner = inner.view(declared.dtype.dtype)  # the bits are what they are, as in CUDA-Python
        value = type(value)(inner) if isinstance(value, ArgumentWrapper) else inner
    if isinstance(inner, np.ndarray | DeviceNDArray) and not _fits(declared, inner):
        if inner.dtype == declared.dtype.dtype and inner.ndim == declared.ndim:
            order = "C" if declared.layout == "C" else "Fortran"
            raise ArgumentTypeError(
                f"argument `{name}` is not contiguous in {order} order; the signature says {declared.subscript}",
                hint=f"write {Array(declared.dtype, declared.ndim).subscript} for any strides, or pass a copy",
            )
        raise ArgumentTypeError(
            f"argument `{name}` is an array of {inner.dtype} with {inner.ndim} axes; the signature says"
            f" {declared.subscript}",
            hint=f"convert it with .astype(np.{declared.dtype}), or leave the signature out",
        )
    if isinstance(inner, bool | int | float | complex | np.generic) or inner is None:
        raise ArgumentTypeError(
            f"argument `{name}` is {with_article(type(inner).__name__)}; the signature says {declared.subscript}"
        )
    return value


def _differs_in_sign(declared: Array, given: np.dtype[Any]) -> bool:
    """Whether both are integers of one size, one signed and the other not."""
    wanted = declared.dtype.dtype
    return wanted.itemsize == given.itemsize and {wanted.kind, given.kind} == {"i", "u"}

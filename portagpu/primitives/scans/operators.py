"""Functions that scans join elements by: NumPy's, or a device function of the caller's, with what changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from portagpu import dtypes
from portagpu.dispatch.decorators import jit
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.errors import ArgumentTypeError, DTypeError

_TEXTS = {
    "add": "x + y",
    "multiply": "x * y",
    "bitwise_and": "x & y",
    "bitwise_or": "x | y",
    "bitwise_xor": "x ^ y",
}
# 1 * z loses an infinite part, or NaN in one: no product is taken with the identity, 1 with a negative zero. An element
# 1-0j is taken for it: beside it an infinite part stays, where NumPy's product has NaN.
_COMPLEX_PRODUCT = "y if x == 1 and np.signbit(x.imag) else x if y == 1 and np.signbit(y.imag) else x * y"
_LOWEST, _HIGHEST = frozenset({"maximum"}), frozenset({"minimum"})


class Operator(NamedTuple):
    """An associative function of two numbers of ``held``, in which a scan computes.

    ``text``: of two numbers, x and y, as one; ``function``: the device function that it names as ``operator``.
    ``identity``: what changes no number; None where elements are joined one after the other. ``commutes``: whether
    elements may be joined in any order.
    """

    held: np.dtype[Any]
    text: str
    function: Dispatcher[..., Any] | None
    identity: Any
    commutes: bool


def operator_of(function: Any, dtype: np.dtype[Any], identity: Any = None) -> Operator:
    """The operator of a NumPy function of two numbers, or of a device function with its identity.

    16-bit floats are held as float32. Raises `ArgumentTypeError`, `DTypeError`.
    """
    row = dtypes.from_numpy(dtype)
    # the next float16 is another number than the next float32
    is_short = row.name in ("float16", "bfloat16") and function is not np.nextafter
    held = np.dtype(np.float32) if is_short else dtype
    if isinstance(function, np.ufunc):
        if function.nin != 2 or function.nout != 1:
            raise ArgumentTypeError(f"numpy.{function.__name__} does not join two numbers to one")
        name = function.__name__
        text = "x or y" if name == "logical_or" else "x and y" if name == "logical_and" else f"np.{name}(x, y)"
        found = _identity(name, held) if identity is None else identity
        if dtype.kind == "b":
            text = text if name not in ("add", "multiply") else f"x {'|' if name == 'add' else '&'} y"
        elif name == "multiply" and held.kind == "c" and identity is None:
            text = _COMPLEX_PRODUCT
        else:
            text = _TEXTS.get(name, text)
        return Operator(held, text, None, found, found is not None)
    if not callable(function):
        raise ArgumentTypeError(
            f"a {type(function).__name__} joins no elements", hint="pass a NumPy function or a device function"
        )
    if identity is None:
        raise ArgumentTypeError(
            "a device function needs identity=", hint="what changes no element: 0 of sums, -inf of maxima"
        )
    device: Callable[..., Any] = function if isinstance(function, Dispatcher) else jit(function, device=True)
    return Operator(held, "operator(x, y)", device, identity, False)  # type: ignore[arg-type]


def _identity(name: str, held: np.dtype[Any]) -> Any:
    if name in _LOWEST or name in _HIGHEST:
        lowest = name in _LOWEST
        if held.kind == "b":
            return not lowest
        if held.kind in "iu":
            limits = np.iinfo(held)
            return int(limits.min if lowest else limits.max)
        found = -np.inf if lowest else np.inf
        return complex(found, found) if held.kind == "c" else found
    if name == "add" and held.kind in "fc":  # 0.0 would change -0.0
        return -0.0 if held.kind == "f" else complex(-0.0, -0.0)
    if name == "multiply" and held.kind == "c":
        return complex(1.0, -0.0)
    known = {"add": 0, "multiply": 1, "logical_and": True, "logical_or": False, "logical_xor": False}
    known |= {"bitwise_or": 0, "bitwise_xor": 0}
    if name == "bitwise_and":
        return True if held.kind == "b" else -1 if held.kind == "i" else int(np.iinfo(held).max)
    return known.get(name)


def shown(value: Any, held: np.dtype[Any]) -> str:
    """Text of a number of a dtype. Raises `DTypeError` for what is no number."""
    try:
        number = held.type(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise DTypeError(f"identity {value!r} is no number of {held}") from error
    name = f"as_{dtypes.from_numpy(held).name}"
    parts = (number.real, number.imag) if held.kind == "c" else (number,)
    texts = [repr(part.item()).replace("inf", "np.inf").replace("nan", "np.nan") for part in parts]
    return f"{name}(complex({', '.join(texts)}))" if len(texts) > 1 else f"{name}({texts[0]})"

"""NumPy's functions and Python's operators on device arrays: what `portagpu.runtime.arrays.numpy_dispatch` calls."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from portagpu.errors import ArgumentTypeError, DTypeError
from portagpu.expressions import equality as equality  # which registers == and !=
from portagpu.expressions.apply import apply, apply_all, apply_into, check_fits, check_out
from portagpu.expressions.at import at
from portagpu.expressions.powers import power
from portagpu.expressions.reductions.runs import reduceat
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.layout import checked_dtype
from portagpu.runtime.arrays.numpy_dispatch import ELEMENTWISE, IN_PLACE, register
from portagpu.xp import beyond as beyond
from portagpu.xp.devices import context_on
from portagpu.xp.protocols import fft as fft  # these register NumPy's other functions
from portagpu.xp.protocols import linalg as linalg
from portagpu.xp.protocols import names as names
from portagpu.xp.protocols import reductions as reductions
from portagpu.xp.protocols import rounding as rounding
from portagpu.xp.protocols import sorting as sorting
from portagpu.xp.protocols import variances as variances

_KEYWORDS = frozenset({"out", "where", "dtype", "casting"})
_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


def _ufunc(
    ufunc: np.ufunc, *inputs: Any, out: Any = None, where: Any = True, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    """A call of any NumPy function of elements, with its keywords."""
    if ufunc.signature is not None:
        raise DTypeError(f"numpy.{ufunc.__name__} of device arrays is missing")
    if len(inputs) != ufunc.nin:
        raise ArgumentTypeError(f"numpy.{ufunc.__name__} takes {ufunc.nin} arrays, not {len(inputs)}")
    if casting not in _CASTINGS:
        raise ArgumentTypeError(f"casting= is one of {', '.join(_CASTINGS)}, not {casting!r}")
    if isinstance(dtype, tuple):
        raise DTypeError("signatures of several dtypes are missing", hint="pass dtype= with the results' dtype")
    kind = None if dtype is None else checked_dtype(dtype)
    outs = (None,) * ufunc.nout if out is None else out if isinstance(out, tuple) else (out,)
    if len(outs) != ufunc.nout:
        raise ArgumentTypeError(f"out= of numpy.{ufunc.__name__} is a tuple of {ufunc.nout} arrays")
    for each in outs:
        if each is None and where is not True:
            raise DTypeError(
                "where= without out= leaves elements undefined", hint="pass out=, or use numpy.where(condition, x, y)"
            )
        if each is not None:
            check_out(each)
    if ufunc.nout == 1 and outs[0] is not None:
        return apply_into(outs[0], ufunc, *inputs, where=where, dtype=kind, casting=casting)
    if ufunc.nout == 1 and kind is None and casting == "same_kind":
        return apply(ufunc, *inputs)
    found = apply_all(ufunc, *inputs, dtype=kind, casting=casting)
    if any(each is not None for each in outs):
        for x, each in zip(found, outs, strict=True):
            x.buffer  # noqa: B018 - all of them before an operand is overwritten
            if each is not None:
                check_fits(x.dtype, each.dtype, casting)
        found = tuple(
            x if each is None else apply_into(each, np.positive, x, where=where, casting=casting)
            for x, each in zip(found, outs, strict=True)
        )
    return found if ufunc.nout > 1 else found[0]


register("ufunc", _ufunc, _KEYWORDS)
register("ufunc.at", at, frozenset())
register("ufunc.reduceat", reduceat, frozenset({"axis", "dtype", "out"}))


def _named(ufunc: np.ufunc) -> Any:
    def function(*inputs: Any, **options: Any) -> Any:
        return _ufunc(ufunc, *inputs, **options) if options or ufunc.nout > 1 else apply(ufunc, *inputs)

    return function


def _power(*inputs: Any, **options: Any) -> Any:
    return _ufunc(np.power, *inputs, **options) if options or len(inputs) != 2 else power(*inputs)


def _in_place(ufunc: np.ufunc) -> Any:
    def function(x: DeviceNDArray, y: Any) -> DeviceNDArray:
        return apply_into(x, ufunc, x, y)

    return function


for _name in dir(np):
    _found = getattr(np, _name)
    if isinstance(_found, np.ufunc) and _found.signature is None:
        register(_found.__name__, _power if _found is np.power else _named(_found), _KEYWORDS)
        if _found.nout == 1:
            ELEMENTWISE[_found.__name__] = power if _found is np.power else partial(apply, _found)
        if _found.nin == 2 and _found.nout == 1:
            IN_PLACE[_found.__name__] = _in_place(_found)


def _array_namespace(array: Any, api_version: str | None) -> Any:
    namespace = import_module("portagpu.xp")
    if api_version is not None and api_version not in _VERSIONS:
        raise ArgumentTypeError(
            f"the array API's version {api_version!r} is not there", hint=f"it has {', '.join(_VERSIONS)}"
        )
    return namespace


_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")  # each has all functions of those before


def _to_device(array: DeviceNDArray, device: Any, stream: Any) -> DeviceNDArray:
    context = context_on(device)
    if context.device is array.context.device:
        return array
    made = device_array(array.shape, array.dtype, context=context)
    made.copy_to_device(array.copy_to_host())
    return made


register("array_namespace", _array_namespace, frozenset())
register("to_device", _to_device, frozenset())

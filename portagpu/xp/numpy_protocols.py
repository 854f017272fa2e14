"""NumPy's functions and Python's operators on device arrays: what `portagpu.runtime.arrays.numpy_dispatch` calls."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from portagpu.errors import ArgumentTypeError, DTypeError
from portagpu.expressions.apply import apply, apply_into
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.numpy_dispatch import register
from portagpu.xp import numpy_fft as numpy_fft
from portagpu.xp import numpy_linalg as numpy_linalg
from portagpu.xp import numpy_names as numpy_names  # which registers NumPy's other functions
from portagpu.xp import numpy_reductions as numpy_reductions
from portagpu.xp import numpy_sorting  # noqa: F401 - registers its functions
from portagpu.xp.devices import context_on


def _ufunc(ufunc: np.ufunc, *inputs: Any, out: Any = None, where: Any = True) -> Any:
    if ufunc.nout != 1:
        raise DTypeError(f"numpy.{ufunc.__name__} of device arrays gives several results, which is missing")
    if out is None and where is not True:
        raise DTypeError("where= of device arrays needs out=", hint="use numpy.where(condition, result, x)")
    if out is None:
        return apply(ufunc, *inputs)
    return apply_into(out, ufunc, *inputs, where=None if where is True else where)


register("ufunc", _ufunc, frozenset({"out", "where"}))


def _named(ufunc: np.ufunc) -> Any:
    def function(*inputs: Any, out: Any = None, where: Any = True) -> Any:
        if out is None and where is True:
            return apply(ufunc, *inputs)
        return _ufunc(ufunc, *inputs, out=out, where=where)

    return function


for _name in dir(np):
    _found = getattr(np, _name)
    if isinstance(_found, np.ufunc) and _found.nout == 1 and _found.signature is None:
        register(_found.__name__, _named(_found), frozenset({"out", "where"}))


def _array_namespace(array: Any, api_version: str | None) -> Any:
    namespace = import_module("portagpu.xp")
    if api_version is not None and api_version not in _VERSIONS:
        raise ArgumentTypeError(
            f"the array API's version {api_version!r} is not there", hint=f"it has {', '.join(_VERSIONS)}"
        )
    return namespace


_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")  # each has all functions of those before


def _to_device(array: DeviceNDArray, device: Any, stream: Any) -> DeviceNDArray:
    context = context_on(device)
    if context.device is array.context.device:
        return array
    made = device_array(array.shape, array.dtype, context=context)
    made.copy_to_device(array.copy_to_host())
    return made


register("array_namespace", _array_namespace, frozenset())
register("to_device", _to_device, frozenset())

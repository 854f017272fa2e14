"""`numpy.fft` on device arrays, with NumPy's arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from portagpu.expressions.reductions.functions import finished
from portagpu.runtime.arrays.numpy_dispatch import register
from portagpu.xp import fft

_OF_ONE = frozenset({"n", "axis", "norm", "out"})
_OF_SEVERAL = frozenset({"s", "axes", "norm", "out"})


def _into(found: Any, out: Any) -> Any:
    return found if out is None else finished(found, found, (), keepdims=False, out=out)


def _of_one(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(a: Any, n: Any = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Any:
        return _into(function(a, n=n, axis=axis, norm=norm), out)

    return call


def _of_several(function: Callable[..., Any], default: Any = None) -> Callable[..., Any]:
    def call(a: Any, s: Any = None, axes: Any = default, norm: str | None = None, out: Any = None) -> Any:
        return _into(function(a, s=s, axes=axes, norm=norm), out)

    return call


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    register(f"fft.{_name}", _of_one(getattr(fft, _name)), _OF_ONE)
for _name in ("fft", "ifft", "rfft", "irfft"):
    _function = getattr(fft, f"{_name}n")
    register(f"fft.{_name}n", _of_several(_function), _OF_SEVERAL)
    register(f"fft.{_name}2", _of_several(_function, (-2, -1)), _OF_SEVERAL)
register("fft.fftshift", lambda x, axes=None: fft.fftshift(x, axes=axes), frozenset({"axes"}))
register("fft.ifftshift", lambda x, axes=None: fft.ifftshift(x, axes=axes), frozenset({"axes"}))

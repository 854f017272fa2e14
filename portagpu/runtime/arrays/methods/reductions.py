"""NumPy's methods of device arrays that reduce or accumulate elements; `numpy_dispatch` knows what computes them."""

from __future__ import annotations

from typing import Any

from portagpu.runtime.arrays import numpy_dispatch


class ArrayReductions:
    """Methods of `DeviceNDArray`: as NumPy's arrays have them, with results on the device."""

    __slots__ = ()

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        """The sum along axes. ``keepdims``, ``initial``, ``where``: as NumPy's."""
        return _call("sum", self, axis, dtype=dtype, out=out, **options)

    def prod(self, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        """The product along axes. ``keepdims``, ``initial``, ``where``: as NumPy's."""
        return _call("prod", self, axis, dtype=dtype, out=out, **options)

    def max(self, axis: Any = None, out: Any = None, **options: Any) -> Any:
        """The largest element along axes. Raises `ShapeError` for no elements."""
        return _call("max", self, axis, out=out, **options)

    def min(self, axis: Any = None, out: Any = None, **options: Any) -> Any:
        """The smallest element along axes. Raises `ShapeError` for no elements."""
        return _call("min", self, axis, out=out, **options)

    def all(self, axis: Any = None, out: Any = None, **options: Any) -> Any:
        """Whether all elements along axes are true."""
        return _call("all", self, axis, out=out, **options)

    def any(self, axis: Any = None, out: Any = None, **options: Any) -> Any:
        """Whether an element along axes is true."""
        return _call("any", self, axis, out=out, **options)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        """The arithmetic mean along axes. ``keepdims``, ``where``: as NumPy's."""
        return _call("mean", self, axis, dtype=dtype, out=out, **options)

    def var(self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, **options: Any) -> Any:
        """The variance along axes."""
        return _call("var", self, axis, dtype=dtype, out=out, ddof=ddof, **options)

    def std(self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, **options: Any) -> Any:
        """The standard deviation along axes."""
        return _call("std", self, axis, dtype=dtype, out=out, ddof=ddof, **options)

    def ptp(self, axis: Any = None, out: Any = None, **options: Any) -> Any:
        """The largest element along axes less the smallest."""
        return _call("ptp", self, axis, out=out, **options)

    def argmax(self, axis: int | None = None, out: Any = None, **options: Any) -> Any:
        """The first place of the largest element."""
        return _call("argmax", self, axis, out=out, **options)

    def argmin(self, axis: int | None = None, out: Any = None, **options: Any) -> Any:
        """The first place of the smallest element."""
        return _call("argmin", self, axis, out=out, **options)

    def cumsum(self, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        """Sums of all elements up to each."""
        return _call("cumsum", self, axis, dtype=dtype, out=out)

    def cumprod(self, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        """Products of all elements up to each."""
        return _call("cumprod", self, axis, dtype=dtype, out=out)


def _call(name: str, array: Any, axis: Any, **options: Any) -> Any:
    return numpy_dispatch.call(name, array, axis=axis, **options)

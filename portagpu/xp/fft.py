"""Discrete Fourier transforms: the extension ``fft`` of the array API standard."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from portagpu.errors import ArgumentTypeError, DTypeError, OutOfBoundsError, ShapeError, UnknownOptionError
from portagpu.expressions.apply import apply, convert
from portagpu.fourier.axes import floating, transform_axis
from portagpu.fourier.kernels import COMPLEX, HERMITIAN, REAL
from portagpu.fourier.transforms import Transform
from portagpu.primitives.gathers.sequences import whole_steps
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.layout import checked_dtype
from portagpu.xp.conversion import array_of
from portagpu.xp.creation import default_float
from portagpu.xp.devices import context_on
from portagpu.xp.manipulation import concat, roll

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]

_NORMS = ("backward", "ortho", "forward")


def fft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> DeviceNDArray:
    """The transform along an axis, of its first ``n`` elements, or of those and zeros; as `numpy.fft.fft`.

    The result is complex64 for float32 and complex64, else complex128. ``norm``: "backward" divides the inverse
    transform by n, "forward" this one, "ortho" both by the root of n. Raises `ShapeError`, `UnknownOptionError`,
    `DTypeError`.
    """
    return _along(array_of(x), n, axis, norm, inverse=False)


def ifft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> DeviceNDArray:
    """The inverse of `fft`."""
    return _along(array_of(x), n, axis, norm, inverse=True)


def rfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> DeviceNDArray:
    """The first ``n // 2 + 1`` elements of the transform of real numbers; the others are their conjugates."""
    return _of_real(array_of(x), n, axis, norm, inverse=False)


def irfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> DeviceNDArray:
    """The inverse of `rfft`: ``n`` real numbers, by default ``2 * (x.shape[axis] - 1)``; of float16 in that dtype."""
    return _to_real(array_of(x), n, axis, norm, inverse=True)


def hfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> DeviceNDArray:
    """The transform of ``n`` numbers of which ``n // 2 + 1`` are given, and the others are conjugates: n real ones."""
    return _to_real(array_of(x), n, axis, norm, inverse=False)


def ihfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> DeviceNDArray:
    """The inverse of `hfft`."""
    return _of_real(array_of(x), n, axis, norm, inverse=True)


def fftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> DeviceNDArray:
    """The transform along several axes, all by default; ``s``: how many elements of each. As `numpy.fft.fftn`."""
    return _along_all(array_of(x), s, axes, norm, inverse=False)


def ifftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> DeviceNDArray:
    """The inverse of `fftn`."""
    return _along_all(array_of(x), s, axes, norm, inverse=True)


def rfftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> DeviceNDArray:
    """`rfft` along the last one of several axes, then `fft` along the others."""
    array = array_of(x)
    pairs = _pairs(array, s, axes)
    if not pairs:
        raise ShapeError("rfftn along no axis", hint="name one in axes=, or leave it away")
    found = _of_real(array, pairs[-1][1], pairs[-1][0], norm, inverse=False)
    for axis, n in reversed(pairs[:-1]):
        found = _along(found, n, axis, norm, inverse=False)
    return found


def irfftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> DeviceNDArray:
    """The inverse of `rfftn`."""
    array = array_of(x)
    pairs = _pairs(array, s, axes)
    if not pairs:
        raise ShapeError("irfftn along no axis", hint="name one in axes=, or leave it away")
    found = array
    for axis, n in pairs[:-1]:
        found = _along(found, n, axis, norm, inverse=True)
    return _to_real(found, pairs[-1][1] if s is not None else None, pairs[-1][0], norm, inverse=True)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> DeviceNDArray:
    """The frequencies of `fft`'s results for samples ``d`` apart, in cycles per unit of it."""
    return _frequencies(n, d, dtype, device, half=False)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> DeviceNDArray:
    """The frequencies of `rfft`'s results for samples ``d`` apart, in cycles per unit of it."""
    return _frequencies(n, d, dtype, device, half=True)


def fftshift(x: Any, /, *, axes: Any = None) -> DeviceNDArray:
    """The elements with frequency zero in the middle of axes, all by default."""
    return _shifted(array_of(x), axes, lambda n: n // 2)


def ifftshift(x: Any, /, *, axes: Any = None) -> DeviceNDArray:
    """The inverse of `fftshift`."""
    return _shifted(array_of(x), axes, lambda n: n - n // 2)


def _number(value: Any, name: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise ArgumentTypeError(f"{name} is {value!r}", hint=f"{name} is a whole number") from None


def _axis(x: DeviceNDArray, axis: Any) -> int:
    number = _number(axis, "axis")
    if not -x.ndim <= number < x.ndim:
        raise OutOfBoundsError(f"there is no axis {number} in an array with {x.ndim} axes")
    return number % x.ndim


def _length(n: Any, default: int) -> int:
    length = default if n is None else _number(n, "n")
    if length < 1:
        raise ShapeError(f"a transform of {length} elements", hint="it has one at least")
    return length


def _scale(n: int, norm: str | None, *, inverse: bool) -> float:
    if norm not in (None, *_NORMS):
        raise UnknownOptionError(f"norm is {norm!r}", hint=f"one of {', '.join(_NORMS)}")
    if norm == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if inverse == (norm != "forward") else 1.0


def _along(x: DeviceNDArray, n: Any, axis: Any, norm: str | None, *, inverse: bool) -> DeviceNDArray:
    where = _axis(x, axis)
    length = _length(n, x.shape[where])
    scale = _scale(length, norm, inverse=inverse)
    return transform_axis(x, where, Transform(n=length, inverse=inverse, scale=scale))


def _of_real(x: DeviceNDArray, n: Any, axis: Any, norm: str | None, *, inverse: bool) -> DeviceNDArray:
    if x.dtype.kind == "c":
        raise DTypeError(f"this transform takes real numbers, not {x.dtype}", hint="fft takes complex ones")
    where = _axis(x, axis)
    length = _length(n, x.shape[where])
    scale = _scale(length, norm, inverse=inverse)
    what = Transform(n=length, inverse=inverse, scale=scale, source=REAL, target=COMPLEX, kept=length // 2 + 1)
    return transform_axis(x, where, what)


def _to_real(x: DeviceNDArray, n: Any, axis: Any, norm: str | None, *, inverse: bool) -> DeviceNDArray:
    where = _axis(x, axis)
    length = _length(n, 2 * (x.shape[where] - 1))
    scale = _scale(length, norm, inverse=inverse)
    found = transform_axis(x, where, Transform(n=length, inverse=inverse, scale=scale, source=HERMITIAN, target=REAL))
    return convert(found, x.dtype) if x.dtype == np.float16 else found  # as NumPy's, which has no complex32


def _pairs(x: DeviceNDArray, s: Any, axes: Any) -> list[tuple[int, int]]:
    """Axes and how many elements are taken along each. Raises `ShapeError`, `ArgumentTypeError`."""
    if axes is None:
        chosen = list(range(x.ndim)) if s is None else list(range(-len(s), 0))
    else:
        chosen = list(axes)
    where = [_axis(x, axis) for axis in chosen]
    if s is None:
        return [(axis, x.shape[axis]) for axis in where]
    if len(s) != len(where):
        raise ShapeError(f"s has {len(s)} lengths, for {len(where)} axes", hint="one for each axis")
    return [(axis, x.shape[axis] if n is None or n == -1 else n) for axis, n in zip(where, s, strict=True)]


def _along_all(x: DeviceNDArray, s: Any, axes: Any, norm: str | None, *, inverse: bool) -> DeviceNDArray:
    pairs = _pairs(x, s, axes)
    found = x
    for axis, n in reversed(pairs):
        found = _along(found, n, axis, norm, inverse=inverse)
    if pairs:
        return found
    found = floating(x)
    return (
        apply(np.multiply, found, np.dtype(f"c{max(8, 2 * found.itemsize)}").type(1))
        if found.dtype.kind == "f"
        else found
    )


def _frequencies(n: Any, d: float, dtype: Any, device: Any, *, half: bool) -> DeviceNDArray:
    length, context = _length(n, 1), context_on(device)
    kind = default_float(context) if dtype is None else checked_dtype(dtype)
    if kind.kind != "f":
        raise DTypeError(f"frequencies are real floating-point numbers, not {kind}")
    positive = length // 2 + 1 if half else (length + 1) // 2
    parts = [(positive, 0)] if half else [(positive, 0), (length // 2, -(length // 2))]
    numbers = concat([whole_steps(count, first, 1, kind, context) for count, first in parts])
    return apply(np.multiply, numbers, kind.type(1 / (length * d)))


def _shifted(x: DeviceNDArray, axes: Any, amount: Any) -> DeviceNDArray:
    chosen = range(x.ndim) if axes is None else axes if isinstance(axes, tuple | list) else (axes,)
    where = tuple(_axis(x, axis) for axis in chosen)
    return roll(x, tuple(amount(x.shape[axis]) for axis in where), axis=where)

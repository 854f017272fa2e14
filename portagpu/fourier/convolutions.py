"""Transforms of lengths with large prime factors, as convolutions of a length that has none (L. Bluestein, 1970)."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.expressions.apply import apply
from portagpu.fourier.lengths import roots, smooth_from
from portagpu.fourier.transforms import Transform, table_of, transformed
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream


def convolved(x: DeviceNDArray, axis: int, what: Transform, stream: Stream) -> DeviceNDArray:
    """As `portagpu.fourier.transforms.transformed` of complex numbers to complex numbers, for any length.

    x has ``what.n`` elements along the axis. ``exp(-2 pi i j k / n)`` is ``w(j) w(k) / w(k - j)``, w(k) being ``exp(-pi
    i k^2 / n)``, so that the transform is a convolution with 1 / w.
    """
    n, context = what.n, x.context
    long = smooth_from(2 * n - 1)
    number = np.dtype(f"complex{16 * x.itemsize}") if x.dtype.kind == "f" else x.dtype
    beside = (1,) * (x.ndim - 1 - axis)

    def chirp() -> np.ndarray[Any, Any]:
        k = np.arange(n, dtype=np.int64)
        found = roots(2 * n, k * k % (2 * n), np.dtype(np.complex128))
        return (found.conj() if what.inverse else found).astype(number)

    def spectrum() -> np.ndarray[Any, Any]:
        k = np.arange(n, dtype=np.int64)
        w = roots(2 * n, k * k % (2 * n), np.dtype(np.complex128))
        around = np.zeros(long, np.complex128)
        around[:n] = w if what.inverse else w.conj()
        around[long - n + 1 :] = around[1:n][::-1]
        return (np.fft.fft(around) / long).astype(number)

    key = (n, what.inverse, number)
    w = table_of(context, ("chirp", *key), chirp).reshape((n, *beside))
    filter = table_of(context, ("spectrum", *key), spectrum).reshape((long, *beside))
    turned = apply(np.multiply, x, w)
    product = apply(np.multiply, transformed(turned, axis, Transform(n=long), stream), filter)
    found = transformed(product, axis, Transform(n=long, inverse=True, kept=what.kept or n), stream)
    scaled = apply(np.multiply, w[: what.kept or n], number.type(what.scale))
    return apply(np.multiply, found, scaled)

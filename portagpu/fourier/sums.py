"""Short transforms on CPUs, as the sums that they are: one small kernel for all lengths, compiled in no time."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN202

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.fourier.kernels import HERMITIAN, REAL
from portagpu.fourier.lengths import roots
from portagpu.fourier.transforms import Transform, table_of
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.stream import Stream
from portagpu.ufuncs.kernel_source import launch

_MOST = 2**14  # terms of all sums: these take no longer than the launch of a fast transform


@cuda.jit
def _sums(x, y, table, n, given, kept, inner, scale, is_half, number: cuda.constexpr):
    i = cuda.grid(1)
    if i < y.size:
        k = i // inner % kept
        begin = i // (inner * kept) * given * inner + i % inner
        found = number(0)
        turn = 0
        for run in range(0, n, 16):
            part = number(0)
            for j in range(run, min(run + 16, n)):
                if is_half and 2 * j > n:
                    if n - j < given:
                        part += np.conjugate(number(x[begin + (n - j) * inner])) * table[turn]
                elif j < given:
                    part += number(x[begin + j * inner]) * table[turn]
                turn += k
                if turn >= n:
                    turn -= n
            found += part
        if y.dtype == np.float32 or y.dtype == np.float64:
            y[i] = found.real * scale
        else:
            y[i] = complex(found.real * scale, found.imag * scale)


def is_short(x: DeviceNDArray, axis: int, what: Transform) -> bool:
    """Whether so few numbers are added that a fast transform is no faster, nor more exact."""
    caps = x.context.capabilities
    lines = math.prod(x.shape[:axis]) * math.prod(x.shape[axis + 1 :])
    return not caps.shares_on_chip and caps.fp64 and lines * (what.kept or what.n) * what.n <= _MOST


def summed(x: DeviceNDArray, axis: int, what: Transform, stream: Stream) -> DeviceNDArray:
    """As `portagpu.fourier.transforms.transformed`, for any length. Numbers are added in float64.

    Error: of each result at most about ``(20 + n / 16) * u`` times the sum of magnitudes, u the unit roundoff of
    float64, and a rounding.
    """
    kind = np.dtype(f"complex{16 * x.itemsize}") if x.dtype.kind == "f" else x.dtype
    target = np.dtype(f"float{4 * kind.itemsize}") if what.target == REAL else kind
    context, n, kept = x.context, what.n, what.kept or what.n
    y = device_array((*x.shape[:axis], kept, *x.shape[axis + 1 :]), target, context=context)
    if not y.size:
        return y
    number = np.dtype(np.complex128)

    def table() -> np.ndarray[Any, Any]:
        found = roots(n, np.arange(n, dtype=np.int64), number)
        return found.conj() if what.inverse else found

    with context.unsettled:
        sizes = (n, x.shape[axis], kept, math.prod(x.shape[axis + 1 :]))
        factors = table_of(context, ("sums", n, what.inverse), table)
        args = (x.reshape(-1), y.reshape(-1), factors, *sizes, float(what.scale), what.source == HERMITIAN, number.type)
        launch(_sums, y.size, None, stream, args, context)
    return y

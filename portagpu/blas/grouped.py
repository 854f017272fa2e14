"""Grouped products: rows of one matrix, sorted into groups, each group times a matrix of its own."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from portagpu.blas.arguments import (
    check_beta,
    check_dtypes,
    check_precision,
    check_scalar,
    checked_result,
    operands_of,
    promoted,
)
from portagpu.blas.gemm.core.alignment import aligned_copy, new_aligned_rows
from portagpu.blas.gemm.core.interface import Product, order_of
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.core.vector_types import name_of
from portagpu.blas.gemm.engine import gemm
from portagpu.blas.gemm.integer_products import multiply_whole
from portagpu.blas.gemm.variants.tile.config import TileConfig
from portagpu.blas.gemm.variants.tile.launch import launch_tiles
from portagpu.blas.gemm.variants.tile.variant import TileVariant
from portagpu.blas.matmul import matmul
from portagpu.errors import ArgumentTypeError, DTypeError, ShapeError
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.copies import copy_strided
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.arrays.overlap import may_overlap
from portagpu.runtime.execution.context import context_of
from portagpu.runtime.execution.host_pool import results
from portagpu.runtime.execution.stream import Stream, as_stream

_TILES = TileVariant()
Array = Any


class _Factors(NamedTuple):
    """What each group's product gets by name."""

    alpha: complex
    beta: complex
    precision: str


def grouped_matmul(
    a: Array,
    b: Array,
    offsets: Array,
    out: Array = None,
    *,
    alpha: Any = 1,
    beta: Any = 0,
    precision: str | None = None,
    dtype: Any = None,
    stream: Stream | None = None,
) -> Array:
    """``out[offsets[g]:offsets[g + 1]] = a[offsets[g]:offsets[g + 1]] @ b[g]`` for each group g: (rows, n).

    a: (rows, k); b: (groups, k, n); offsets: (groups + 1) ascending integers from 0 to rows, a sequence or NumPy array,
    or a device array of int32 or int64, which is trusted and read by the kernel, so that nothing waits for it. Groups
    may be empty. GPUs compute all groups in one launch; on devices that share the host's memory each is a product, for
    which the offsets are read. ``alpha``, ``beta``, ``dtype``, ``out`` and ``stream`` are as in `matmul`; so is
    ``precision``, of which the kernel for all groups makes no use: it computes as the dtypes say.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`.
    """
    a, b, on_device = operands_of(a, b)
    check_dtypes(a, b, True)
    if a.ndim != 2 or b.ndim != 3 or a.shape[1] != b.shape[1]:
        raise ShapeError(
            f"shapes {a.shape} and {b.shape} do not fit: a is (rows, k), b is (groups, k, n)",
            hint="use matmul for batches of equal sizes",
        )
    bounds = _checked_offsets(offsets, b.shape[0], a.shape[0])
    shape = (a.shape[0], b.shape[2])
    operands = promoted(a, b, dtype)
    kind = checked_result(out, shape, operands, dtype, on_device)
    where = as_stream(stream, a.context if on_device else context_of(stream))
    if isinstance(bounds, DeviceNDArray) and bounds.context is not where.context:
        raise ArgumentTypeError(
            "offsets are on another device than the product", hint="copy them: offsets.copy_to_host()"
        )
    factors = _Factors(
        alpha=check_scalar(alpha, "alpha", operands, kind),
        beta=check_scalar(beta, "beta", operands, kind),
        precision=""
        if precision is None
        else check_precision(precision, name_of(a.dtype), name_of(kind), context_of(where)),
    )
    check_beta(factors.beta, out)
    if not on_device:
        host = results.empty(shape, kind) if out is None else out
        # what one group writes must not be an operand of the next
        overlaps = out is not None and (np.may_share_memory(out, a) or np.may_share_memory(out, b))
        target = host.copy() if overlaps else host
        for g, (first, last) in _groups(_on_host(bounds, where)):
            matmul(a[first:last], b[g], target[first:last], dtype=kind, stream=stream, **factors._asdict())
        if overlaps:
            host[...] = target
        return host
    if (
        b.context is not a.context
        or context_of(where) is not a.context
        or (out is not None and out.context is not a.context)
    ):
        raise ArgumentTypeError("operands, out and stream are not all on one device", hint="copy what is elsewhere")
    result = device_array(shape, kind, context=a.context) if out is None else out
    _on_device(a, b, result, bounds, factors, where)
    return result


def _checked_offsets(offsets: Any, groups: int, rows: int) -> Any:
    """Offsets as a device array, or a checked NumPy array."""
    if isinstance(offsets, np.ma.MaskedArray) and np.ma.is_masked(offsets):
        raise ArgumentTypeError(
            "offsets has masked elements, which are no places", hint="pass whole numbers: offsets.filled(...)"
        )
    try:
        found = offsets if isinstance(offsets, DeviceNDArray) else np.asarray(offsets)
    except ValueError as error:  # of sequences of different lengths
        raise ShapeError("offsets is not one sequence of integers", hint="np.cumsum of the groups' sizes") from error
    if found.shape != (groups + 1,):
        raise ShapeError(
            f"offsets has shape {found.shape}; {groups} groups have {groups + 1}: where each begins, and the end"
        )
    if found.dtype.kind not in "iu" or (
        isinstance(found, DeviceNDArray) and name_of(found.dtype) not in ("int32", "int64")
    ):
        raise DTypeError(f"offsets is {found.dtype}", hint="use int32 or int64")
    if isinstance(found, DeviceNDArray):
        return found
    if found[0] != 0 or found[-1] != rows or np.any(np.diff(found.astype(np.int64)) < 0):
        raise ShapeError(
            f"offsets must ascend from 0 to {rows}, the rows of a", hint="np.cumsum of the groups' sizes, after a 0"
        )
    return found


def _on_host(bounds: Any, stream: Stream) -> Any:
    """The offsets as they are when the stream comes to them, since a kernel on it may have made them."""
    if not isinstance(bounds, DeviceNDArray):
        return bounds
    found = bounds.copy_to_host(stream=stream)
    stream.synchronize()
    return found


def _groups(bounds: Any) -> list[tuple[int, tuple[int, int]]]:
    """Groups that are not empty, with their rows."""
    pairs = pairwise(bounds.tolist())
    return [(g, (first, last)) for g, (first, last) in enumerate(pairs) if last > first]


def _on_device(
    a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray, bounds: Any, factors: _Factors, stream: Stream
) -> None:
    if c.size == 0 or b.shape[0] == 0:
        return
    if may_overlap((a, c)) or may_overlap((b, c)):
        raise ArgumentTypeError("out shares memory with an operand", hint="leave out= away, or pass another array")

    def of_kernels(a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray, alpha: complex, beta: complex) -> None:
        _multiply(a, b, c, bounds, factors._replace(alpha=alpha, beta=beta), stream)

    multiply_whole(a, b, c, factors.alpha, factors.beta, stream, of_kernels)


def _multiply(
    a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray, bounds: Any, factors: _Factors, stream: Stream
) -> None:
    """Enqueue a product of arrays that kernels take."""
    alpha, beta = factors.alpha, factors.beta
    caps = c.context.capabilities
    problem = Problem(
        m=max(1, a.shape[0] // b.shape[0]),
        n=b.shape[2],
        k=max(1, b.shape[1]),
        dtype=name_of(a.dtype),
        out=name_of(c.dtype),
        batch=b.shape[0],
    )
    if a.size == 0 or alpha == 0 or not _TILES.supports(problem, caps):
        for g, (first, last) in _groups(_on_host(bounds, stream)):
            gemm(a[first:last], b[g], c[first:last], stream, **factors._asdict())
        return
    known = [t for t in _TILES.shortlist(problem, caps) if t.problems == t.split_k == 1]
    config: TileConfig = min(known, key=lambda t: _TILES.predict(t, problem, caps))
    target = c if order_of(c) == "C" else new_aligned_rows(c, stream, copied=beta != 0)
    product = Product(
        a=a if order_of(a) else aligned_copy(a, stream),
        b=b if order_of(b) else aligned_copy(b, stream),
        c=target,
        stream=stream,
        alpha=alpha,
        beta=beta,
    )
    on_device = bounds if isinstance(bounds, DeviceNDArray) else to_device(bounds.astype(np.int32), context=c.context)
    launch_tiles(config, product, on_device)
    if target is not c:
        copy_strided(target, c, stream)

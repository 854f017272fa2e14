"""Fourier transforms along an axis of a device array, cut into parts that blocks have in shared memory; enqueued."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from portagpu.blas.gemm.core.array_cache import ArrayCache
from portagpu.blas.gemm.core.operands import placed
from portagpu.blas.gemm.core.vector_registers import native_lanes
from portagpu.blas.gemm.core.vector_types import vector_type
from portagpu.blas.level3.strided_memory import index_kind
from portagpu.device.capabilities import Capabilities
from portagpu.fourier.kernels import COMPLEX, HERMITIAN, REAL, BlockPlan, Counts, Rows, Twist, transform_rows
from portagpu.fourier.lengths import radices, roots, split
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.stream import Stream

_THREADS = 128
_SHARED_BYTES = 32 * 1024  # of a block of a GPU: several fit into a unit
_LONGEST = 1024  # elements of a transform that a core has in its caches, with others beside it
_WORTH = 64  # elements of one transform that is computed as several side by side
_ROWS = 8  # of a block, so that neighbours in memory are read together
_TABLES = 64

_tables = ArrayCache(_TABLES, 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transform:
    """What is computed: ``n`` elements of the transform; ``inverse``: with the other sign; times ``scale``.

    ``source``, ``target``: what elements are (`portagpu.fourier.kernels`); ``kept``: results that are stored, the first
    ones.
    """

    n: int
    inverse: bool = False
    scale: float = 1.0
    source: int = COMPLEX
    target: int = COMPLEX
    kept: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Blocks:
    """What suits a device: ``lanes`` of a vector, ``threads``, the ``longest`` transform, and shared elements."""

    lanes: int
    threads: int
    longest: int
    capacity: int


@lru_cache(64)
def _blocks(caps: Capabilities, itemsize: int) -> _Blocks:
    """For parts of numbers of that size."""
    if not caps.shares_on_chip:
        lanes = native_lanes(caps, itemsize)
        longest = _LONGEST
        while longest * lanes * itemsize * 4 > caps.local_memory_static:
            longest //= 2
        return _Blocks(lanes=lanes, threads=1, longest=longest, capacity=longest * lanes)
    longest = 1 << (min(_SHARED_BYTES, caps.local_memory_static) // (4 * itemsize)).bit_length() - 1
    threads = min(_THREADS, caps.max_work_group_size)
    return _Blocks(lanes=1, threads=threads, longest=longest, capacity=longest)


def longest_of(context: Context, dtype: np.dtype[Any]) -> int:
    """The longest transform that is computed in one launch."""
    return _blocks(context.capabilities, dtype.itemsize // 2).longest


def transformed(x: DeviceNDArray, axis: int, what: Transform, stream: Stream) -> DeviceNDArray:
    """A new array of the transforms along an axis of an array in C order, which is padded with zeros, or cropped.

    x: float32, float64, or the complex dtypes of these; ``what.n`` has no prime factor above
    `portagpu.fourier.lengths.LARGEST_PRIME`. The work is enqueued. Error: of the sum of squares, relative to that of
    the results, at most some ``log2(n) * u``, u the unit roundoff (J. Ramos, "Roundoff error analysis of the fast
    Fourier transform", Mathematics of Computation 25, 1971).
    """
    number = np.dtype(f"complex{16 * x.itemsize}") if x.dtype.kind == "f" else x.dtype
    kept = what.kept or what.n
    shape = (*x.shape[:axis], kept, *x.shape[axis + 1 :])
    real = np.dtype(f"float{4 * number.itemsize}")
    made = device_array(shape, real if what.target == REAL else number, context=x.context)
    if made.size:
        whole = (math.prod(shape[:axis]), math.prod(shape[axis + 1 :]))
        _Launches(number, stream).run(x, x.shape[axis], made, replace(what, kept=kept), *whole)
    return made


class _Launches:
    """The launches of transforms of a dtype."""

    def __init__(self, number: np.dtype[Any], stream: Stream) -> None:
        self._number, self._stream = number, stream
        self._real = np.dtype(f"float{4 * number.itemsize}")

    def run(self, x: DeviceNDArray, given: int, y: DeviceNDArray, what: Transform, outer: int, inner: int) -> None:
        """``y = transform(x)`` for arrays (outer, given, inner) and (outer, kept, inner) in C order."""
        n, kept = what.n, what.kept
        blocks = _blocks(x.context.capabilities, self._real.itemsize)
        alone = n >= _WORTH and outer * inner < blocks.lanes  # would have empty lanes
        first, second = split(n, blocks.longest) if n > blocks.longest or alone else (n, 1)
        source = {"memory": x, "outer": given * inner, "inner": 1, "step": inner, "limit": given}
        target = {"memory": y, "outer": kept * inner, "inner": 1, "step": inner, "limit": kept}
        if second == 1:
            self._launch(
                {**source, "middle": 0, "along": 1, "across": 0},
                {**target, "middle": 0, "along": 1, "across": 0},
                (outer, 1, inner),
                what,
                n,
            )
            return
        part = device_array((outer, n, inner), self._number, context=x.context)
        between = {"memory": part, "outer": n * inner, "inner": 1, "step": inner, "limit": n}
        self._launch(
            {**source, "middle": 0, "along": second, "across": 1},
            {**between, "middle": 0, "along": second, "across": 1},
            (outer, second, inner),
            replace(what, target=COMPLEX, scale=1.0),
            first,
            twisted=True,
        )
        last = replace(what, source=COMPLEX)
        if second > blocks.longest:
            self._long(part, y, last, (outer, first, second, inner))
            return
        self._launch(
            {**between, "middle": second * inner, "along": 1, "across": 0},
            {**target, "middle": 0, "along": first, "across": 1},
            (outer, first, inner),
            last,
            second,
        )

    def _long(self, part: DeviceNDArray, y: DeviceNDArray, what: Transform, shape: tuple[int, int, int, int]) -> None:
        """The second part, where that is itself of several: its results are in the order of memory, and moved."""
        outer, first, second, inner = shape
        found = device_array(shape, self._number, context=part.context)
        rest = replace(what, n=second, target=COMPLEX, kept=second)
        self.run(part, second, found, rest, outer * first, inner)
        moved = found.transpose(0, 2, 1, 3).copy().reshape((outer, what.n, inner))[:, : what.kept]
        if what.target == REAL:
            moved = _real_parts(moved, self._real)
        y.reshape((outer, what.kept, inner)).copy_to_device(moved, self._stream)

    def _launch(
        self,
        source: dict[str, Any],
        target: dict[str, Any],
        extents: tuple[int, int, int],
        what: Transform,
        n: int,
        *,
        twisted: bool = False,
    ) -> None:
        """Enqueue ``extents`` transforms of n elements, parts of those of ``what.n``."""
        x, y = source["memory"], target["memory"]
        context = x.context
        blocks = _blocks(context.capabilities, self._real.itemsize)
        count, kind = math.prod(extents), index_kind(x, y)
        lanes = blocks.lanes if count >= blocks.lanes and n <= blocks.longest else 1
        rows = lanes if blocks.threads == 1 else self._rows(context, blocks, count, n)
        plan = BlockPlan(
            threads=blocks.threads,
            lanes=lanes,
            capacity=blocks.capacity,
            cell=vector_type(self._real.name, lanes) if lanes > 1 else self._real.type,
            number=self._number.type,
            real=self._real.type,
            source=what.source,
            target=what.target,
            twisted=twisted,
        )
        stages = _steps_of(context, n)
        transform_rows[-(-count // rows), blocks.threads, self._stream](
            _rows(source, kind),
            _rows(target, kind),
            np.uint32(n),
            kind(what.n),
            Counts(kind(count), kind(extents[1]), kind(extents[2]), np.uint32(rows)),
            stages,
            np.uint32(len(radices(n))),
            self._roots(context, n, n, 1),
            self._twist(context, what.n if twisted else 1),
            self._real.type(what.scale),
            what.inverse,
            plan,
        )

    def _rows(self, context: Context, blocks: _Blocks, count: int, n: int) -> int:
        """Transforms of a block of a GPU: enough for neighbours in memory, few enough for all units."""
        most = max(1, blocks.capacity // n)
        spread = -(-count // (2 * context.capabilities.compute_units))
        return max(1, min(most, max(spread, _ROWS), count))

    def _roots(self, context: Context, n: int, count: int, step: int) -> DeviceNDArray:
        """Roots of unity: those to powers 0, step, 2 * step ..."""
        key = ("roots", n, count, step, self._number)
        return _kept(context, key, lambda: roots(n, np.arange(count, dtype=np.int64) * step, self._number))

    def _twist(self, context: Context, n: int) -> Twist:
        bits = ((n - 1).bit_length() + 1) // 2
        low = self._roots(context, n, 1 << bits, 1)
        high = self._roots(context, n, -(-n // (1 << bits)), 1 << bits)
        return Twist(placed(low), placed(high), np.uint32(bits))


def _rows(parts: dict[str, Any], kind: Any) -> Rows:
    return Rows(placed(parts["memory"]), *(kind(parts[name]) for name in Rows._fields[1:]))


def _steps_of(context: Context, n: int) -> DeviceNDArray:
    return _kept(context, ("steps", n), lambda: np.array(radices(n) or (1,), np.uint32))


def _kept(context: Context, key: Any, make: Any) -> DeviceNDArray:
    """A table of a context's, made when it is first asked for."""
    found = _tables.get(context, key)
    if found is None:
        table = make()
        found = device_array(table.shape, table.dtype, context=context)
        found.copy_to_device(table)
        _tables.keep(context, key, found)
    return found


def table_of(context: Context, key: Any, make: Any) -> DeviceNDArray:
    """A table that is kept for the next transform like this one."""
    return _kept(context, key, make)


def _real_parts(x: DeviceNDArray, real: np.dtype[Any]) -> DeviceNDArray:
    whole = x.copy().view(real)
    parts: DeviceNDArray = whole.reshape((*x.shape, 2))[..., 0]
    return parts


__all__ = ["COMPLEX", "HERMITIAN", "REAL", "Transform", "longest_of", "table_of", "transformed"]

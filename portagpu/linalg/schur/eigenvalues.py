"""Eigenvalues and eigenvectors of general square matrices on the device: which kernels, and with how many threads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from portagpu.blas.factorisations.number_types import cell_type, number_types
from portagpu.blas.factorisations.scaling import range_of
from portagpu.blas.gemm.core.fill import clear
from portagpu.blas.gemm.core.vector_registers import native_lanes
from portagpu.blas.gemm.engine import gemm
from portagpu.blas.level3.strided_memory import batch_of, index_kind, strided
from portagpu.device.capabilities import Capabilities
from portagpu.linalg.schur.kernels import Found, Memory, find_few, find_schur_forms, finish_vectors, substitute_vectors
from portagpu.linalg.schur.plan import SchurPlan
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.stream import Stream

_FEW_ROWS = 16  # up to which a thread has a matrix from beginning to end, and no kernel unrolls anything
_FEW_ROWS_OF_ONE = 8  # on GPUs, where few matrices would leave threads idle
_MANY = 1024  # matrices that keep a GPU busy with a thread each
_BLOCK = 32
_THREADS = 128
_LINE = 64  # bytes: rows of large matrices begin on other lines of a cache than those before them
_SWEEPS = 30  # for each row, and as for ten rows at least: LAPACK's limit
_REACH = {"float32": 40, "float64": 460}
_MOST = {"float32": 1e20, "float64": 1e150}
_LEAST = {"float32": 1e-21, "float64": 1e-160}


@dataclass(frozen=True, slots=True, kw_only=True)
class Threads:
    """How matrices are shared: ``few``: one kernel, a thread for each of ``matrices`` in a block; else ``threads`` of a
    matrix, of which ``along`` share a row, with ``lanes`` in a vector; ``block``: threads with a vector each."""

    few: bool
    matrices: int
    threads: int
    along: int
    lanes: int
    block: int

    @classmethod
    def predict(cls, caps: Capabilities, n: int, count: int, dtype: np.dtype[Any]) -> Threads:
        """What suits a device, for ``count`` matrices of n rows."""
        alone = not caps.shares_on_chip
        few = n <= (_FEW_ROWS if alone or count >= _MANY else _FEW_ROWS_OF_ONE)
        block = 1 if alone else min(_BLOCK, caps.max_work_group_size)
        if few or alone:
            lanes = 1 if few or dtype.kind == "c" else min(16, 2 * native_lanes(caps, dtype.itemsize))
            return cls(few=few, matrices=block if few else 1, threads=1, along=1, lanes=lanes, block=block)
        most = min(_THREADS, caps.max_work_group_size)
        threads = 16
        while threads * 2 <= most and threads < n:
            threads *= 2
        return cls(few=False, matrices=1, threads=threads, along=min(16, threads), lanes=1, block=block)


@lru_cache(64)
def _plan(dtype: np.dtype[Any], how: Threads, *, vectors: bool) -> SchurPlan:
    types = number_types(dtype)
    name = np.dtype(types.real).name
    limits = np.finfo(name)
    return SchurPlan(
        threads=how.threads,
        along=how.along,
        matrices=how.matrices,
        lanes=how.lanes,
        cell=cell_type(dtype, how.lanes),
        number=types.number,
        real=types.real,
        result=complex_of(dtype).type,
        is_complex=types.is_complex,
        vectors=vectors,
        eps=float(limits.eps),
        tiny=float(limits.tiny),
        usual=range_of(types.real),
        reach=_REACH[name],
        most=_MOST[name],
        least=_LEAST[name],
        sweeps=_SWEEPS,
    )


def complex_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The complex dtype of a precision."""
    return dtype if dtype.kind == "c" else np.dtype(f"complex{16 * dtype.itemsize}")


def find_eigenvalues(
    a: DeviceNDArray,
    values: DeviceNDArray,
    info: DeviceNDArray,
    paired: DeviceNDArray,
    stream: Stream,
    vectors: DeviceNDArray | None = None,
) -> None:
    """Eigenvalues of general matrices (count, n, n), or of one, and eigenvectors, columns of unit length; enqueued.

    a: of any strides, float32 to complex128. values: (count, n), and vectors: (count, n, n), in C order, complex. info,
    paired: int32 (count), as of `portagpu.linalg.schur.kernels.Found`; what is not found is NaN.

    Matrices are balanced, reduced to Hessenberg form and brought to Schur form by sweeps with shifts; eigenvectors are
    found by substitution: some ``25 n**3`` operations, 10 without vectors, four times as many for complex matrices.
    Eigenvalues are those of a matrix that differs from the balanced one by at most some ``n * eps`` of its norm. On
    CPUs a matrix is reduced by one core, on GPUs by one block, so that a batch keeps a device busier than one matrix.
    """
    count, n = batch_of(a), a.shape[-1]
    if count == 0 or n == 0:
        clear(info, stream)
        clear(paired, stream)
        return
    caps, context, dtype = a.context.capabilities, a.context, a.dtype
    how = Threads.predict(caps, n, count, dtype)
    plan = _plan(dtype, how, vectors=vectors is not None)
    pitch = n if how.few else _pitch(n, dtype)
    h = device_array(count * n * pitch, dtype, context=context)
    memory = Memory(
        h=h,
        zt=device_array(1 if vectors is None else h.size, dtype, context=context),
        d=device_array(count * n, np.dtype(plan.real), context=context),
        v=device_array(count * n, dtype, context=context),
        part=device_array(count * n * how.along, dtype, context=context),
    )
    found = Found(values=values.reshape(-1), info=info.reshape(-1), paired=paired.reshape(-1))
    flat = found.values if vectors is None else vectors.reshape(-1)
    kind = index_kind(a, h, memory.part, flat)
    size, matrix = (kind(n), kind(pitch), kind(count)), strided(a, kind)
    if how.few:
        scratch = device_array(count * n, values.dtype, context=context)
        find_few[-(-count // how.matrices), how.matrices, stream](
            matrix, memory, found, scratch, flat, kind(n), kind(count), plan
        )
        return
    find_schur_forms[count, how.threads, stream](matrix, memory, found, *size[:2], plan)
    if vectors is None:
        return
    x = device_array((count, n, n), vectors.dtype, context=context)
    blocks = -(-count * n // how.block), how.block, stream
    steps = (kind(1), kind(n)) if how.threads == 1 else (kind(n), kind(1))
    substitute_vectors[blocks](memory, found, flat, x.reshape(-1), *size, *steps, plan)
    whole = vectors.reshape((count, n, n))
    q = memory.zt.reshape((count, n, pitch))[:, :, :n].transpose(0, 2, 1)
    if dtype.kind == "c":
        gemm(q, x, whole, stream)
    else:  # real and imaginary parts are columns of a product of real matrices
        gemm(q, x.view(dtype), whole.view(dtype), stream)
    finish_vectors[blocks](memory, found, flat, *size, plan)


def _pitch(n: int, dtype: np.dtype[Any]) -> int:
    """Elements from row to row: an odd number of cache lines."""
    line = _LINE // dtype.itemsize
    return (-(-n // line) | 1) * line

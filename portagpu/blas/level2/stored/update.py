"""`add_packed`: rank-one and rank-two updates of a packed triangle, on device arrays."""

from __future__ import annotations

from portagpu.blas.gemm.core.operands import index_type
from portagpu.blas.level1.vectors import vector_of
from portagpu.blas.level2.stored.storage import Storage, general
from portagpu.blas.level2.stored.update_kernels import UpdatePlan, add_to_columns
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

_THREADS = 128
_BLOCKS_OF_UNIT = 4  # of a device whose threads run one after the other


def add_packed(
    alpha: complex, vectors: tuple[DeviceNDArray, ...], a: Storage, stream: Stream, *, hermitian: bool = False
) -> None:
    """``A = alpha * x * x^T + A`` for one vector, ``alpha * x * y^T + alpha * y * x^T + A`` for two; enqueued.

    Of a ``hermitian`` A: ``alpha * x * x^H`` with a real alpha, and ``alpha * x * y^H + conj(alpha) * y * x^H``; its
    diagonal becomes real. a: a packed triangle (n, n); vectors: of n elements, of any stride and of its dtype, which
    have no memory in common with it.
    """
    caps, dtype = a.array.context.capabilities, a.array.dtype
    number = index_type(a.array, *vectors)
    pairs = (a.shape[0] + 1) // 2
    if caps.local_memory_dedicated:
        threads, blocks = min(_THREADS, caps.max_work_group_size), pairs
    else:
        threads, blocks = 1, min(pairs, _BLOCKS_OF_UNIT * max(1, caps.compute_units))
    plan = UpdatePlan(threads, general(a, 0).parts[0], len(vectors), hermitian and dtype.kind == "c")
    given = tuple(vector_of(x, number) for x in vectors)
    add_to_columns[blocks, threads, stream](a.for_kernels(number), given, dtype.type(alpha), plan)

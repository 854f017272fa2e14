"""Triangular systems of few rows on a CPU's device: by a kernel that is compiled fast, and no slower for so little.

Kernels for larger matrices unroll panels of vectors, which a compiler is busy with for the better part of a second.
Whoever solves a few small systems waits for that, and gains nothing by it.
"""

from __future__ import annotations

import numpy as np

from portagpu.blas.level3.few_rows_kernels import substitute_few_rows
from portagpu.blas.level3.strided_memory import Strided, batch_of, index_kind
from portagpu.device.capabilities import Capabilities
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

_ROWS = 16
_WORK = 16**3  # multiplications in all, of which a launch takes no notice


def are_few(caps: Capabilities, rows: int, columns: int, depth: int, batch: int = 1) -> bool:
    """Whether matrices are so small, and so few of them, that their work counts for nothing beside a launch.

    ``rows * columns * depth`` multiplications for each matrix; on GPUs kernels need threads, whatever the size.
    """
    return (
        not caps.local_memory_dedicated
        and max(rows, depth) <= _ROWS
        and batch * rows * max(1, columns) * max(1, depth) <= _WORK
    )


def substitute_few(
    left: Strided,
    right: Strided,
    b: DeviceNDArray,
    alpha: np.number,
    stream: Stream,
    *,
    unit: bool,
    conjugate: bool,
) -> None:
    """Enqueue `substitute_few_rows` for lower triangles ``left`` and right sides ``right``, which b has."""
    kind = index_kind(b)
    n, m = b.shape[-2:]
    substitute_few_rows[batch_of(b), 1, stream](
        left, right, kind(n), kind(m), alpha, np.int32(unit), conjugate and b.dtype.kind == "c"
    )

"""Inverses of the triangles on a triangular matrix's diagonal: small ones by substitution, larger ones by products.

``inv([[A, 0], [C, B]]) = [[inv(A), 0], [-inv(B) C inv(A), inv(B)]]``: all pairs of one size are two batched products
(N. Higham, "Accuracy and Stability of Numerical Algorithms", chapter 14).
"""

from __future__ import annotations

from dataclasses import dataclass

from portagpu.blas.gemm.core.operands import with_strides
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.gemm.engine import gemm
from portagpu.blas.level3.substitution import Substitution, substitute_blocks
from portagpu.blas.level3.triangles import identity
from portagpu.blas.level3.triangular_product import blocks_of
from portagpu.device.capabilities import Capabilities
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

_MOST = 512  # rows: larger inverses are multiplied faster, but their products are twice of what a triangle needs
_SHARE = 4  # of a matrix, at most
_FEW = 4  # blocks that are solved as fast without inverses


@dataclass(frozen=True, slots=True, kw_only=True)
class Inversion:
    """How triangles on the diagonal are inverted: ``blocks`` of ``rows``, from those of ``least`` rows on.

    ``rows`` is ``least`` times a power of two. What is left of a matrix has no inverses.
    """

    least: int
    rows: int
    blocks: int

    @classmethod
    def predict(cls, caps: Capabilities, n: int, batch: int, least: int) -> Inversion | None:
        """What suits a device, for n rows; None where substitution is as fast.

        A GPU waits for a substitution's rows one after the other, and products keep all of it busy; a CPU does not.
        """
        if not caps.local_memory_dedicated or batch > 1 or n <= _FEW * least:
            return None
        rows = least
        while rows < _MOST and 2 * _SHARE * rows <= n:
            rows *= 2
        return cls(least=least, rows=rows, blocks=n // rows)


def diagonal_inverses(
    a: DeviceNDArray, stream: Stream, how: Inversion, by: Substitution, *, lower: bool, unit: bool
) -> DeviceNDArray:
    """Inverses (blocks, rows, rows) of a triangle's blocks on the diagonal, zeros beyond theirs; in scratch memory.

    a: (n, n), of ``blocks * rows`` rows, any strides; only the triangle that ``lower`` names is read, without its
    diagonal if ``unit``. Zeros on the diagonal give what division by them does.
    """
    rows, all_rows = how.rows, how.rows * how.blocks
    memory = workspaces.of(stream, "inverses", (all_rows * (rows + 1),), a.dtype)
    # as if on the diagonal of a matrix with so short a pitch that they just do not overlap: blocks of all sizes are at
    # even steps
    band = with_strides(memory, (all_rows, rows), (rows * a.itemsize, a.itemsize))
    whole = blocks_of(band, (0, 0), (rows, rows), rows, how.blocks)
    identity(whole, stream)
    invert_blocks(a, band, stream, how, by, lower=lower, unit=unit)
    return whole


def invert_blocks(
    a: DeviceNDArray, out: DeviceNDArray, stream: Stream, how: Inversion, by: Substitution, *, lower: bool, unit: bool
) -> None:
    """Enqueue the inverses of a triangle's blocks on the diagonal, as of `diagonal_inverses`.

    out: a matrix that does not overlap a, whose blocks on the diagonal are unit matrices, and become the inverses.
    """
    size, all_rows = how.least, how.rows * how.blocks
    triangles, found = (blocks_of(x, (0, 0), (size, size), size, all_rows // size) for x in (a, out))
    substitute_blocks(triangles, found, stream, by, lower=lower, unit=unit)
    while size < how.rows:
        step, count = 2 * size, all_rows // (2 * size)
        beside = (size, 0) if lower else (0, size)
        squares, target = (blocks_of(x, beside, (size, size), step, count) for x in (a, out))
        first, second = (blocks_of(out, (place, place), (size, size), step, count) for place in (0, size))
        right, left = (first, second) if lower else (second, first)
        join_inverses(squares, right, left, target, stream)
        size = step


def join_inverses(
    square: DeviceNDArray, right: DeviceNDArray, left: DeviceNDArray, target: DeviceNDArray, stream: Stream
) -> None:
    """Enqueue ``target = -left @ square @ right``: what is beside two inverses in that of the triangle of both."""
    between = workspaces.of(stream, "half inverses", square.shape, square.dtype)
    gemm(square, right, between, stream)
    gemm(left, between, target, stream, alpha=-1.0)

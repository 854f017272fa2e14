"""Named values that GEMM kernels take in place of long lists of parameters: a launch with them is as short.

Kernels use the fields where they need them (``a.pitch``): C has a parameter for each, named after it.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

SUM, ALPHA, ALPHA_AND_BETA, BETA_UNLESS_ZERO = range(4)
"""Of `Epilogue.scaling`: ``sum``, ``alpha * sum``, ``alpha * sum + beta * c``, and the same but that beta is looked at
by the kernel. c is read in the third case, and in the last one unless beta is zero."""


class Matrix(NamedTuple):
    """A matrix, or a batch: element [i, row, column] is ``memory[i * batch + row * pitch + column]``.

    Of a transposed one, whose columns have unit steps, it is ``memory[i * batch + column * pitch + row]``.
    """

    memory: Any
    pitch: Any
    batch: Any


class StridedMatrix(NamedTuple):
    """A matrix, or a batch: element [i, row, column] is ``memory[i * batch + row * down + column * right]``."""

    memory: Any
    down: Any
    right: Any
    batch: Any


class Extents(NamedTuple):
    """Sizes of a product: (m, k) times (k, n)."""

    m: Any
    n: Any
    k: Any


class Order(Enum):
    """Whether a kernel computes a product as its caller sees it, or its transpose."""

    GIVEN = "given"
    TURNED = "turned"


class Fused(NamedTuple):
    """A caller's function of scaled sums, whose results are stored in their place.

    ``function(value, row, column, *arguments)``, where row and column are the caller's; with ``batched`` it gets the
    number of the matrix, too, before its arguments: the kernel's own plus ``first``. ``rows``: of each matrix, where a
    kernel has several in one tall one; else None. What is no number is known when kernels are compiled.
    """

    function: Any
    arguments: Any
    order: Order
    batched: Order | None  # None: not
    first: Any
    rows: Any


class Factors(NamedTuple):
    """Scaling factors: alpha and beta of ``alpha * a @ b + beta * c``, in the type in which sums are scaled.

    ``fused``: what becomes of scaled sums before they are stored, a `Fused`, or None.
    """

    alpha: Any
    beta: Any
    fused: Fused | None = None


class Complex(NamedTuple):
    """A complex factor of products whose sums are real numbers."""

    re: Any
    im: Any


class Pieces(NamedTuple):
    """Sums that several blocks share: ``count`` pieces of each, added in groups of ``fan``.

    memory, arrived: see `portagpu.blas.gemm.kernels.split_k.Share`; not read where there is one piece.
    """

    memory: Any
    arrived: Any
    count: Any
    fan: Any


class Parts(NamedTuple):
    """Parts of sums, and int32 that count the blocks which have left theirs; not read where there is one part."""

    memory: Any
    arrived: Any


class Split(NamedTuple):
    """Sums in ``count`` parts of ``terms`` terms each, the last one perhaps of fewer."""

    count: Any
    terms: Any


class Epilogue(NamedTuple):
    """What becomes of sums, as far as it is known when a kernel is compiled.

    ``scaled``, ``stored``: types of vectors of four (or two, ...) scaled sums, and of those that are stored; or, where
    pairs are stored, the name of these. Kernels make one of constants, so functions do not say `cuda.constexpr`.
    """

    scaling: int
    scaled: Any = None
    stored: Any = None

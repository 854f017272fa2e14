"""`solve`: triangular systems with bands, on device arrays."""

from __future__ import annotations

from portagpu.blas.gemm.core.operands import index_type
from portagpu.blas.level1.vectors import vector_of
from portagpu.blas.level2.bands.product import Bounds, multiply
from portagpu.blas.level2.bands.solve_kernels import SolvePlan, solve_rows
from portagpu.blas.level2.bands.storage import Storage, Window, general
from portagpu.device.capabilities import Capabilities
from portagpu.errors import MissingCapabilityError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

_WIDE = 256  # terms of a row with which the products of several blocks pay
_UNKNOWNS = 256  # that one block solves before the device subtracts what they make of the others
_ROWS = 32  # of a step of a GPU's block


def solve(
    storage: Storage,
    x: DeviceNDArray,
    stream: Stream,
    *,
    trans: int = 0,
    unit: bool = False,
    block: tuple[int, int] | None = None,
    unknowns: int = _UNKNOWNS,
) -> None:
    """Solve ``op(A) @ x = b`` for a triangle, where x is b before and the solution after; enqueued.

    x (n): of any stride and of A's dtype, which has no memory in common with it. Zeros on the diagonal make the
    solution infinite or NaN. Narrow bands are solved in one launch; others by blocks along the diagonal, each followed
    by a product that subtracts its part from what is left. ``block``: unknowns of a step of a launch's block and
    threads of each, in place of what the device suggests; ``unknowns``: of a launch. Raises `MissingCapabilityError`.
    """
    n, caps, dtype = x.size, x.context.capabilities, x.dtype
    if dtype.name in ("float64", "complex128") and not caps.fp64:
        raise MissingCapabilityError(
            f"{x.context.device.name} cannot solve systems of {dtype}", hint="use float32 or complex64"
        )
    beside = general(storage, trans, diagonal=False)
    (window,) = beside.windows
    number = index_type(storage.array, x)
    forward = window[0] < 0
    plan = SolvePlan(dtype.type, *(block or _block(beside.terms, caps)), beside.parts[0], unit, forward)
    a, vector = storage.for_kernels(number, turned=beside.turned), vector_of(x, number)
    limits = Window(number(window[0]), number(window[1]))
    length = n if beside.terms < min(_WIDE, unknowns) else unknowns
    for done in range(0, n, length):
        first, last = (done, min(n, done + length)) if forward else (max(0, n - done - length), n - done)
        solve_rows[1, plan.rows * plan.lanes, stream](a, vector, number(first), number(last), limits, plan)
        if forward:
            rest = Bounds(first=last, last=min(n, last - window[0]), left=first, right=last)
        else:
            rest = Bounds(first=max(0, first - window[1] + 1), last=first, left=first, right=last)
        if rest.last > rest.first:
            multiply(storage, beside, x, x, stream, alpha=-1.0, beta=1.0, bounds=rest)


def _block(terms: int, caps: Capabilities) -> tuple[int, int]:
    """Rows of a step and threads of a row: one thread walks where threads run one after the other."""
    if not caps.local_memory_dedicated:
        return 1, 1
    lanes = 1
    while lanes < 16 and lanes * 4 < terms:
        lanes *= 2
    while lanes > 1 and _ROWS * lanes > min(caps.max_work_group_size, caps.max_work_item_sizes[0]):
        lanes //= 2
    return _ROWS, lanes

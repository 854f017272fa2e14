"""Lists of products, systems and updates of a matrix: equal neighbours become one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from portagpu.blas.arguments import operand_of
from portagpu.blas.gemm.core.operands import with_strides
from portagpu.blas.matmul import matmul
from portagpu.errors import ArgumentTypeError, ShapeError
from portagpu.linalg.matrices import Array
from portagpu.linalg.products import syrk
from portagpu.linalg.systems import solve_triangular
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

Arrays = Sequence[Array]
_STACKED = 2**16  # elements of a NumPy array, at most: copying larger ones into a batch costs more than a call
_ANY_STEP = 2**62


def gemm_batched(
    a: Arrays,
    b: Arrays,
    *,
    alpha: complex = 1,
    beta: complex = 0,
    out: Arrays | None = None,
    stream: Stream | None = None,
) -> list[Array]:
    """``alpha * a[i] @ b[i] + beta * out[i]`` for lists of matrices (m, k) and (k, n): a list of matrices (m, n).

    Sizes and dtypes may differ from one product to the next; neighbours that do not differ are computed together: NumPy
    arrays, which small ones are copied for, and device arrays that lie at even steps in one memory, such as ``list(x)``
    of a batch x, or the results of another call. Other device arrays cost a launch for each product: an OpenCL kernel
    does not take addresses. Results lie in one memory if neighbours are equal.

    out: matrices that results are written to, which must not overlap. Raises `ShapeError`, `DTypeError`,
    `ArgumentTypeError`, `OutOfMemoryError`.
    """

    def call(a: Array, b: Array, c: Array) -> Array:
        return matmul(a, b, c, alpha=alpha, beta=beta, stream=stream)

    return _each("gemm_batched", call, (a, b), (2, 2), out, updates=beta != 0)


def gemv_batched(
    a: Arrays,
    x: Arrays,
    *,
    alpha: complex = 1,
    beta: complex = 0,
    out: Arrays | None = None,
    stream: Stream | None = None,
) -> list[Array]:
    """``alpha * a[i] @ x[i] + beta * out[i]`` for lists of matrices (m, n) and vectors (n): a list of vectors (m).

    As `gemm_batched`.
    """

    def call(a: Array, x: Array, y: Array) -> Array:
        if a.ndim == 2:
            return matmul(a, x, y, alpha=alpha, beta=beta, stream=stream)
        columns = None if y is None else _columns(y)
        made = matmul(a, _columns(x), columns, alpha=alpha, beta=beta, stream=stream)
        return made[..., 0] if y is None else y

    return _each("gemv_batched", call, (a, x), (2, 1), out, updates=beta != 0)


def trsm_batched(
    a: Arrays,
    b: Arrays,
    *,
    lower: bool = False,
    trans: int | str = 0,
    unit_diagonal: bool = False,
    out: Arrays | None = None,
    stream: Stream | None = None,
) -> list[Array]:
    """``inv(op(a[i])) @ b[i]`` for lists of triangular matrices (n, n) and right sides (n, m): a list of such.

    Options are as of `solve_triangular`, lists as of `gemm_batched`; ``out`` may be b. Raises as both do.
    """

    def call(a: Array, b: Array, c: Array) -> Array:
        told: dict[str, Any] = {"lower": lower, "trans": trans, "unit_diagonal": unit_diagonal, "out": c}
        return solve_triangular(a, b, stream=stream, **told)

    return _each("trsm_batched", call, (a, b), (2, 2), out)


def syrk_batched(
    a: Arrays,
    *,
    lower: bool = False,
    hermitian: bool = False,
    alpha: complex = 1,
    beta: complex = 0,
    out: Arrays | None = None,
    stream: Stream | None = None,
) -> list[Array]:
    """One triangle of ``alpha * a[i] @ a[i].T + beta * out[i]`` for a list of matrices (n, k): a list of (n, n).

    Options are as of `syrk`, lists as of `gemm_batched`. Raises as both do.
    """

    def call(a: Array, c: Array) -> Array:
        told: dict[str, Any] = {"lower": lower, "hermitian": hermitian, "alpha": alpha, "beta": beta, "out": c}
        return syrk(a, stream=stream, **told)

    return _each("syrk_batched", call, (a,), (2,), out, updates=True)


def _each(
    function: str,
    call: Callable[..., Array],
    lists: tuple[Arrays, ...],
    axes: tuple[int, ...],
    out: Arrays | None,
    *,
    updates: bool = False,
) -> list[Array]:
    """The results of ``call(*operands, out)`` for each place, or for runs of places as batches.

    axes: of the operands of each list. ``updates``: what is in out is read, or not all of it written.
    """
    operands = [_checked(function, name, given, n) for name, given, n in zip("ab", lists, axes, strict=False)]
    targets = None if out is None else _checked(function, "out", out, None)
    lengths = [len(given) for given in (*operands, *([] if targets is None else [targets]))]
    if len(set(lengths)) > 1:
        raise ShapeError(f"{function} takes lists of one length; they have {lengths}", hint="one of each for a result")
    results: list[Array] = []
    for run in _runs(operands, targets):
        parts = [given[run] for given in operands]
        into = None if targets is None else targets[run]
        if run.stop - run.start == 1:
            made = call(*(part[0] for part in parts), None if into is None else into[0])
            results.append(made if into is None else into[0])
        elif into is None:
            results += list(call(*map(_batch, parts), None))
        elif isinstance(into[0], DeviceNDArray):
            call(*map(_batch, parts), _batch(into))
            results += into
        else:
            made = call(*map(_batch, parts), _batch(into) if updates else None)
            for held, found in zip(into, made, strict=True):
                held[...] = found
            results += into
    return results


def _checked(function: str, name: str, given: Any, axes: int | None) -> list[Array]:
    """A list as arrays. Raises `ArgumentTypeError`, `ShapeError`."""
    if not isinstance(given, Sequence | DeviceNDArray | np.ndarray) or isinstance(given, str | bytes):
        raise ArgumentTypeError(f"{function}: {name} is a {type(given).__name__}", hint="pass a list of arrays")
    found = [operand_of(one, f"{name}[{i}]") for i, one in enumerate(given)]
    for i, one in enumerate(found):
        if axes is not None and one.ndim != axes:
            raise ShapeError(
                f"{function}: {name}[{i}] has shape {one.shape}; it takes arrays of {axes} axes",
                hint="a list has one array for each result",
            )
    return found


def _runs(operands: list[list[Array]], targets: list[Array] | None) -> Iterator[slice]:
    """Runs of places whose arrays make batches."""
    everything = [*operands, *([] if targets is None else [targets])]
    count, first = len(everything[0]), 0
    while first < count:
        last = first + 1
        steps: tuple[int, ...] | None = None
        while last < count:
            found = tuple(_step(given[last - 1], given[last]) for given in everything)
            distinct = targets is None or found[-1] >= _extent(targets[last])
            if min(found) < 0 or not distinct or steps not in (None, found):
                break
            steps, last = found, last + 1
        yield slice(first, last)
        first = last


def _step(before: Array, after: Array) -> int:
    """Bytes from an array to the next one, where both may be parts of a batch, else a negative number.

    NumPy arrays are copied into a batch: they lie at one step from each other, wherever they are.
    """
    if before.shape != after.shape or before.dtype != after.dtype or type(before) is not type(after):
        return -1
    if not isinstance(after, DeviceNDArray):
        return _ANY_STEP if after.size <= _STACKED and type(after) is np.ndarray else -1
    if before.buffer is not after.buffer or before.strides != after.strides or min(after.strides, default=0) < 0:
        return -1
    step: int = after.offset - before.offset
    return step


def _extent(x: Array) -> int:
    """Bytes from the first element to behind the last one, of an array with ascending strides."""
    if not isinstance(x, DeviceNDArray):
        return 0
    return x.itemsize + sum((n - 1) * s for n, s in zip(x.shape, x.strides, strict=True)) if x.size else 0


def _batch(part: list[Array]) -> Array:
    """Arrays of a run with a leading axis: a view of their memory, or a copy of NumPy arrays."""
    first = part[0]
    if not isinstance(first, DeviceNDArray):
        return np.stack(part)
    step = part[1].offset - first.offset
    return with_strides(first, (len(part), *first.shape), (step, *first.strides))


def _columns(vectors: Array) -> Array:
    """Vectors of a batch as matrices with one column."""
    if not isinstance(vectors, DeviceNDArray):
        return vectors[..., None]
    return with_strides(vectors, (*vectors.shape, 1), (*vectors.strides, vectors.itemsize))

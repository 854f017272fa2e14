"""What the functions of banded and packed matrices share: vectors in and out, and arrays of the host."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.host_arrays import on_device
from portagpu.blas.level2.stored.product import multiply
from portagpu.blas.level2.stored.solve import solve
from portagpu.blas.level2.stored.storage import Parts, Storage, general
from portagpu.blas.scipy_arguments import DIAG, LOWER, TRANS, Routine, may_overwrite, option
from portagpu.blas.scipy_vectors import section, vector_target
from portagpu.errors import ShapeError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.copies import copy_strided
from portagpu.runtime.execution.stream import Stream

Array = Any
StorageOf = Callable[[DeviceNDArray], Storage]


def product(
    routine: Routine,
    matrix: tuple[str, Array, StorageOf, Callable[[Storage], Parts]],
    extents: tuple[int, int],
    factors: tuple[Any, Any],
    x: tuple[Array, Any, Any],
    y: tuple[Array, Any, Any],
    overwrite_y: Any,
    stream: Stream | None,
) -> Array:
    """``alpha * op(A) @ x + beta * y``, as SciPy's functions return it.

    matrix: the argument's name, its array, and what makes a `Storage` and `Parts` of it on the device; extents: rows
    and columns of op(A); x, y: each the argument, its offset and its increment. Raises as `Routine`'s methods do.
    """
    name, array, storage_of, parts_of = matrix
    alpha, beta = routine.scalar(factors[0], "alpha"), routine.scalar(factors[1], "beta")
    overwrite = may_overwrite(overwrite_y, "y")
    source = section(routine.vector(x[0], "x"), "x", *x[1:]).view(extents[1])
    result, target = vector_target(
        routine, y[0], "y", extents[0], y[1:], like=array, overwrite=overwrite, stream=stream
    )
    beta = 0.0 if y[0] is None else beta
    if extents[1] == 0 and y[0] is not None:  # BLAS leaves y as it is then
        return result
    if extents[1] == 0:
        alpha, source = 0.0, target

    def enqueue(a: DeviceNDArray, x: DeviceNDArray, y: DeviceNDArray, stream: Stream) -> None:
        storage = storage_of(a)
        multiply(storage, parts_of(storage), x, y, stream, alpha=alpha, beta=beta)

    if 0 not in extents:
        into: dict[str, Any] = {"results" if beta == 0 else "updates": {"y": target}}
        on_device(enqueue, stream, reads={name: array, "x": source}, **into)
    return result


def triangular(
    routine: Routine,
    matrix: tuple[str, Array, int, Callable[[DeviceNDArray, bool], Storage]],
    x: tuple[Array, Any, Any],
    options: tuple[Any, Any, Any],
    overwrite_x: Any,
    stream: Stream | None,
) -> Array:
    """``op(A) @ x``, or the solution of ``op(A) @ x = b`` where the routine's family ends in sv, in the place of x.

    matrix: the argument's name, its array, how many rows it has, and what makes a `Storage` of it on the device, given
    whether it is the lower triangle; options: lower, trans and diag. The rest is as for `product`.
    """
    name, array, n, storage_of = matrix
    is_lower, how, unit = _options(*options)
    overwrite = may_overwrite(overwrite_x, "x")
    result = routine.target(routine.vector(x[0], "x"), x[0], overwrite=overwrite, stream=stream)
    target = section(result, "x", *x[1:]).view(n)
    enqueue = partial(
        _solve if routine.family.endswith("sv") else _multiply, lambda a: storage_of(a, is_lower), how, unit
    )
    if n:
        on_device(enqueue, stream, reads={name: array}, updates={"x": target})
    return result


def _options(lower: Any, trans: Any, diag: Any) -> tuple[bool, int, bool]:
    return bool(option(lower, "lower", LOWER)), option(trans, "trans", TRANS), bool(option(diag, "diag", DIAG))


def _multiply(
    storage_of: StorageOf, trans: int, unit: bool, a: DeviceNDArray, x: DeviceNDArray, stream: Stream
) -> None:
    storage = storage_of(a)
    triangular_product(storage, x, stream, trans=trans, unit=unit)


def triangular_product(
    storage: Storage, x: DeviceNDArray, stream: Stream, *, trans: int = 0, unit: bool = False
) -> None:
    """``x = op(A) @ x`` for a triangle; enqueued. Raises `MissingCapabilityError`."""
    given = workspaces.of(stream, "stored x", x.shape, x.dtype)
    copy_strided(x, given, stream)
    multiply(storage, general(storage, trans, unit=unit), given, x, stream)


def _solve(storage_of: StorageOf, trans: int, unit: bool, a: DeviceNDArray, x: DeviceNDArray, stream: Stream) -> None:
    solve(storage_of(a), x, stream, trans=trans, unit=unit)


def packed_triangle(routine: Routine, ap: Array, n: int) -> Array:
    """The first n * (n + 1) / 2 elements of an array: a packed triangle of n columns. Raises `ShapeError`."""
    needed = n * (n + 1) // 2
    if ap.shape[0] < needed:
        raise ShapeError(
            f"ap has {ap.shape[0]} elements; a packed triangle of {n} columns has {needed}",
            hint=f"pass a longer ap, or a smaller n of {routine.name}",
        )
    return ap[:needed]

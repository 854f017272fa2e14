"""Lists of products, systems and updates of a matrix, of any sizes: equal neighbours become one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import Any

import numpy as np

from portagpu.blas.arguments import check_dtypes, operand_of
from portagpu.blas.gemm.core.operands import with_strides
from portagpu.blas.host_arrays import are_on_device
from portagpu.blas.matmul import matmul
from portagpu.errors import ArgumentTypeError, ShapeError
from portagpu.linalg.checking import checks
from portagpu.linalg.general import matvec
from portagpu.linalg.matrices import INT32, Array, arrays_of
from portagpu.linalg.products import syrk
from portagpu.linalg.right_sides import singular
from portagpu.linalg.systems import solve_triangular
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

Arrays = Sequence[Array]
Factors = complex | Sequence[complex]
_STACKED = 2**16  # elements of a NumPy array, at most: copying larger ones into a batch costs more than a call
_ANY_STEP = 2**62
_AXES, _KIND = attrgetter("ndim"), attrgetter("shape", "dtype")


def gemm_batched(
    a: Arrays,
    b: Arrays,
    *,
    alpha: Factors = 1,
    beta: Factors = 0,
    out: Arrays | None = None,
    stream: Stream | None = None,
) -> list[Array]:
    """``alpha * a[i] @ b[i] + beta * out[i]`` for lists of matrices (m, k) and (k, n): a list of matrices (m, n).

    Sizes and dtypes may differ from one product to the next, and so may alpha and beta, which are numbers, or lists of
    one for each product. Neighbours that do not differ are computed together: NumPy arrays, which small ones are copied
    for, and device arrays that lie at even steps in one memory, such as ``list(x)`` of a batch x, or the results of
    another call. Other device arrays cost a launch for each product: an OpenCL kernel does not take addresses. Results
    lie in one memory if neighbours are equal.

    out: matrices that results are written to, which must not overlap. Raises `ShapeError`, `DTypeError`,
    `ArgumentTypeError`, `OutOfMemoryError`, which name the place in the list, before anything is computed.
    """

    def call(arrays: list[Array], c: Array, **factors: Any) -> Array:
        a, b = arrays
        return matmul(a, b, c, **factors, stream=stream)

    def shape(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...] | None:
        return (x[0], y[1]) if x[1] == y[0] else None

    kind = _Kind("gemm_batched", {"a": 2, "b": 2}, shape, call, hint="they are (m, k) and (k, n)", every_dtype=True)
    return _each(kind, (a, b), out, {"alpha": alpha, "beta": beta})


def gemv_batched(
    a: Arrays,
    x: Arrays,
    *,
    alpha: Factors = 1,
    beta: Factors = 0,
    out: Arrays | None = None,
    stream: Stream | None = None,
) -> list[Array]:
    """``alpha * a[i] @ x[i] + beta * out[i]`` for lists of matrices (m, n) and vectors (n): a list of vectors (m).

    As `gemm_batched`.
    """

    def call(arrays: list[Array], y: Array, **factors: Any) -> Array:
        a, x = arrays
        return matvec(a, x, out=y, **factors, stream=stream)

    def shape(matrix: tuple[int, ...], vector: tuple[int, ...]) -> tuple[int, ...] | None:
        return matrix[:1] if matrix[1:] == vector else None

    kind = _Kind("gemv_batched", {"a": 2, "x": 1}, shape, call, hint="they are (m, n) and (n)", every_dtype=True)
    return _each(kind, (a, x), out, {"alpha": alpha, "beta": beta})


def trsm_batched(
    a: Arrays,
    b: Arrays,
    *,
    left: bool = True,
    lower: bool = False,
    trans: int | str = 0,
    unit_diagonal: bool = False,
    alpha: Factors = 1,
    out: Arrays | None = None,
    info: Array | None = None,
    stream: Stream | None = None,
) -> list[Array]:
    """``inv(op(a[i])) @ (alpha * b[i])`` for lists of triangles (n, n) and right sides (n, m): a list of such.

    Options are as of `solve_triangular`, lists as of `gemm_batched`; ``out`` may be b. ``info``: an int32 array with an
    element for each matrix, where they are: it becomes 0, or the number, counted from 1, of the first zero on the
    diagonal. Without it, that is an error for NumPy arrays, which tells the place in the list. Raises as both do.
    """
    told: dict[str, Any] = {"left": left, "lower": lower, "trans": trans, "unit_diagonal": unit_diagonal}

    def call(arrays: list[Array], c: Array, **factors: Any) -> Array:
        a, b = arrays
        with checks(False):
            return solve_triangular(a, b, out=c, **factors, **told, stream=stream)

    def shape(triangle: tuple[int, ...], sides: tuple[int, ...]) -> tuple[int, ...] | None:
        rows, columns = triangle
        return sides if rows == columns == sides[0 if left else 1] else None

    hint = "they are (n, n) and (n, m)" if left else "they are (n, n) and (m, n)"
    kind = _Kind("trsm_batched", {"a": 2, "b": 2}, shape, call, hint=hint)
    own = info
    if info is None and all(isinstance(x, np.ndarray) for x in a):
        own = np.zeros(len(a), INT32)
    found = _each(kind, (a, b), out, {"alpha": alpha}, own)
    if info is None and own is not None and own.any():
        place = int(np.flatnonzero(own)[0])
        raise singular(int(own[place]), (place,))
    return found


def syrk_batched(
    a: Arrays,
    *,
    lower: bool = False,
    hermitian: bool = False,
    alpha: Factors = 1,
    beta: Factors = 0,
    out: Arrays | None = None,
    stream: Stream | None = None,
) -> list[Array]:
    """One triangle of ``alpha * a[i] @ a[i].T + beta * out[i]`` for a list of matrices (n, k): a list of (n, n).

    Options are as of `syrk`, lists as of `gemm_batched`. Raises as both do.
    """

    def call(arrays: list[Array], c: Array, **factors: Any) -> Array:
        return syrk(*arrays, lower=lower, hermitian=hermitian, out=c, **factors, stream=stream)

    kind = _Kind("syrk_batched", {"a": 2}, lambda x: (x[0], x[0]), call, keeps=True)
    return _each(kind, (a,), out, {"alpha": alpha, "beta": beta})


@dataclass(frozen=True, slots=True)
class _Kind:
    """A routine for lists.

    ``axes``: of the arrays of each list; ``shape``: of a result, for shapes of operands, or None for such as do not
    fit; ``call(operands, out, **factors)``: one result, or a batch of them; ``keeps``: results keep a part of what is
    in out; ``every_dtype``: those of products, not only those of factorisations.
    """

    name: str
    axes: Mapping[str, int]
    shape: Callable[..., tuple[int, ...] | None]
    call: Callable[..., Array]
    hint: str = ""
    keeps: bool = False
    every_dtype: bool = False


def _each(
    kind: _Kind, lists: tuple[Arrays, ...], out: Arrays | None, factors: dict[str, Any], info: Array = None
) -> list[Array]:
    """The results for each place, or for runs of places as batches."""
    operands = [_arrays(kind, name, given, n) for given, (name, n) in zip(lists, kind.axes.items(), strict=True)]
    targets = None if out is None else _arrays(kind, "out", out, None)
    count = len(operands[0])
    for name, given in (*zip(kind.axes, operands, strict=True), ("out", operands[0] if targets is None else targets)):
        if len(given) != count:
            raise ShapeError(
                f"{kind.name} takes lists of one length; a has {count} arrays, {name} {len(given)}",
                hint="one of each for a result",
            )
    numbers = {name: _numbers(kind, name, value, count) for name, value in factors.items()}
    if targets is None and any(beta != 0 for beta in numbers.get("beta", ())):
        raise ArgumentTypeError(
            f"{kind.name}: beta scales what is in out, and there is no out", hint="pass out=, or leave beta= away"
        )
    runs = list(_runs(operands, targets, [*zip(*numbers.values(), strict=True)]))
    for run in runs:
        _check(kind, run.start, operands, targets)
    if info is not None:
        _check_info(kind, info, operands[0])
    results: list[Array] = []
    for run in runs:
        told: dict[str, Any] = {name: found[run.start] for name, found in numbers.items()}
        if info is not None:
            told["info"] = info[run] if run.stop - run.start > 1 else info[run].reshape(())
        into = None if targets is None else targets[run]
        results += _run(kind, [given[run] for given in operands], into, told)
    return results if out is None else list(out)


def _run(kind: _Kind, parts: list[list[Array]], into: list[Array] | None, told: dict[str, Any]) -> list[Array]:
    """The results for a run of places."""
    if len(parts[0]) == 1:
        return [kind.call([part[0] for part in parts], None if into is None else into[0], **told)]
    operands = [_batch(part) for part in parts]
    if into is None:
        return _parts(kind.call(operands, None, **told))
    if isinstance(into[0], DeviceNDArray):
        kind.call(operands, _batch(into), **told)
        return into
    made = kind.call(operands, _batch(into) if kind.keeps or told.get("beta", 0) != 0 else None, **told)
    for held, found in zip(into, made, strict=True):
        held[...] = found
    return into


# arguments -----------------------------------------------------------------------------------------------------------


def _arrays(kind: _Kind, name: str, given: Any, axes: int | None) -> list[Array]:
    """A list as arrays. Raises `ArgumentTypeError`, `ShapeError`."""
    if not isinstance(given, Sequence | DeviceNDArray | np.ndarray) or isinstance(given, str | bytes):
        raise ArgumentTypeError(f"{kind.name}: {name} is a {type(given).__name__}", hint="pass a list of arrays")
    if isinstance(given, DeviceNDArray) and given.ndim:
        found = _parts(given)
    elif set(map(type, given)) <= {np.ndarray}:  # nothing else needs to be looked at, a thousand times
        found = list(given)
    else:
        found = [operand_of(one, f"{name}[{i}]") for i, one in enumerate(given)]
    if axes is None or set(map(_AXES, found)) <= {axes}:
        return found
    for i, one in enumerate(found):
        if one.ndim != axes:
            raise ShapeError(
                f"{kind.name}: {name}[{i}] has shape {one.shape}; it takes arrays of {axes} axes",
                hint="a list has one array for each result",
            )
    return found


def _numbers(kind: _Kind, name: str, value: Any, count: int) -> list[Any]:
    """A factor for each place. Raises `ShapeError`."""
    if not isinstance(value, Sequence | np.ndarray) or np.ndim(value) == 0:
        return [value] * count
    if np.ndim(value) > 1 or len(value) != count:
        raise ShapeError(
            f"{kind.name}: {name} has shape {np.shape(value)}, there are {count} results",
            hint="a number, or one for each result",
        )
    return list(value)


def _check(kind: _Kind, i: int, operands: list[list[Array]], targets: list[Array] | None) -> None:
    """Raise `ShapeError`, `ArgumentTypeError`, `DTypeError` for arrays at a place that do not fit together."""
    given = {f"{name}[{i}]": found[i] for name, found in zip(kind.axes, operands, strict=True)}
    shape = kind.shape(*(x.shape for x in given.values()))
    if shape is None:
        told = ", ".join(f"{name} has shape {x.shape}" for name, x in given.items())
        raise ShapeError(f"{kind.name}: {told}", hint=kind.hint)
    everything = given if targets is None else {**given, f"out[{i}]": targets[i]}
    there = are_on_device(everything, kind.name)
    if targets is not None and targets[i].shape != shape:
        raise ShapeError(
            f"{kind.name}: out[{i}] has shape {targets[i].shape}, the result {shape}", hint="pass one of that shape"
        )
    if kind.every_dtype:
        (first, a), (second, b) = given.items()
        check_dtypes(a, b, there, function=kind.name, names=(first, second))
    else:
        arrays_of(kind.name, **given)


def _check_info(kind: _Kind, info: Array, matrices: list[Array]) -> None:
    there = isinstance(info, DeviceNDArray)
    if getattr(info, "dtype", None) != INT32 or any(isinstance(x, DeviceNDArray) != there for x in matrices):
        raise ArgumentTypeError(
            f"{kind.name}: info is not an int32 array where the matrices are",
            hint="pass np.zeros(len(a), np.int32), on the device for device arrays",
        )
    if info.shape != (len(matrices),):
        raise ShapeError(f"{kind.name}: info has shape {info.shape}, a has {len(matrices)} arrays", hint="one a matrix")


# runs ----------------------------------------------------------------------------------------------------------------


def _runs(operands: list[list[Array]], targets: list[Array] | None, factors: list[Any]) -> Iterator[slice]:
    """Runs of places whose arrays make batches, and whose factors are the same."""
    everything = [*operands, *([] if targets is None else [targets])]
    if factors and all(map(_is_one_batch, everything)) and factors.count(factors[0]) == len(factors):
        yield slice(0, len(factors))
        return
    first, steps = 0, None
    for last, (one, other) in enumerate(pairwise(factors), 1):
        found = tuple(_step(given[last - 1], given[last]) for given in everything)
        distinct = targets is None or found[-1] >= _extent(targets[last])
        if one != other or min(found) < 0 or not distinct or steps not in (None, found):
            yield slice(first, last)
            first, steps = last, None
        else:
            steps = found
    if factors:
        yield slice(first, len(factors))


def _is_one_batch(arrays: list[Array]) -> bool:
    """Whether all are NumPy arrays that `_step` would find to be neighbours: most lists are, and are asked at once."""
    first = arrays[0]
    small = type(first) is np.ndarray and first.size <= _STACKED
    return small and set(map(type, arrays)) == {np.ndarray} and len(set(map(_KIND, arrays))) == 1


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
        return np.concatenate(part).reshape(len(part), *first.shape)
    step = part[1].offset - first.offset
    return with_strides(first, (len(part), *first.shape), (step, *first.strides))


def _parts(batch: Array) -> list[Array]:
    """The arrays of a batch: views."""
    if not isinstance(batch, DeviceNDArray):
        return list(batch)
    shape, (step, *strides) = batch.shape[1:], batch.strides
    return [with_strides(batch, shape, tuple(strides), first=i * step) for i in range(batch.shape[0])]

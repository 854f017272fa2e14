"""What functions that solve systems of linear equations share: right sides, and what is wrong with matrices."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from portagpu.blas.factorisations.batches import stacked
from portagpu.errors import (
    FactorisationError,
    NotPositiveDefiniteError,
    ShapeError,
    SingularMatrixError,
    UnknownOptionError,
)
from portagpu.linalg.matrices import Array, broadcast_batches, copy_of
from portagpu.linalg.results import check_out, delivered, is_simple, shares
from portagpu.runtime.execution.stream import Stream

_Failed = TypeVar("_Failed", bound=FactorisationError)
_TRANS = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


class RightSides:
    """Right sides of systems: a copy to solve in, in three axes at most, and the result that it becomes.

    A batch of right sides of one matrix is one matrix with all their columns; where the matrix stands on the right
    (not ``left``), with all their rows.
    """

    def __init__(
        self,
        function: str,
        a: Array,
        b: Array,
        dtype: np.dtype[Any],
        out: Array,
        stream: Stream | None,
        *,
        left: bool = True,
    ) -> None:
        n = a.shape[-1]
        is_vector = b.ndim == 1
        if b.ndim == 0 or b.shape[-2 if left and not is_vector else -1] != n:
            raise ShapeError(
                f"{function}: a has shape {a.shape}, b {b.shape}",
                hint=f"b is (n), or {'(..., n, m)' if left else '(..., m, n)'}, for matrices of n rows",
            )
        columns = b.reshape((n, 1) if left else (1, n)) if is_vector else b
        self.batch = broadcast_batches(function, a=a.shape[:-2], b=columns.shape[:-2])
        shape = (*self.batch, *columns.shape[-2:])
        self._shape = (*self.batch, n) if is_vector else shape
        check_out(out, a, self._shape, dtype, function)
        self._out, self._stream = out, stream
        is_shared = a.ndim == 2 and len(shape) > 2
        self._folded, self._in_place = is_shared and left, False
        self.a_batch = () if a.ndim == 2 else self.batch
        if self._folded:
            axes = (len(shape) - 2, *range(len(shape) - 2), len(shape) - 1)
            moved = columns.transpose(axes)
            whole = copy_of(moved, moved.shape, dtype, stream)
            self._back = tuple(int(i) for i in np.argsort(axes))
            self._whole = whole
            self.array = whole.reshape((n, int(np.prod(whole.shape[1:], dtype=np.int64))))
            return
        # the right sides are put there before the matrix is read
        self._in_place = is_simple(out) and not shares(out, a)
        own = out.reshape(shape) if self._in_place else None
        self._whole = copy_of(columns, shape, dtype, stream, own)
        rows = int(np.prod(shape[:-1], dtype=np.int64))
        self.array = self._whole.reshape((rows, n)) if is_shared else stacked(self._whole)

    def result(self) -> Array:
        """The solutions, of b's shape."""
        made = self._whole.transpose(self._back) if self._folded else self._whole
        if self._in_place:
            return self._out
        return delivered(made if self._folded else made.reshape(self._shape), self._out, self._stream)


def readable(x: Array, shape: tuple[int, ...], dtype: np.dtype[Any], stream: Stream | None) -> Array:
    """An array in C order with these elements, broadcast: itself, if it is one."""
    if x.shape == shape and x.dtype == dtype and is_simple(x):
        return x
    return copy_of(x, shape, dtype, stream)


def transposition(function: str, trans: Any) -> int:
    """0 for a matrix as it is, 1 transposed, 2 conjugated, too. Raises `UnknownOptionError`."""
    if not isinstance(trans, int | str | np.integer | np.bool_) or trans not in _TRANS:
        raise UnknownOptionError(
            f"{function}: trans is {trans!r}",
            hint="0 or 'N' leaves a as it is, 1 or 'T' transposes, 2 or 'C' conjugates, too",
        )
    return _TRANS[trans]


def failed_at(kind: type[_Failed], order: int, matrix: tuple[int, ...], what: str, hint: str) -> _Failed:
    """The error for a matrix of a batch, or the only one, whose factors fail at an order, counted from 1."""
    which = f"matrix {matrix} of the batch" if matrix else "the matrix"
    error = kind(f"{which} {what}", hint=hint)
    error.order, error.matrix = order, matrix
    return error


def singular(order: int, matrix: tuple[int, ...]) -> SingularMatrixError:
    """The error for a matrix of a batch whose pivot ``order``, counted from 1, is 0."""
    what = f"is singular: pivot {order}, counted from 1, is exactly 0"
    hint = "lstsq solves such systems as nearly as they can be; info= takes what is found instead"
    return failed_at(SingularMatrixError, order, matrix, what, hint)


def not_definite(order: int, matrix: tuple[int, ...]) -> NotPositiveDefiniteError:
    """The error for a matrix of a batch whose leading minor of an order is not positive."""
    what = f"is not positive definite: its leading minor of order {order} is not"
    hint = "solve takes general matrices; info= takes what is found instead"
    return failed_at(NotPositiveDefiniteError, order, matrix, what, hint)

"""Eigenvalues and eigenvectors of general square matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu.blas.factorisations.batches import stacked
from portagpu.blas.replay.calls import repeats
from portagpu.errors import FactorisationError
from portagpu.linalg.checking import checked
from portagpu.linalg.matrices import INT32, Array, arrays_of, check_matrix, new
from portagpu.linalg.results import Report, first_failure, run, takes_results
from portagpu.linalg.right_sides import failed_at, readable
from portagpu.linalg.schur.eigenvalues import complex_of, find_eigenvalues
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.stream import Stream


class EigResult(NamedTuple):
    """``a @ eigenvectors = eigenvectors @ diag(eigenvalues)``, both complex; eigenvectors are columns of length 1."""

    eigenvalues: Array
    eigenvectors: Array


def not_found(info: int, matrix: tuple[int, ...]) -> FactorisationError:
    """The error for a matrix of a batch that has elements that are not finite, or whose iteration did not end."""
    what = f"has {info} eigenvalues that the QR iteration did not find"
    if info < 0:
        what = "has elements that are infinite or NaN"
    hint = "portagpu.linalg.eig with info= leaves NaN instead"
    return failed_at(FactorisationError, max(info, 0), matrix, what, hint)


@takes_results
@checked(not_found)
@repeats
def eig(a: Array, *, info: Array | None = None, stream: Stream | None = None) -> EigResult:
    """Eigenvalues, in no order, and eigenvectors of general matrices; complex, also where they are real.

    a: (..., n, n). Returns `EigResult`: eigenvalues (..., n), and eigenvectors (..., n, n), columns of length 1 whose
    largest elements are real. Real matrices have real eigenvalues and vectors with imaginary parts that are exactly 0,
    and others in exactly conjugate pairs, the one with the positive imaginary part first. Of matrices that have fewer
    eigenvectors some columns are nearly parallel. Residuals are at most some ``n * eps`` of the norm of the balanced
    matrix, whose rows and columns of the same index are about as long as each other. The work is some ``25 n**3``
    operations, four times as many for complex matrices, by one core or one block of a GPU for each matrix; see
    `portagpu.linalg.schur.eigenvalues.find_eigenvalues`.

    ``info``: an int32 array of the batch's shape, where the matrices are: of each it becomes 0; -1 where an element is
    not finite; or the number of eigenvalues that the iteration did not find: then all are NaN. Without it such a matrix
    is an error, for which work on device arrays is waited for; see `portagpu.linalg.checks`.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `FactorisationError`, `OutOfMemoryError`.
    """
    values, vectors = _found("eig", a, info, stream, vectors=True)
    return EigResult(values, vectors)


@takes_results
@checked(not_found)
@repeats
def eigvals(a: Array, *, info: Array | None = None, stream: Stream | None = None) -> Array:
    """The eigenvalues of general matrices, in no order, complex: (..., n). All else is as of `eig`.

    Some ``10 n**3`` operations. Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `FactorisationError`,
    `OutOfMemoryError`.
    """
    return _found("eigvals", a, info, stream, vectors=False)[0]


def eigen_as_numpy(a: DeviceNDArray, *, vectors: bool) -> tuple[DeviceNDArray, DeviceNDArray | None, bool]:
    """Eigenvalues, and eigenvectors or None, and whether all eigenvalues of all matrices are real, of real matrices.

    It waits for the device, once. Raises the errors of `eig`, also where `eig` leaves NaN.
    """
    batch = a.shape[:-2]
    count = int(np.prod(batch, dtype=np.int64))
    if count == 0:
        return *_found("eig", a, None, None, vectors=vectors), a.dtype.kind != "c"
    told = device_array((2, count), INT32, context=a.context)
    found = _found("eig", a, told[0].reshape(batch), None, vectors=vectors, paired=told[1])
    info, paired = told.copy_to_host()
    if info.any():
        raise not_found(*first_failure(info, batch))
    return *found, a.dtype.kind != "c" and not paired.any()


def _found(
    function: str, a: Array, info: Array | None, stream: Stream | None, *, vectors: bool, paired: Array | None = None
) -> tuple[Any, Any]:
    """Eigenvalues, and eigenvectors or None. paired: memory for what `Found` tells. Raises the errors of `eig`."""
    (a,), dtype = arrays_of(function, a=a)
    check_matrix(a, "a", function, square=True)
    *batch, n = a.shape[:-1]
    work = a if a.dtype == dtype and a.ndim <= 3 else readable(a, a.shape, dtype, stream)
    count = int(np.prod(batch, dtype=np.int64))
    report = Report(info, a, tuple(batch), function)
    shapes = [(count, n), (count, n, n)][: 1 + vectors]
    made = {f"result {i}": new(a, shape, complex_of(dtype)) for i, shape in enumerate(shapes)}

    def enqueue(a: Any, *results: Any) -> None:
        *found, paired, info, stream = results
        find_eigenvalues(a, found[0], info, paired, stream, *found[1:])

    told = {"paired": new(a, (max(1, count),), INT32) if paired is None else paired}
    run(enqueue, stream, report, reads={"a": stacked(work)}, results={**made, **told})
    report.finish(not_found, stream)
    values, *others = (x.reshape((*batch, *x.shape[1:])) for x in made.values())
    return values, others[0] if others else None

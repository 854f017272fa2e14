"""CUDA-style kernels in Python on any OpenCL device, and a portable tuned BLAS."""

from __future__ import annotations

from typing import Any

from portagpu import cuda, errors
from portagpu.runtime import ufuncs
from portagpu.version import __version__


def matmul(a: Any, b: Any, out: Any = None, *, stream: Any = None) -> Any:
    """Matrix product on the current device; see `portagpu.blas.matmul`."""
    from portagpu.blas.matmul import matmul as implementation  # the kernels' sources are read at first use

    return implementation(a, b, out, stream=stream)


def _dot(a: Any, b: Any, out: Any = None) -> Any:
    """`numpy.dot` of device arrays, where it is a matrix product."""
    if max(getattr(a, "ndim", 0), getattr(b, "ndim", 0)) > 2:
        raise errors.ShapeError(
            "numpy.dot of device arrays with more than two axes", hint="use numpy.matmul, or reshape to two axes"
        )
    return matmul(a, b, out)


ufuncs.register("matmul", matmul)
ufuncs.register("dot", _dot)

__all__ = ["__version__", "cuda", "errors", "matmul"]

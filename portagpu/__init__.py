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
    from portagpu.blas.matmul import dot  # as above

    return dot(a, b, out)


ufuncs.register("matmul", matmul)
ufuncs.register("linalg.matmul", matmul)
ufuncs.register("dot", _dot)

__all__ = ["__version__", "cuda", "errors", "matmul"]

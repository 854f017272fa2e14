"""CUDA-style kernels in Python on any OpenCL device, and a portable tuned BLAS."""

from portagpu import cuda, errors
from portagpu.version import __version__

__all__ = ["__version__", "cuda", "errors"]

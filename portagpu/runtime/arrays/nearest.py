"""Hints for NumPy functions, methods and operators that device arrays do not have: what comes nearest."""

from __future__ import annotations

_ELEMENTWISE = "write a kernel, or a function of elements with @cuda.vectorize, or use the host: x.copy_to_host()"
_OTHER = "write a kernel, or copy to the host with copy_to_host()"

_SPECIAL = {
    "__cuda_array_interface__": "they show it to Python code that names it, and to no library of CUDA's",
    "tobytes": "copy first: x.copy_to_host().tobytes()",
    "data": "x.copy_to_host() is NumPy's; x.to_pyopencl().data is the buffer",
    "ctypes": "x.copy_to_host() has an address on the host; kernels of other libraries take x.to_pyopencl().data",
    "get": "x.copy_to_host()",
    "cpu": "x.copy_to_host()",
    "numpy": "x.copy_to_host()",
    "roots": "numpy.roots(p.copy_to_host())",
}


def hint_for(name: str, *, elementwise: bool = False) -> str:
    """What to do in place of ``numpy.<name>``, or of the array's method; elementwise: it is an operator or a ufunc."""
    if name in _SPECIAL:
        return _SPECIAL[name]
    return _ELEMENTWISE if elementwise else _OTHER


def is_known(name: str) -> bool:
    """Whether there is a hint of its own for a missing attribute."""
    return name in _SPECIAL

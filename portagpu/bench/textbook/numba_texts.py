"""The same Python text compiled by numba-cuda: the kernels' module, executed with its `cuda` in place of ours."""

from __future__ import annotations

import importlib
import inspect
import linecache
import types
from functools import cache
from typing import Any

from portagpu.bench.textbook import kernels
from portagpu.errors import UnsupportedError

_WORDS = {
    "from portagpu import cuda": "from numba import cuda",
    "from portagpu.cuda.random import": "from numba.cuda.random import",
}
_IN_DOUBLE = frozenset({"stencil", "n_body", "black_scholes", "mandelbrot", "histogram"})
"""Numba's literals are of float64, and with them all that they meet; a product of float32 and an integer, too."""


def kernel(name: str) -> Any:
    """Numba's kernel. Raises `UnsupportedError` where the text means other arithmetic there."""
    if name in _IN_DOUBLE:
        raise UnsupportedError("the same text computes in float64 there: its literals are float64")
    return getattr(_module(), name)


@cache
def _module() -> types.ModuleType:
    text = inspect.getsource(kernels)
    for ours, theirs in _WORDS.items():
        assert ours in text
        text = text.replace(ours, theirs)
    made = types.ModuleType("textbook_kernels_of_numba")
    path = f"<{kernels.__name__} of numba>"
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)  # for its messages
    exec(compile(text, path, "exec"), made.__dict__)
    return made


def device_name() -> str:
    """Name of numba's current device. Raises anything where there is none."""
    name = importlib.import_module("numba.cuda").get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)


__all__ = ["device_name", "kernel"]

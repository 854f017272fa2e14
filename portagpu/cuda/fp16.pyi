# Made from the package's own tables by `python -m tools.documents`; a test fails when it is stale.
"""``cuda.fp16``: functions of float16 numbers inside kernels, under the names of CUDA's half intrinsics."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from portagpu.dialect.names import VectorMaker
from portagpu.types import Type

_Number: TypeAlias = complex | np.number[Any] | np.bool_
_Kind: TypeAlias = Type | VectorMaker | DTypeLike

class _Float(float):
    def view(self, dtype: _Kind) -> Any:
        """Its bits as another type."""

def hadd(a: _Number, b: _Number) -> _Float:
    """`a + b`, rounded to nearest."""

def hsub(a: _Number, b: _Number) -> _Float:
    """`a - b`, rounded to nearest."""

def hmul(a: _Number, b: _Number) -> _Float:
    """`a * b`, rounded to nearest."""

def hdiv(a: _Number, b: _Number) -> _Float:
    """`a / b`, rounded to nearest."""

def hlt(a: _Number, b: _Number) -> bool:
    """`a < b`."""

def hle(a: _Number, b: _Number) -> bool:
    """`a <= b`."""

def hgt(a: _Number, b: _Number) -> bool:
    """`a > b`."""

def hge(a: _Number, b: _Number) -> bool:
    """`a >= b`."""

def heq(a: _Number, b: _Number) -> bool:
    """`a == b`."""

def hne(a: _Number, b: _Number) -> bool:
    """`a != b`."""

def habs(a: _Number) -> _Float:
    """Absolute value."""

def hsin(a: _Number) -> _Float:
    """Sine of an angle in radians."""

def hcos(a: _Number) -> _Float:
    """Cosine of an angle in radians."""

def hexp(a: _Number) -> _Float:
    """e to the power of a."""

def hexp2(a: _Number) -> _Float:
    """2 to the power of a."""

def hexp10(a: _Number) -> _Float:
    """10 to the power of a."""

def hlog(a: _Number) -> _Float:
    """Natural logarithm."""

def hlog2(a: _Number) -> _Float:
    """Logarithm to base 2."""

def hlog10(a: _Number) -> _Float:
    """Logarithm to base 10."""

def hsqrt(a: _Number) -> _Float:
    """Square root."""

def hrsqrt(a: _Number) -> _Float:
    """1 / sqrt(a)."""

def hfloor(a: _Number) -> _Float:
    """Largest whole number that is not above a."""

def hceil(a: _Number) -> _Float:
    """Smallest whole number that is not below a."""

def hrint(a: _Number) -> _Float:
    """Nearest whole number; halves go to the even one."""

def htrunc(a: _Number) -> _Float:
    """Whole number next to a towards 0."""

def hmax(a: _Number, b: _Number) -> _Float:
    """The larger number; a NaN counts as missing."""

def hmin(a: _Number, b: _Number) -> _Float:
    """The smaller number; a NaN counts as missing."""

def hneg(a: _Number) -> _Float:
    """-a."""

def hrcp(a: _Number) -> _Float:
    """1 / a."""

def hfma(a: _Number, b: _Number, c: _Number) -> _Float:
    """`a * b + c`, rounded once."""

__all__ = [
    "habs",
    "hadd",
    "hceil",
    "hcos",
    "hdiv",
    "heq",
    "hexp",
    "hexp2",
    "hexp10",
    "hfloor",
    "hfma",
    "hge",
    "hgt",
    "hle",
    "hlog",
    "hlog2",
    "hlog10",
    "hlt",
    "hmax",
    "hmin",
    "hmul",
    "hne",
    "hneg",
    "hrcp",
    "hrint",
    "hrsqrt",
    "hsin",
    "hsqrt",
    "hsub",
    "htrunc",
]

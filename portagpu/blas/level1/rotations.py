"""rot, rotm, rotg and rotmg under the names of `scipy.linalg.blas`: `srot`, `zdrot`, `drotmg` ...

rotg and rotmg make a rotation of a few numbers; they are computed on the host.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from portagpu.blas.arguments import operand_of
from portagpu.blas.host_arrays import on_device
from portagpu.blas.level1 import elementwise
from portagpu.blas.level1.axpy import sections
from portagpu.blas.scipy_arguments import Routine, in_dtype, may_overwrite
from portagpu.blas.scipy_vectors import Section, count
from portagpu.errors import ShapeError, UnknownOptionError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

Array = Any
H = tuple[float, float, float, float]

_GAMMA = 4096.0  # what rotmg scales by


def _rot(
    routine: Routine,
    /,
    x: Array,
    y: Array,
    c: Any,
    s: Any,
    n: int | None = None,
    offx: int = 0,
    incx: int = 1,
    offy: int = 0,
    incy: int = 1,
    overwrite_x: int = 0,
    overwrite_y: int = 0,
    *,
    stream: Stream | None = None,
) -> tuple[Array, Array]:
    cosine, sine = routine.real_scalar(c, "c"), routine.real_scalar(s, "s")
    left, right = _both(routine, x, y, (offx, incx), (offy, incy), stream, overwrite_x, overwrite_y)
    return _rotated(left, right, count(routine, n, left.length), (cosine, sine, -sine, cosine), stream)


def _rotm(
    routine: Routine,
    /,
    x: Array,
    y: Array,
    param: Array,
    n: int | None = None,
    offx: int = 0,
    incx: int = 1,
    offy: int = 0,
    incy: int = 1,
    overwrite_x: int = 0,
    overwrite_y: int = 0,
    *,
    stream: Stream | None = None,
) -> tuple[Array, Array]:
    h = _matrix_of(routine, param)
    left, right = _both(routine, x, y, (offx, incx), (offy, incy), stream, overwrite_x, overwrite_y)
    return _rotated(left, right, count(routine, n, left.whole_steps), h, stream)


def _both(
    routine: Routine,
    x: Array,
    y: Array,
    x_placing: tuple[Any, Any],
    y_placing: tuple[Any, Any],
    stream: Stream | None,
    overwrite_x: Any,
    overwrite_y: Any,
) -> tuple[Section, Section]:
    overwrite = {"overwrite_x": may_overwrite(overwrite_x, "x"), "overwrite_y": may_overwrite(overwrite_y, "y")}
    return sections(routine, x, y, x_placing, y_placing, stream, writes="xy", **overwrite)


def _rotated(left: Section, right: Section, n: int, h: H | None, stream: Stream | None) -> tuple[Array, Array]:
    first, second = left.view(n, counted=True), right.view(n, counted=True)
    if n and h is not None:
        rotate = partial(_rotate, h)
        on_device(rotate, stream, updates={"x": first, "y": second})
    return left.array, right.array


def _rotate(h: H, x: DeviceNDArray, y: DeviceNDArray, stream: Stream) -> None:
    elementwise.rotate(x, y, h, stream)


def _matrix_of(routine: Routine, param: Array) -> H | None:
    """H of rotm's parameters ``[flag, h11, h21, h12, h22]``, of which the flag says which count; None: the identity."""
    found = operand_of(param, "param")
    values = np.asarray(found.copy_to_host() if isinstance(found, DeviceNDArray) else found)
    if values.shape != (5,):
        raise ShapeError(
            f"param of {routine.name} has shape {values.shape}", hint="it has five numbers: flag, h11, h21, h12, h22"
        )
    flag, h11, h21, h12, h22 = (float(value) for value in values.astype(routine.dtype))
    if flag == -2:
        return None
    if flag == -1:
        return h11, h12, h21, h22
    if flag == 0:
        return 1.0, h12, h21, 1.0
    if flag == 1:
        return h11, 1.0, -1.0, h22
    raise UnknownOptionError(f"the flag of param is {flag}", hint="-2, -1, 0 or 1, as of rotmg")


def _rotg(routine: Routine, /, a: Any, b: Any) -> tuple[Any, Any]:
    f, g = routine.scalar(a, "a"), routine.scalar(b, "b")
    if routine.dtype.kind == "c":
        cosine, sine = _complex_rotation(complex(f), complex(g))
        kind: Any = routine.dtype.type
        return complex(kind(cosine)), complex(kind(sine))
    number: Any = routine.dtype.type
    found = _rotation(float(number(f)), float(number(g)))
    return float(number(found[0])), float(number(found[1]))


def _rotation(a: float, b: float) -> tuple[float, float]:
    """c and s with ``c a + s b = r`` and ``c b - s a = 0``, scaled so that no square overflows or vanishes.

    E. Anderson, "Algorithm 978: Safe scaling in the level 1 BLAS", ACM TOMS 44(1), 2017.
    """
    if b == 0:
        return 1.0, 0.0
    if a == 0:
        return 0.0, 1.0
    scale = max(abs(a), abs(b))
    sign = math.copysign(1.0, a if abs(a) > abs(b) else b)
    r = sign * math.hypot(a / scale, b / scale)
    return a / scale / r, b / scale / r


def _complex_rotation(f: complex, g: complex) -> tuple[float, complex]:
    """c (real) and s with ``c f + s g = r`` and ``c g - conj(s) f = 0``."""
    if g == 0:
        return 1.0, 0j
    if f == 0 and g != g:  # NaN, which the largest part may not be
        return 0.0, complex(math.nan, math.nan)
    scale = max(abs(f.real), abs(f.imag), abs(g.real), abs(g.imag))
    f, g = f / scale, g / scale
    if f == 0:
        return 0.0, g.conjugate() / abs(g)
    r = math.hypot(abs(f), abs(g))
    return abs(f) / r, f / abs(f) * (g.conjugate() / r)


def _rotmg(routine: Routine, /, d1: Any, d2: Any, x1: Any, y1: Any) -> Array:
    number: Any = routine.dtype.type
    given = ((d1, "d1"), (d2, "d2"), (x1, "x1"), (y1, "y1"))
    with np.errstate(all="ignore"):
        return _modified_rotation(number, *(number(routine.scalar(value, name).real) for value, name in given))


def _modified_rotation(number: Any, d1: Any, d2: Any, x1: Any, y1: Any) -> Array:
    """The parameters ``[flag, h11, h21, h12, h22]`` of a modified Givens rotation, in the arithmetic of ``number``.

    C. Lawson, R. Hanson, D. Kincaid, F. Krogh, "Basic linear algebra subprograms for Fortran usage", ACM TOMS 5(3),
    1979; rescaled as in T. Hopkins, "Remark on algorithm 539", ACM TOMS 23(4), 1997.
    """
    one, zero = number(1), number(0)
    param = np.zeros(5, number)
    p2 = d2 * y1
    if d1 >= 0 and p2 == 0:
        param[0] = -2
        return param
    p1, q2 = d1 * x1, p2 * y1
    q1 = p1 * x1
    h11, h21, h12, h22 = one, zero, zero, one
    if d1 < 0 or (abs(q1) <= abs(q2) and q2 < 0):
        param[0] = -1
        return param
    if abs(q1) > abs(q2):
        flag, h21, h12 = 0, -y1 / x1, p2 / p1
        u = one - h12 * h21
        if u <= 0:  # only by rounding
            param[0] = -1
            return param
        d1, d2 = d1 / u, d2 / u
    else:
        flag, h11, h22 = 1, p1 / p2, x1 / y1
        h21, h12 = -one, one
        u = one + h11 * h22
        d1, d2 = d2 / u, d1 / u
    gamma = number(_GAMMA)
    square = gamma * gamma
    while d1 != 0 and math.isfinite(d1) and not one / square < d1 < square:
        flag = -1
        up = d1 >= square
        d1 = d1 / square if up else d1 * square
        h11, h12 = (h11 * gamma, h12 * gamma) if up else (h11 / gamma, h12 / gamma)
    while d2 != 0 and math.isfinite(d2) and not one / square < abs(d2) < square:
        flag = -1
        up = abs(d2) >= square
        d2 = d2 / square if up else d2 * square
        h21, h22 = (h21 * gamma, h22 * gamma) if up else (h21 / gamma, h22 / gamma)
    param[0] = flag
    if flag != 0:
        param[1], param[4] = h11, h22
    if flag != 1:
        param[2], param[3] = h21, h12
    return param


srot = in_dtype(
    _rot,
    "srot",
    "float32",
    """``x, y = c x + s y, c y - s x`` in float32, as `scipy.linalg.blas.srot`: both arrays.

    They are copies, unless ``overwrite_x`` (``overwrite_y``); then the result may be put into the arguments, see
    `saxpy`, which says what vectors are. c, s: real numbers. x and y share no memory.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
)
drot = in_dtype(_rot, "drot", "float64", "As `srot`, in float64.")
csrot = in_dtype(_rot, "csrot", "complex64", "As `srot`, of complex64 vectors.")
zdrot = in_dtype(_rot, "zdrot", "complex128", "As `srot`, of complex128 vectors.")

srotm = in_dtype(
    _rotm,
    "srotm",
    "float32",
    """A modified Givens rotation of x and y in float32, as `scipy.linalg.blas.srotm`: both arrays. See `srot`.

    ``param``: five numbers as `srotmg` makes them: flag, h11, h21, h12, h22.
    """,
)
drotm = in_dtype(_rotm, "drotm", "float64", "As `srotm`, in float64.")

srotg = in_dtype(
    _rotg,
    "srotg",
    "float32",
    """c and s of the rotation that makes ``(a, b)`` to ``(r, 0)``, as `scipy.linalg.blas.srotg`, as Python's numbers.

    a, b: numbers; scaled, so that neither overflow nor underflow of squares does harm. Raises `ArgumentTypeError`.
    """,
)
drotg = in_dtype(_rotg, "drotg", "float64", "As `srotg`, in float64.")
crotg = in_dtype(_rotg, "crotg", "complex64", "As `srotg`, in complex64; the imaginary part of c is 0.")
zrotg = in_dtype(_rotg, "zrotg", "complex128", "As `srotg`, in complex128; the imaginary part of c is 0.")

srotmg = in_dtype(
    _rotmg,
    "srotmg",
    "float32",
    """The parameters of the modified rotation that makes ``(sqrt(d1) x1, sqrt(d2) y1)`` to ``(r, 0)``: five float32.

    As `scipy.linalg.blas.srotmg`: flag, h11, h21, h12, h22, zero where the flag says what they are. Raises
    `ArgumentTypeError`.
    """,
)
drotmg = in_dtype(_rotmg, "drotmg", "float64", "As `srotmg`, in float64.")

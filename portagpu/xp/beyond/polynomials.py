"""NumPy's convolutions and polynomials of device arrays."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN202

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from portagpu import cuda, notices, primitives
from portagpu.dispatch import ready
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.errors import ArgumentValueError, ShapeError
from portagpu.expressions.apply import apply
from portagpu.expressions.reductions import functions
from portagpu.expressions.writing import filled
from portagpu.linalg import inv
from portagpu.primitives.shares import threads_of
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.numpy_dispatch import call, register
from portagpu.ufuncs.kernel_source import launch
from portagpu.xp import creation, fft, manipulation, products
from portagpu.xp.conversion import array_of, arrays_of, context_of_any

_NOTHING = 1e-8  # up to which the first coefficients of a rest are none, as NumPy has it
_MOST_PRODUCTS = 2**28  # of a convolution whose elements are added one by one: transforms are faster then


@cache
def _sliding_kernel(held: Any) -> Dispatcher:
    """``out[i] = sum(a[i - left + k] * v[k])``, for the k for which there is such an element, in ``held``."""

    def slide(a, v, out, left):
        i = cuda.grid(1)
        if i < out.size:
            first = i - left
            total = held(0)
            for k in range(max(0, -first), min(v.size, a.size - first)):
                total += held(a[first + k]) * held(v[k])
            out[i] = total

    return cuda.jit(slide, cache=True)


def _slid(a: DeviceNDArray, v: DeviceNDArray, mode: str) -> DeviceNDArray:
    """The sums of products of the longer array's neighbours with the shorter one."""
    more = {"valid": 1 - v.size, "same": 0, "full": v.size - 1}
    if mode not in more:
        raise ArgumentValueError(f"mode is 'valid', 'same' or 'full', not {mode!r}")
    left = {"valid": 0, "same": v.size // 2, "full": v.size - 1}[mode]
    count, context = a.size + more[mode], a.context
    if a.dtype.kind in "fc" and a.dtype.itemsize >= 4 and a.size * v.size > _MOST_PRODUCTS:
        return _transformed(a, v)[v.size - 1 - left :][:count]
    held: Any = {"b": np.int64, "i": np.int64, "u": np.uint64}.get(a.dtype.kind, a.dtype.type)
    held = np.float32 if a.dtype == np.float16 else held
    with context.unsettled:
        out = device_array(count, np.int64 if a.dtype.kind == "b" else a.dtype, context=context)
        launch(_sliding_kernel(held), count, None, 0, (a, v, out, left), context)
    return apply(np.not_equal, out, 0) if a.dtype.kind == "b" else out


def _transformed(a: DeviceNDArray, v: DeviceNDArray) -> DeviceNDArray:
    """All sums, by Fourier transforms: the error is relative to the norms of both arrays."""
    length = a.size + v.size - 1
    reverse = v[::-1]
    if a.dtype.kind == "c":
        product = apply(np.multiply, fft.fft(a, n=length), fft.fft(reverse, n=length))
        return fft.ifft(product, n=length)
    product = apply(np.multiply, fft.rfft(a, n=length), fft.rfft(reverse, n=length))
    return fft.irfft(product, n=length)


def _of_one_axis(*values: Any) -> list[DeviceNDArray]:
    found = [x.reshape(1) if not x.ndim else x for x in arrays_of(values)]
    kind = np.result_type(*(x.dtype for x in found))
    for x in found:
        if x.ndim != 1 or not x.size:
            raise ShapeError(f"arrays of one axis with elements are needed, not of shape {x.shape}")
    return [x.astype(kind, copy=False) for x in found]


def _convolve(a: Any, v: Any, mode: str = "full") -> DeviceNDArray:
    x, y = _of_one_axis(a, v)
    if y.size > x.size:
        x, y = y, x
    return _slid(x, y[::-1], mode)


def _correlate(a: Any, v: Any, mode: str = "valid") -> DeviceNDArray:
    if not (np.ndim(a) and np.ndim(v)):
        raise ShapeError("correlate takes arrays of one axis, no numbers", hint="np.convolve takes them")
    x, y = _of_one_axis(a, v)
    y = apply(np.conjugate, y) if y.dtype.kind == "c" else y
    if x.size >= y.size:
        return _slid(x, y, mode)
    found: DeviceNDArray = _slid(y, x, mode)[::-1].copy()
    return found


register("convolve", _convolve, frozenset({"mode"}))
register("correlate", _correlate, frozenset({"mode"}))


def _polyval(p: Any, x: Any) -> DeviceNDArray:
    """Horner's rule: of numbers as coefficients one kernel for each 12 of them or so."""
    context = context_of_any(p, x)
    places = array_of(x, context)
    if isinstance(p, DeviceNDArray):
        kind = p.dtype
        factors: list[Any] = [p._view((n, Ellipsis)) for n in range(p.shape[0])]
    else:
        host = np.atleast_1d(np.asarray(p))
        kind, factors = host.dtype, list(host)
    found: Any = call("zeros_like", places)
    kind = np.result_type(kind, places.dtype)
    for factor in factors:
        found = apply(np.add, apply(np.multiply, found, places), factor)
    return found.astype(kind, copy=False)  # type: ignore[no-any-return]


def _coefficients(*values: Any) -> list[DeviceNDArray]:
    return [x.reshape(1) if not x.ndim else x for x in arrays_of(values)]


def _of_sum(ufunc: np.ufunc) -> Any:
    def function(a1: Any, a2: Any) -> DeviceNDArray:
        x, y = _coefficients(a1, a2)
        count = max(len(x), len(y))
        for n in (x, y):
            if n.ndim > 1 and len(n) < count:
                raise ShapeError(f"coefficients of shape {n.shape} are not as many as {count}")
        return apply(ufunc, *(call("pad", n, (count - len(n), 0)) if len(n) < count else n for n in (x, y)))

    return function


def _polymul(a1: Any, a2: Any) -> DeviceNDArray:
    """The coefficients' convolution. The host waits for how many zeros are in front: they are no part of it."""
    x, y = (_without_leading_zeros(x) for x in _coefficients(a1, a2))
    return _convolve(x, y)


def _without_leading_zeros(x: DeviceNDArray) -> DeviceNDArray:
    left: DeviceNDArray = call("trim_zeros", x, "f")
    return left if left.size or not x.size else x[-1:]


@cache
def _division_kernel(threads: int) -> Dispatcher:
    """Divide ``rest`` by ``v``, whose first coefficient's reciprocal is ``scale[0]``, for one block."""

    def divide(rest, v, scale, quotient):
        thread = cuda.threadIdx.x
        for k in range(quotient.size):
            factor = scale[0] * rest[k]
            if thread == 0:
                quotient[k] = factor
            cuda.syncthreads()
            for j in range(thread, v.size, threads):
                rest[k + j] -= factor * v[j]
            cuda.syncthreads()

    return cuda.jit(divide, fma=False)


def _polydiv(u: Any, v: Any) -> tuple[DeviceNDArray, DeviceNDArray]:
    """Long division by one block. The host waits for how many of the rest's first coefficients are as good as 0."""
    x, y = _coefficients(u, v)
    if x.ndim != 1 or y.ndim != 1 or not x.size or not y.size:
        raise ShapeError(f"coefficients are arrays of one axis with elements, not of shapes {x.shape} and {y.shape}")
    context = x.context
    x, y = (n if n.dtype.kind in "fc" else n.astype(creation.default_float(context)) for n in (x, y))
    kind = np.result_type(x.dtype, y.dtype)
    held = np.dtype(np.float32) if kind == np.float16 else kind
    scale = apply(np.divide, 1.0, y._view(slice(None, 1))).astype(held, copy=False)
    rest, divisor = x.astype(held), y.astype(held, copy=False)
    if x.size >= y.size:
        with context.unsettled:
            threads = threads_of(context.capabilities)
            quotient = device_array(x.size - y.size + 1, held, context=context)
            ready.launch(_division_kernel(threads), 1, threads, (rest, divisor, scale, quotient))
    else:
        quotient = filled((1,), 0, held, context)
    rest = rest.astype(kind, copy=False)
    counts = primitives.flatnonzero(apply(np.logical_not, apply(np.less_equal, apply(np.absolute, rest), _NOTHING)))
    begin = int(counts[0]) if counts.size else rest.size - 1
    return quotient.astype(kind, copy=False), rest[begin:]


def _polyder(p: Any, m: int = 1) -> DeviceNDArray:
    if m < 0:
        raise ShapeError(f"a polynomial is derived m times, not {m}")
    (x,) = _coefficients(p)
    for _ in range(m):
        powers = creation.arange(len(x) - 1, 0, -1, device=x.context.device)
        x = apply(np.multiply, x._view(slice(None, -1)), powers)
    return x


def _polyint(p: Any, m: int = 1, k: Any = None) -> DeviceNDArray:
    if m < 0:
        raise ShapeError(f"a polynomial is integrated m times, not {m}")
    (x,) = _coefficients(p)
    constants = np.zeros(m) if k is None else np.atleast_1d(np.asarray(k))
    constants = constants.repeat(m) if constants.size == 1 and m > 1 else constants
    if constants.size < m:
        raise ShapeError(f"{constants.size} constants are given for {m} integrals")
    for n in range(m):
        powers = creation.arange(len(x), 0, -1, device=x.context.device)
        divided = apply(np.true_divide, x, powers)
        x = manipulation.concat([divided, array_of(constants[n : n + 1], x.context)])
    return x


def _polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """Least squares by singular values of the scaled Vandermonde matrix, the shortest ones of those without full rank.

    The host waits for the rank, and warns as NumPy does where it is not full.
    """
    places, values = arrays_of((x, y))
    order = int(deg) + 1
    fits = places.ndim == 1 and places.size and values.ndim in (1, 2) and values.shape[:1] == places.shape
    if order < 1 or not fits:
        raise ShapeError(f"no polynomial of degree {deg} is fit to places {places.shape} and values {values.shape}")
    real = creation.default_float(places.context)
    places, right = (x if x.dtype.kind in "fc" else x.astype(real) for x in (places, values))
    left = call("vander", places, order)
    if w is not None:
        weights = array_of(w, places.context)
        weights = weights if weights.dtype.kind in "fc" else weights.astype(real)
        if weights.shape != places.shape:
            raise ShapeError(f"weights of shape {weights.shape} are not those of {places.size} places")
        left = apply(np.multiply, left, weights.reshape(-1, 1))
        right = apply(np.multiply, right, weights.reshape(-1, 1) if right.ndim == 2 else weights)
    scale = apply(np.sqrt, functions.reduce(np.add, apply(np.square, apply(np.absolute, left)), 0))
    left = apply(np.divide, left, scale).copy()
    least = places.size * float(np.finfo(places.dtype).eps) if rcond is None else rcond
    found, residuals, rank, singular_values = call("linalg.lstsq", left, right, least)
    across = scale.reshape(-1, 1) if found.ndim == 2 else scale
    fitted = apply(np.divide, found, across)
    if full:
        return fitted, residuals, rank, singular_values, least
    if int(rank) != order:
        notices.warn("Polyfit may be poorly conditioned", np.exceptions.RankWarning)
    if not cov:
        return fitted
    inverse = inv(products.matmul(left.T.conj(), left))
    inverse = apply(np.divide, inverse, apply(np.multiply, scale.reshape(-1, 1), scale))
    inverse = inverse if right.ndim == 1 else inverse[:, :, None]
    if cov == "unscaled":
        return fitted, inverse
    if places.size <= order:
        raise ShapeError(f"{places.size} points are too few for the covariances of {order} coefficients")
    apart = apply(np.subtract, right, products.matmul(left, found))
    factor = apply(np.divide, functions.reduce(np.add, apply(np.square, apart), 0), places.size - order)
    return fitted, apply(np.multiply, inverse, factor)


register("polyval", _polyval, frozenset())
register("polyadd", _of_sum(np.add), frozenset())
register("polysub", _of_sum(np.subtract), frozenset())
register("polymul", _polymul, frozenset())
register("polydiv", _polydiv, frozenset())
register("polyder", _polyder, frozenset({"m"}))
register("polyint", _polyint, frozenset({"m", "k"}))
register("polyfit", _polyfit, frozenset({"deg", "rcond", "full", "w", "cov"}))

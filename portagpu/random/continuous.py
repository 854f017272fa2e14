"""Real numbers of a generator, under NumPy's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.errors import ArgumentRangeError, ArgumentValueError
from portagpu.expressions.apply import apply
from portagpu.random import draws, samplers
from portagpu.random.drawing import Drawing
from portagpu.random.draws import Source
from portagpu.random.targets import NOT_NEGATIVE, POSITIVE, as_dtype, parameter
from portagpu.runtime.arrays.array import DeviceNDArray


class Continuous(Drawing):
    """Uniform, normal, exponential and other real numbers.

    Parameters are numbers or arrays, which broadcast with each other and with ``size``, an int or a tuple. ``dtype``:
    float32 or float64, by default that of ``out``, else float64 where the device has it. ``out``: a device array that
    gets the numbers. Each raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, and `ArgumentValueError` for numbers
    and host arrays of parameters out of range; of device arrays elements out of range give NaN or any number.
    """

    def random(self, size: Any = None, dtype: Any = None, out: Any = None) -> DeviceNDArray:
        """Uniform in [0, 1): multiples of 2**-24 (float32), of 2**-53 (float64)."""
        return self._drawn(draws.unit, 0.0, 1.0, size, dtype, out)

    def uniform(
        self, low: Any = 0.0, high: Any = 1.0, size: Any = None, dtype: Any = None, out: Any = None
    ) -> DeviceNDArray:
        """Uniform from ``low`` to ``high``: ``low + (high - low) * random()``.

        Raises `ArgumentRangeError` for ranges that are not finite, `ArgumentValueError` for negative ones; ranges on a
        device are not looked at.
        """
        first, last = parameter("low", low), parameter("high", high)
        if isinstance(first, DeviceNDArray) or isinstance(last, DeviceNDArray):
            return self._drawn(draws.uniform, first, apply(np.subtract, last, first), size, dtype, out)
        return self._drawn(draws.uniform, first, _range(first, last), size, dtype, out)

    def standard_normal(self, size: Any = None, dtype: Any = None, out: Any = None) -> DeviceNDArray:
        """Normally distributed with mean 0 and deviation 1."""
        return self._drawn(draws.scaled, 0.0, 1.0, size, dtype, out, Source.NORMALS)

    def normal(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = None, out: Any = None
    ) -> DeviceNDArray:
        """Normally distributed with mean ``loc`` and deviation ``scale``."""
        mean, deviation = parameter("loc", loc), parameter("scale", scale, NOT_NEGATIVE)
        return self._drawn(draws.scaled, mean, deviation, size, dtype, out, Source.NORMALS)

    def lognormal(
        self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, dtype: Any = None, out: Any = None
    ) -> DeviceNDArray:
        """The exponential of normal numbers of a mean and a deviation."""
        loc, scale = parameter("mean", mean), parameter("sigma", sigma, NOT_NEGATIVE)
        if isinstance(loc, float) and isinstance(scale, float):
            return self._drawn(draws.scaled_exponent, loc, scale, size, dtype, out, Source.NORMALS)
        return self._stored(apply(np.exp, self.normal(loc, scale, size, _dtype(dtype, out))), out)

    def standard_exponential(self, size: Any = None, dtype: Any = None, out: Any = None) -> DeviceNDArray:
        """Exponentially distributed with mean 1."""
        return self._drawn(draws.exponential, 0.0, 1.0, size, dtype, out)

    def exponential(self, scale: Any = 1.0, size: Any = None, dtype: Any = None, out: Any = None) -> DeviceNDArray:
        """Exponentially distributed with mean ``scale``."""
        return self._drawn(draws.exponential, 0.0, parameter("scale", scale, NOT_NEGATIVE), size, dtype, out)

    def laplace(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = None, out: Any = None
    ) -> DeviceNDArray:
        """Exponentially distributed on both sides of ``loc``."""
        return self._placed(draws.laplace, loc, scale, size, dtype, out)

    def logistic(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = None, out: Any = None
    ) -> DeviceNDArray:
        """Of the logistic distribution."""
        return self._placed(draws.logistic, loc, scale, size, dtype, out)

    def gumbel(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = None, out: Any = None
    ) -> DeviceNDArray:
        """Of the extreme values' distribution of type I, for maxima."""
        return self._placed(draws.gumbel, loc, scale, size, dtype, out)

    def standard_cauchy(self, size: Any = None, dtype: Any = None, out: Any = None) -> DeviceNDArray:
        """Of Cauchy's distribution, the quotient of two normal numbers."""
        return self._drawn(draws.cauchy, 0.0, 1.0, size, dtype, out)

    def cauchy(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = None, out: Any = None
    ) -> DeviceNDArray:
        """Of Cauchy's distribution around ``loc``."""
        return self._placed(draws.cauchy, loc, scale, size, dtype, out)

    def rayleigh(self, scale: Any = 1.0, size: Any = None, dtype: Any = None, out: Any = None) -> DeviceNDArray:
        """The length of a vector of two normal numbers of deviation ``scale``."""
        found = parameter("scale", scale, NOT_NEGATIVE)
        if isinstance(found, float):
            return self._drawn(draws.exponential_power, found * 2**0.5, 0.5, size, dtype, out)
        made = self.standard_exponential(_size(size, found), _dtype(dtype, out))
        return self._stored(
            apply(np.multiply, apply(np.sqrt, apply(np.multiply, made, 2.0)), as_dtype(found, made.dtype)), out
        )

    def weibull(self, a: Any, size: Any = None, dtype: Any = None, out: Any = None) -> DeviceNDArray:
        """Of Weibull's distribution of shape ``a`` and scale 1."""
        found = parameter("a", a, POSITIVE)
        if isinstance(found, float):
            return self._drawn(draws.exponential_power, 1.0, 1 / found, size, dtype, out)
        made = self.standard_exponential(_size(size, found), _dtype(dtype, out))
        return self._stored(apply(np.power, made, apply(np.divide, 1.0, as_dtype(found, made.dtype))), out)

    def pareto(self, a: Any, size: Any = None, dtype: Any = None, out: Any = None) -> DeviceNDArray:
        """Of Lomax's distribution of shape ``a``, which begins at 0."""
        found = parameter("a", a, POSITIVE)
        if isinstance(found, float):
            return self._drawn(draws.pareto, 0.0, 1 / found, size, dtype, out)
        made = self.standard_exponential(_size(size, found), _dtype(dtype, out))
        return self._stored(apply(np.expm1, apply(np.divide, made, as_dtype(found, made.dtype))), out)

    def power(self, a: Any, size: Any = None, dtype: Any = None, out: Any = None) -> DeviceNDArray:
        """In [0, 1], with a density that grows as ``x**(a - 1)``."""
        found = parameter("a", a, POSITIVE)
        if isinstance(found, float):
            return self._drawn(draws.power, 0.0, 1 / found, size, dtype, out)
        made = self.standard_exponential(_size(size, found), _dtype(dtype, out))
        return self._stored(apply(np.exp, apply(np.negative, apply(np.divide, made, as_dtype(found, made.dtype)))), out)

    def standard_gamma(self, shape: Any, size: Any = None, dtype: Any = None, out: Any = None) -> DeviceNDArray:
        """Of the gamma distribution of a shape, with scale 1."""
        return self.gamma(shape, 1.0, size, dtype, out)

    def gamma(
        self, shape: Any, scale: Any = 1.0, size: Any = None, dtype: Any = None, out: Any = None
    ) -> DeviceNDArray:
        """Of the gamma distribution of a shape and a scale."""
        a, b = parameter("shape", shape, NOT_NEGATIVE), parameter("scale", scale, NOT_NEGATIVE)
        return self._continuous(samplers.gamma, a, b, size, dtype, out)

    def chisquare(self, df: Any, size: Any = None, dtype: Any = None, out: Any = None) -> DeviceNDArray:
        """Sums of ``df`` squares of normal numbers."""
        found = parameter("df", df, POSITIVE)
        a = found / 2 if isinstance(found, float) else apply(np.divide, found, 2.0)
        return self._continuous(samplers.gamma, a, 2.0, size, dtype, out)

    def beta(self, a: Any, b: Any, size: Any = None, dtype: Any = None, out: Any = None) -> DeviceNDArray:
        """Of the beta distribution."""
        first, second = parameter("a", a, POSITIVE), parameter("b", b, POSITIVE)
        return self._continuous(samplers.beta, first, second, size, dtype, out)

    def standard_t(self, df: Any, size: Any = None, dtype: Any = None, out: Any = None) -> DeviceNDArray:
        """Of Student's t distribution of ``df`` degrees of freedom."""
        return self._continuous(samplers.student, parameter("df", df, POSITIVE), 1.0, size, dtype, out)

    def _placed(self, one: Any, loc: Any, scale: Any, size: Any, dtype: Any, out: Any) -> DeviceNDArray:
        at, wide = parameter("loc", loc), parameter("scale", scale, NOT_NEGATIVE)
        return self._drawn(one, at, wide, size, dtype, out)

    def _stored(self, made: DeviceNDArray, out: DeviceNDArray | None) -> DeviceNDArray:
        if out is None:
            return made
        out.copy_to_device(made)
        return out


def _range(low: Any, high: Any) -> Any:
    """The distance of numbers or host arrays. Raises `ArgumentRangeError`, `ArgumentValueError`."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.subtract(high, low, dtype=np.float64)
    if not np.isfinite(found).all():
        raise ArgumentRangeError("the range of uniform numbers, high - low, is not finite")
    if (found < 0).any():
        raise ArgumentValueError("the range of uniform numbers, high - low, is negative")
    return found if found.ndim else float(found)


def _dtype(dtype: Any, out: Any) -> Any:
    return out.dtype if dtype is None and isinstance(out, DeviceNDArray) else dtype


def _size(size: Any, value: Any) -> Any:
    return value.shape if size is None else size

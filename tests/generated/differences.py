"""Known differences: what a device's driver does otherwise, and where kernels differ from NumPy everywhere.

`docs/differences.md` is made of these tables (``PORTAGPU_UPDATE_GOLDEN=1 pytest tests/generated``). The tests let
through what `DRIVERS` lists, and nothing else; `LANGUAGE` tells why references and operands are chosen as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from operands import Array

from portagpu.device import DeviceRecord


@dataclass(frozen=True, kw_only=True)
class DriverDifference:
    """Results of one driver that differ from the others'."""

    platform: str  # part of the platform's name
    functions: tuple[str, ...]  # names of cases
    operands: str
    result: str
    reason: str
    where: Callable[..., Array]  # mask of operands


@dataclass(frozen=True, kw_only=True)
class LanguageDifference:
    """What is otherwise than in NumPy or Python on every device."""

    what: str
    kernels: str
    numpy: str
    reason: str


def _whole(x: Array) -> Array:
    return np.asarray((x == np.rint(x)) & (x != 0))


def _subnormal(*numbers: Array) -> Array:
    small = [(n != 0) & (np.abs(n) < np.finfo(np.float32).tiny) for n in numbers]
    return np.asarray(np.logical_or.reduce(small))


DRIVERS: tuple[DriverDifference, ...] = (
    DriverDifference(
        platform="Portable Computing Language",
        functions=("cuda.libdevice.sinpi", "cuda.libdevice.sinpif"),
        operands="odd whole numbers",
        result="a zero of the other sign: `sinpi(1.0)` is -0.0",
        reason="the driver's sinpi reflects the argument; zeros compare equal",
        where=_whole,
    ),
    DriverDifference(
        platform="NVIDIA",
        functions=("cuda.atomic.add", "cuda.atomic.sub"),
        operands="float32 in global memory, subnormal numbers or results",
        result="zeros in their place",
        reason="the hardware's atom.add.f32 flushes them, as on CUDA; shared memory keeps them",
        where=_subnormal,
    ),
)

LANGUAGE: tuple[LanguageDifference, ...] = (
    LanguageDifference(
        what="Python's operators `+`, `-`, `*` of bools",
        kernels="int64; `np.add` and `np.multiply` as in NumPy",
        numpy="logical or and and; `-` is an error",
        reason="as in Python and CUDA-Python",
    ),
    LanguageDifference(
        what="functions of integers, such as `np.sin(int8)`",
        kernels="float64 (float32 on devices without it)",
        numpy="float16, float32 or float64, by the integer's size",
        reason="as in Python and CUDA-Python; float16 has few digits",
    ),
    LanguageDifference(
        what="float to integer, nan or out of range",
        kernels="any number",
        numpy="any number, with a warning",
        reason="undefined in C; CUDA saturates, CPUs do not, and a check would slow every conversion",
    ),
    LanguageDifference(
        what="integer to a negative integer power",
        kernels="1 and -1 for bases 1 and -1, else 0",
        numpy="an error",
        reason="kernels raise no exceptions; a constant negative exponent gives a float",
    ),
    LanguageDifference(
        what="functions where Python raises, such as `math.log(-1)`, `math.gamma(0)`, `math.exp(1e9)`",
        kernels="nan or an infinity, as in C",
        numpy="NumPy: the same; `math`: ValueError or OverflowError",
        reason="kernels raise no exceptions",
    ),
    LanguageDifference(
        what="`math.isqrt`, `gcd`, `lcm`, `comb`, `perm`, `factorial` out of their domain, or beyond 64 bits",
        kernels="0; the lower 64 bits, of `comb` 0",
        numpy="ValueError; integers of any size",
        reason="kernels raise no exceptions; integers have 64 bits",
    ),
    LanguageDifference(
        what="`np.round` of integers to negative digits",
        kernels="exact",
        numpy="wrong beyond 2^53, since it divides in float64",
        reason="Python's `round` is exact, too",
    ),
    LanguageDifference(
        what="`np.round(x, n)` of large floats",
        kernels="x, where the scaled number would overflow",
        numpy="inf",
        reason="Python's `round` does the same",
    ),
    LanguageDifference(
        what="`np.spacing` of a negative float16",
        kernels="negative, as of other floats",
        numpy="positive",
        reason="NumPy treats float16 apart",
    ),
    LanguageDifference(
        what="a product and a sum, such as `a[i] * b[i] + c[i]`, of floats",
        kernels="rounded once or twice; `cuda.jit(fma=False)`: twice. Expressions of device arrays: twice",
        numpy="rounded twice",
        reason="compilers fuse them, as on CUDA: faster, and mostly more accurate",
    ),
    LanguageDifference(
        what="sign of a zero from `minimum`, `maximum`, `fmin`, `fmax`, `clip` of 0.0 and -0.0",
        kernels="either",
        numpy="either",
        reason="C and IEEE 754 leave it open",
    ),
    LanguageDifference(
        what="complex products and quotients of infinities and nans",
        kernels="infinities or nans in either part",
        numpy="the same, in other parts",
        reason="C's Annex G leaves more than one result",
    ),
    LanguageDifference(
        what="`math.lgamma` near its zeros (1, 2, and negative numbers)",
        kernels="fewer digits",
        numpy="SciPy: all digits",
        reason="OpenCL and CUDA promise none there",
    ),
    LanguageDifference(
        what="`np.sinc`",
        kernels="as accurate as the sine of the rounded product",
        numpy="the same in its own precision",
        reason="near whole numbers the rounding of `pi * x` decides",
    ),
    LanguageDifference(
        what="`1 + math.tanh(x)`, `1 + math.erf(x)`, in one expression, in float32",
        kernels="one function: exact near 0, too (1e-9 for x = -10.4)",
        numpy="what is left of a function near -1 that was rounded: few digits, or 0",
        reason="activations are made of them; one power is a third of the instructions",
    ),
)


def excused(device: DeviceRecord, name: str, operands: tuple[Array, ...], bad: Array) -> Array:
    """Wrong results that the table lists for this device."""
    mask = np.zeros_like(bad)
    for difference in DRIVERS:
        if difference.platform in device.platform and name in difference.functions:
            mask |= bad & difference.where(*operands)
    return mask


def document() -> str:
    """The text of `docs/differences.md`."""
    lines = [
        "# Differences between devices, and from NumPy",
        "",
        "This file is made from the exceptions of the generated tests (`tests/generated/differences.py`): every",
        "operator and function of kernels, for all dtypes, with edge and random values, gives NumPy's or Python's",
        "result on every device but for these. Functions that are not exact stay within the limits of OpenCL's",
        "embedded profile (`tests/generated/accuracy.py`), so that their last digits differ from device to device.",
        "Signs and bits of nans are not compared.",
        "",
        "## Of single drivers",
        "",
        "| driver | functions | operands | result | reason |",
        "| --- | --- | --- | --- | --- |",
    ]
    for one in DRIVERS:
        functions = ", ".join(f"`{name}`" for name in one.functions)
        lines.append(f"| {one.platform} | {functions} | {one.operands} | {one.result} | {one.reason} |")
    lines += [
        "",
        "## On every device",
        "",
        "| | in kernels | NumPy or Python | reason |",
        "| --- | --- | --- | --- |",
    ]
    lines += [f"| {one.what} | {one.kernels} | {one.numpy} | {one.reason} |" for one in LANGUAGE]
    return "\n".join(lines) + "\n"

"""Cases of `cuda.libdevice`'s functions of more than one operation."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from accuracy import ROUNDED, within
from cases import Case, Reference, always, wide
from directed_cases import bit_cases, directed_cases
from elsewhere import BESSEL
from operands import Array
from references import erfcx, normcdf, rounded_away
from scipy import special

from portagpu import cuda
from portagpu.frontend.library.libdevice import compound as table

# from CUDA's table of double-precision functions and its single-precision one ("Mathematical Functions"): ulp
_CUDA: dict[str, tuple[float, float]] = {
    "rcbrt": (1, 1),
    "erfinv": (5, 2),
    "erfcinv": (6, 4),
    "erfcx": (4, 4),
    "normcdf": (5, 5),
    "normcdfinv": (8, 5),
}


def _erfcinv(y: Array) -> Array:
    """SciPy's own gives infinity for the smallest numbers: of small ones, from the logarithm."""
    y = y.astype(np.float64)
    return np.where((y > 0) & (y < 0.1), -special.ndtri_exp(np.log(y) - np.log(2)) / np.sqrt(2), special.erfcinv(y))


_SIGNLESS = ("erfcinv", "normcdfinv")  # the sign of their zero in the middle means nothing
_SPECIAL: dict[str, Reference] = {
    "rcbrt": wide(lambda x: 1 / np.cbrt(x)),
    "erfinv": lambda x: np.copysign(special.erfinv(x.astype(np.float64)), x),
    "erfcinv": _erfcinv,
    "erfcx": erfcx,
    "normcdf": normcdf,
    "normcdfinv": lambda x: special.ndtri(x.astype(np.float64)),
}


def _limit(name: str) -> Callable[[str], float]:
    double, single = _CUDA[name]
    return lambda dtype: double if dtype == "float64" else single


def _sad(x: Array, y: Array, z: Array) -> Array:
    low = [(abs(a - b) + c) % 2**32 for a, b, c in zip(x.tolist(), y.tolist(), z.tolist(), strict=True)]
    return np.array(low, np.uint32).astype(np.int32)


def _byte_perm(x: Array, y: Array, selector: Array) -> Array:
    found = []
    for a, b, s in zip(x.tolist(), y.tolist(), selector.tolist(), strict=True):
        pool = a.to_bytes(4, "little") + b.to_bytes(4, "little")
        found.append(int.from_bytes(bytes(pool[s >> 4 * n & 7] for n in range(4)), "little", signed=True))
    return np.array(found, np.int32)


def _remquo(x: Array, y: Array) -> tuple[Array, Array]:
    """Remainder and quotient from exact fractions."""
    rest, quotients = np.full(x.shape, np.nan, x.dtype), np.zeros(x.shape, np.int32)
    for i, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        if np.isnan(a) or np.isnan(b) or np.isinf(a) or b == 0:
            continue
        whole = 0 if np.isinf(b) else round(Fraction(a) / Fraction(b))
        left = a if np.isinf(b) else float(Fraction(a) - whole * Fraction(b))
        rest[i] = np.copysign(left, a) if left == 0 else left
        quotients[i] = (abs(whole) & 7) * (-1 if whole < 0 else 1)
    return rest, quotients


def _case(name: str, reference: Reference, operands: tuple[str, ...], result: Any, **how: Any) -> Case:
    found = tuple(map(always, result)) if isinstance(result, tuple) else always(result)
    return Case(
        function=getattr(cuda.libdevice, name),
        covers=(f"libdevice.{name}",),
        reference=reference,
        operands=(operands,),
        result=found,
        **how,
    )


def _in_int64(x: Array) -> Array:
    return np.isfinite(x) & (np.abs(x) < 2.0**63)


def compound_cases() -> list[Case]:
    """All of them."""
    found = [
        _case("sad", _sad, ("int32",) * 3, "int32"),
        _case("usad", _sad, ("uint32",) * 3, "int32"),
        _case("byte_perm", _byte_perm, ("uint32",) * 3, "int32"),
        _case("saturatef", lambda x: np.fmin(np.fmax(x, 0), 1), ("float32",), "float32", zero_signs=False),
        _case("frsqrt_rn", wide(lambda x: 1 / np.sqrt(x)), ("float32",), "float32", ulps=within(ROUNDED)),
    ]
    for kind, end, letter in (("float64", "", "d"), ("float32", "f", "f")):
        found += [
            _case(name + end, reference, (kind,), kind, ulps=_limit(name), zero_signs=name not in _SIGNLESS)
            for name, reference in _SPECIAL.items()
        ]
        found += [
            _case(f"{letter}rcp_rn", np.reciprocal, (kind,), kind),
            _case("frexp" + end, np.frexp, (kind,), (kind, "int32"), fair=np.isfinite),
            _case("remquo" + end, _remquo, (kind, kind), (kind, "int32")),
            _case("llrint" + end, lambda x: np.rint(x).astype(np.int64), (kind,), "int64", fair=_in_int64),
            _case("llround" + end, lambda x: rounded_away(x).astype(np.int64), (kind,), "int64", fair=_in_int64),
        ]
    found += [*directed_cases(), *bit_cases()]
    covered = {case.function.name.removeprefix("libdevice.") for case in found}
    assert covered | set(BESSEL) == set(table.NAMES), covered ^ set(table.NAMES)
    return found

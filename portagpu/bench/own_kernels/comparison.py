"""How far an array is from the one that was expected."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_ROUNDINGS, _OF_16_BITS = 100, 10  # of the array's dtype, that are allowed where nobody says otherwise
_BRAIN, _ROUNDING_OF_BRAIN = "bfloat16", 2.0**-7  # which NumPy does not know


def error_of(found: Any, expected: np.ndarray[Any, Any], tolerance: float | None) -> float:
    """The largest error relative to the tolerance, which is relative to the largest magnitude that is expected.

    Without a tolerance integers must be equal. Infinities and what is no number are right where they are expected.
    """
    found = np.asarray(found)
    allowed = _allowed(found.dtype) if tolerance is None else tolerance
    if allowed is None:
        return 0.0 if np.array_equal(found, expected) else math.inf
    wide = np.complex128 if "c" in found.dtype.kind + expected.dtype.kind else np.float64
    ours, theirs = found.astype(wide), expected.astype(wide)
    equal = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    with np.errstate(invalid="ignore"):  # infinities of different signs
        worst = float(np.max(np.abs(ours - theirs), initial=0.0, where=~equal))
    scale = float(np.max(np.abs(theirs), initial=0.0, where=np.isfinite(theirs)))
    return worst / (allowed * scale) if scale and allowed else 0.0 if worst == 0 else math.inf


def _allowed(dtype: np.dtype[Any]) -> float | None:
    """The tolerance of a dtype's own; None for what must be equal."""
    if dtype.name == _BRAIN:
        return _OF_16_BITS * _ROUNDING_OF_BRAIN
    if dtype.kind not in "fc":
        return None
    return (_OF_16_BITS if dtype.itemsize == 2 else _ROUNDINGS) * float(np.finfo(dtype).eps)


__all__ = ["error_of"]

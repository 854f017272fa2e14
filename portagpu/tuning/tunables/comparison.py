"""The default verification: each element of a result against what is expected there."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.errors import TuningError
from portagpu.tuning.tunables.user_faults import words_of

_RTOL = 1e-5  # where either is a floating-point number; whole numbers are compared exactly
_INEXACT = "fcV"  # kinds of dtypes: V, without fields, is bfloat16
_NO_NUMBERS = "OSU"
Array = np.ndarray[Any, Any]


def expected_array(name: str, wanted: Any, output: Array) -> Array:
    """What is expected of an output, as an array of its shape. Raises `TuningError` for what cannot be compared."""
    fields = sorted(output.dtype.names or ())
    try:
        found: Array = (
            wanted if isinstance(wanted, np.ndarray) else np.asarray(wanted, output.dtype if fields else None)
        )
    except (TypeError, ValueError) as error:
        raise TuningError(
            f"what is expected of {name} is no array: {words_of(error)}", hint="give an array like the output"
        ) from error
    if np.ma.is_masked(found):
        raise TuningError(
            f"what is expected of {name} has masked elements, which say nothing", hint="give all, or a check= function"
        )
    if found.shape != output.shape:
        raise TuningError(
            f"what is expected of {name} has shape {found.shape}, the output has {output.shape}",
            hint="give an array of the output's shape: np.broadcast_to(x, shape), or x.reshape(shape)",
        )
    comparable = found.dtype.kind == output.dtype.kind or found.dtype.kind not in _NO_NUMBERS
    if sorted(found.dtype.names or ()) != fields or not comparable:
        raise TuningError(
            f"what is expected of {name} is {found.dtype}, the output is {output.dtype}",
            hint=f"give an array of {output.dtype}",
        )
    return found


def difference(name: str, found: Array, expected: Array, rtol: float | None, atol: float | None) -> str | None:
    """Where a result is not as expected, in words; None where it is.

    Records are compared field by field. None for both tolerances: floating-point numbers may differ by a little,
    everything else is equal. Raises what NumPy raises where the two cannot be compared.
    """
    close = _close(found, expected, rtol, atol)
    if close.all():
        return None
    at = tuple(int(i) for i in np.argwhere(~close)[0])
    return f"{name}{list(at)} is {found[at]}, not {expected[at]}; {int((~close).sum())} elements differ"


def _close(found: Array, expected: Array, rtol: float | None, atol: float | None) -> Array:
    """Where two arrays of one shape agree."""
    if found.dtype.names is not None:
        close = np.ones(found.shape, bool)
        for field in found.dtype.names:
            same = _close(found[field], expected[field], rtol, atol)
            close &= same.all(axis=tuple(range(found.ndim, same.ndim)))  # a field may be an array
        return close
    if found.dtype.kind in "mM":
        return np.asarray((found == expected) | (np.isnat(found) & np.isnat(expected)))
    whole = not {found.dtype.kind, expected.dtype.kind} & set(_INEXACT)
    if whole and rtol is None and atol is None:
        return np.asarray(found == expected)
    least = 0.0 if whole else _RTOL
    within = {"rtol": least if rtol is None else rtol, "atol": 0.0 if atol is None else atol}
    return np.asarray(np.isclose(found, expected, **within, equal_nan=True))

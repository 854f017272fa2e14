"""Errors beside SciPy's: the same condition of the same argument, in SciPy's words."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import blas, errors

scipy_blas = pytest.importorskip("scipy.linalg.blas")
pytestmark = pytest.mark.one_device

_X = np.ones(3, np.float32)
_A = np.asfortranarray(np.ones((3, 3), np.float32))
_VECTORS = {"saxpy": (_X, _X), "scopy": (_X, _X), "sdot": (_X, _X), "snrm2": (_X,), "sasum": (_X,), "isamax": (_X,)}
_VECTORS |= {"sswap": (_X, _X), "sscal": (2, _X), "srot": (_X, _X, 0.5, 0.5)}
_CASES = [
    *(
        (name, operands, keywords)
        for name, operands in _VECTORS.items()
        for keywords in ({"n": 4}, {"n": 3, "incx": 2}, {"incx": 0}, {"offx": 5}, {"offx": -1})
    ),
    *(("saxpy", (_X, _X), keywords) for keywords in ({"incy": 0}, {"offy": 3})),
    *(
        ("sgemv", (1, _A, _X), keywords)
        for keywords in ({"incx": 2}, {"incx": 0}, {"trans": 3}, {"y": _X, "offy": 1}, {"y": _X, "incy": 2})
    ),
    ("strsv", (_A[:2], _X), {}),
    ("strmv", (_A, _X), {"offx": 3}),
    ("ssyr", (1, _X), {"n": 4}),
    ("sgemm", (1, _A, _A), {"trans_a": 4}),
]


@pytest.mark.parametrize(("name", "operands", "keywords"), _CASES, ids=lambda x: x if isinstance(x, str) else "")
def test_failed_conditions(name, operands, keywords):
    with pytest.raises(Exception, match="failed for") as theirs:
        getattr(scipy_blas, name)(*operands, **keywords)
    with pytest.raises(errors.PortaGPUError) as ours:
        getattr(blas, name)(*operands, **keywords)
    ending = str(theirs.value).partition(" failed for ")[2].partition(":")[0]
    assert f" failed for {ending}" in str(ours.value), (str(theirs.value), str(ours.value))

"""Joined arrays in a dtype that `dtype=` or `out=` names: each part is cast from its own, as NumPy does."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import ArgumentTypeError, DTypeError

_PARTS = {
    "?": [True, False],
    "b": [-7, 100],
    "q": [2**62 + 1, -5],
    "Q": [2**63 + 1025, 7],
    "e": [1.5, 2],
    "f": [2.0**24, 3],
    "d": [2.0**53, 0.1],
    "D": [1 + 2j, 3],
}
_JOINS = {
    "concatenate": lambda x, y, **options: np.concatenate([x, y], **options),
    "flat": lambda x, y, **options: np.concatenate([x, y], axis=None, **options),
    "stack": lambda x, y, **options: np.stack([x, y], axis=1, **options),
    "hstack": lambda x, y, **options: np.hstack([x, y], **options),
    "vstack": lambda x, y, **options: np.vstack([x, y], **options),
}


def _outcome(call):
    try:
        with np.errstate(all="ignore"):
            return call()
    except TypeError as error:
        return error


@pytest.mark.one_device
@pytest.mark.parametrize("kind", "qQfd")
def test_dtypes_and_castings(device, kind):
    for (a, b), casting in itertools.product(itertools.product(_PARTS, repeat=2), ("same_kind", "unsafe", "safe")):
        if "D" in (a, b) and casting == "unsafe":
            continue  # which NumPy warns of, and is refused here
        if kind == "Q" and casting == "unsafe" and {a, b} & {"e", "f", "d"}:
            continue
        hosts = np.array(_PARTS[a], a), np.array(_PARTS[b], b)
        parts = [cuda.to_device(x) for x in hosts]
        for name in _JOINS if (a, b) in (("q", "Q"), ("q", "f")) else ("concatenate",):
            join = _JOINS[name]
            wanted = _outcome(lambda join=join, hosts=hosts, casting=casting: join(*hosts, dtype=kind, casting=casting))
            call = lambda join=join, parts=parts, casting=casting: join(*parts, dtype=kind, casting=casting)  # noqa: E731
            if isinstance(wanted, TypeError):
                with pytest.raises(DTypeError, match="cannot become"):
                    call()
                continue
            found = call()
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found.copy_to_host(), wanted)
            if name in ("concatenate", "stack"):
                out = cuda.to_device(np.zeros_like(wanted))
                assert join(*parts, out=out, casting=casting) is out
                np.testing.assert_array_equal(out.copy_to_host(), wanted)


@pytest.mark.one_device
def test_without_a_dtype(device):
    x, y = (cuda.to_device(np.ones(2, kind)) for kind in "if")
    with pytest.raises(DTypeError, match="cannot become"):
        np.concatenate([x, y], casting="no")
    np.testing.assert_array_equal(np.concatenate([x, y], casting="safe").copy_to_host(), np.ones(4))
    with pytest.raises(ArgumentTypeError, match="dtype= and out="):
        np.stack([x, x], dtype="f", out=cuda.to_device(np.zeros((2, 2))))
    with pytest.raises(ArgumentTypeError, match="out="):
        np.concatenate([x, x], out=np.zeros(4))

"""``==`` and ``!=`` with what is no number: NumPy's arrays of bools, or what the other object answers."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from portagpu import cuda


class _Plain:
    """Compares as all objects do."""


class _Own:
    """Answers itself."""

    def __eq__(self, other):
        return "its own =="

    def __ne__(self, other):
        return "its own !="

    __hash__ = None


class _Refusing(_Own):
    """Lets no array answer."""

    __array_ufunc__ = None


_ARRAYS = {
    "floats": np.arange(3.0),
    "bools": np.array([True, False]),
    "complex numbers": np.arange(3) + 1j,
    "no axes": np.array(2),
    "rows": np.arange(6, dtype=np.int8).reshape(2, 3)[:, ::-1],
    "nothing": np.zeros((0, 3)),
}
_OTHERS = (None, "abc", b"abc", _Plain(), _Plain, {}, {1: 2}, set(), np.str_("abc"), np.array("abc"), "", print, ...)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", _ARRAYS)
def test_nothing_equals_what_is_no_number(device, name):
    host = _ARRAYS[name]
    x = cuda.to_device(host)
    for compared in (operator.eq, operator.ne):
        for other in (
            *_OTHERS,
            np.array(["a"] * host.size).reshape(host.shape),
            ["a"] * max(host.shape[-1:], default=0),
        ):
            answers = [(compared(x, other), compared(host, other))]
            if not isinstance(other, np.ndarray | np.generic):  # on the left these ask numpy.equal, which refuses texts
                answers.append((compared(other, x), compared(other, host)))
            for found, wanted in answers:
                assert isinstance(found, cuda.devicearray.DeviceNDArray), other
                assert found.dtype == bool
                np.testing.assert_array_equal(found.copy_to_host(), wanted, err_msg=repr(other))
    for other in (None, "abc", _Plain()):
        assert (other in x) is (other in host)
        assert not (x == other).any().item()
        for ordered in (operator.lt, operator.ge, operator.add):
            with pytest.raises(TypeError):
                ordered(x, other)


def test_objects_with_answers_are_asked(device):
    x = cuda.to_device(np.arange(3.0))
    for other in (_Own(), _Refusing()):
        assert (x == other) == (other == x) == "its own =="
        assert (x != other) == (other != x) == "its own !="
    with pytest.raises(ValueError, match="broadcast"):
        x == [1, 2]  # noqa: B015
    np.testing.assert_array_equal((x == [0, 5, 2]).copy_to_host(), [True, False, True])

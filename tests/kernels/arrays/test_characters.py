"""Arrays of texts: copies, constants and comparisons."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda, errors

pytestmark = pytest.mark.one_device

TAG = np.dtype("S3")
NAMES = ["ab", "cde", "", "ab"]


@pytest.mark.parametrize("kind", [str, str.encode], ids=["U", "S"])
@pytest.mark.parametrize("place", [lambda x: x, cuda.to_device], ids=["host", "device"])
def test_elements_are_copied_and_compared(device, kind, place):
    names = np.array([kind(n) for n in NAMES])
    wanted, long, letter = kind("cde"), kind("much longer"), names.dtype.kind

    @cuda.jit
    def kernel(names, same, other, shorter, longer):
        i = cuda.grid(1)
        shorter[i] = names[i]
        longer[i] = names[i]
        same[i, 0] = names[i] == names[0]
        same[i, 1] = names[i] != other[i]
        same[i, 2] = names[i] == wanted
        same[i, 3] = long == names[i]
        if i == 2:
            longer[i] = wanted
            shorter[i] = long

    same = np.zeros((4, 4), bool)
    other = np.array([kind(n) for n in ("ab", "cdex", "", "abc")])
    shorter, longer = place(np.zeros(4, f"{letter}2")), place(np.full(4, kind("xxxxxx")))
    kernel[1, 4](place(names), same, other, shorter, longer)
    assert np.asarray(longer).tolist() == [kind(n) for n in ("ab", "cde", "cde", "ab")]
    assert np.asarray(shorter).tolist() == [kind(n) for n in ("ab", "cd", "mu", "ab")]
    equal = [(a == "ab", a != b, a == "cde", False) for a, b in zip(NAMES, ("ab", "cdex", "", "abc"), strict=True)]
    assert same.tolist() == [list(row) for row in equal]


def test_texts_in_records_and_local_arrays(device):
    kind = np.dtype([("count", "i4"), ("name", "U5"), ("tag", "S3")])

    @cuda.jit
    def kernel(rows):
        i = cuda.grid(1)
        held = cuda.local.array(2, TAG)
        held[0] = rows[i].tag
        if rows[i].name == "bob" and held[0] == b"x":
            rows[i].count = 7
        if i:
            rows[i].name = "second"
        else:
            rows[i].name = "first"
        rows[i].tag = b"yz"

    rows = np.array([(1, "bob", b"x"), (2, "al", b"x"), (3, "bob", b"xx")], kind)
    kernel[1, 3](rows)
    assert rows["count"].tolist() == [7, 2, 3]
    assert rows["name"].tolist() == ["first", "secon", "secon"]
    assert rows["tag"].tolist() == [b"yz"] * 3


def test_other_uses_are_errors(device):
    def number(names):
        names[0] = 5

    def mixed(names):
        names[1] = b"bytes"

    def order(names):
        if names[0] < names[1]:
            names[0] = "x"

    def kinds(names):
        if names[0] == 3:
            names[0] = "x"

    for function, text in (
        (number, "cannot store int"),
        (mixed, "cannot store the bytes"),
        (order, "cannot compare <U3 < <U3"),
        (kinds, "cannot compare <U3 with int"),
    ):
        with pytest.raises(errors.KernelTypeError, match=text):
            cuda.jit(function)[1, 1](np.array(["abc", "d"]))

"""Extents of arrays and of their views are Python integers: 64 bits beside other integers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from programs import define

from portagpu import cuda

VIEWS = {
    "argument": "m",
    "row": "m[1]",
    "row of rows": "c[1][0]",
    "column": "m[:, 1]",
    "part": "m[1:3]",
    "run-time part": "m[:n]",
    "steps": "m[::2, ::-1]",
    "transposed": "m[1:].T",
    "reshaped": "m.reshape(4, 6)",
    "inferred": "m.reshape(-1, 2)",
    "flat": "m.ravel()",
    "other dtype": "m.view(np.int8)",
    "field": 'r["v"][1:]',
    "local": "cuda.local.array((3, 5), np.int8)[1:]",
    "shared": "cuda.shared.array(7, np.int16)[n:]",
    "returned": "rest(m, n)",
}
EXTENTS = {
    "len": "len(v)",
    "first": "v.shape[0]",
    "last": "v.shape[-1]",
    "unpacked": "first(v.shape)",
    "size": "v.size",
    "np.shape": "np.shape(v)[0]",
    "np.size": "np.size(v)",
    "nbytes": "v.nbytes",
}
OTHERS = {"int8": 127, "uint8": 255, "int16": 32767, "uint16": 65535, "int32": 2**31 - 1, "uint32": 2**32 - 1}
COUNTERS = {
    "len": "for k in range(len(v)):\n        t += k + s",
    "enumerate": "for k, e in enumerate(v):\n        t += k + s",
    "ndindex": "for k in np.ndindex(v.shape):\n        t += k[0] + k[-1] + s",
    "ndenumerate": "for k, e in np.ndenumerate(v):\n        t += k[0] + k[-1] + s",
}
RECORD = np.dtype([("v", np.float32), ("w", np.int32)])


@cuda.jit(device=True)
def rest(m, n):
    return m[n:]


@cuda.jit(device=True)
def first(shape):
    one, *_others = shape
    return one + np.int8(0)


def arguments():
    return np.zeros((4, 6), np.int32), np.zeros((2, 3, 4), np.int32), np.zeros(5, RECORD), 2


def launched(lines, count, s):
    text = "def kernel(m, c, r, n, s, out):\n" + "".join(f"    {line}\n" for line in lines)
    out = np.zeros(count, np.int64)
    cuda.jit(define(text, "kernel", rest=rest, first=first))[1, 1](*arguments(), s, out)
    return out


class _Local:
    array = staticmethod(np.zeros)


class _Python:
    local = shared = _Local


def view_of(view):
    m, c, r, n = arguments()
    scope = {"m": m, "c": c, "r": r, "n": n, "np": np, "cuda": _Python, "rest": lambda m, n: m[n:]}
    return eval(VIEWS[view], scope)


@pytest.mark.parametrize("other", OTHERS)
def test_extents(device, other):
    pairs = list(itertools.product(VIEWS, EXTENTS))
    lines = []
    for n, (view, extent) in enumerate(pairs):
        lines += [
            f"v{n} = {VIEWS[view]}",
            f"out[{n}] = {EXTENTS[extent].replace('(v', f'(v{n}').replace('v.', f'v{n}.')} + s",
        ]
    found = launched(lines, len(pairs), np.dtype(other).type(OTHERS[other]))
    scope = {"np": np, "first": lambda shape: shape[0]}
    expected = [eval(EXTENTS[extent], scope | {"v": view_of(view)}) + OTHERS[other] for view, extent in pairs]
    assert [pairs[n] for n in range(len(pairs)) if found[n] != expected[n]] == []


@pytest.mark.parametrize("other", ["int8", "int32", "uint32"])
def test_counters(device, other):
    pairs = [p for p in itertools.product(VIEWS, COUNTERS) if p[1] != "enumerate" or view_of(p[0]).ndim == 1]
    lines = []
    for n, (view, counter) in enumerate(pairs):
        lines += [f"v = {VIEWS[view]}", "t = np.int64(0)", COUNTERS[counter], f"out[{n}] = t"]
    found = launched(lines, len(pairs), np.dtype(other).type(OTHERS[other]))
    expected = []
    for view, counter in pairs:
        names = {"v": view_of(view), "s": OTHERS[other], "t": 0, "np": np}
        exec(COUNTERS[counter], names)
        expected.append(names["t"])
    assert [pairs[n] for n in range(len(pairs)) if found[n] != expected[n]] == []

"""Random programs: what a kernel computes is what Python computes, what it promotes is what NumPy promotes."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kernel_samples import INTEGERS, samples
from programs import Expression, Program, define

from portagpu import cuda

_SEEDS = st.integers(0, 2**32)
_X = np.array([3, -7, 12, 0, 255, -1, 40, 8, -100, 66, 5], np.int64)


@given(seed=_SEEDS)
def test_programs(device, seed):
    text = Program(Random(seed)).text()
    program = define(text, "program")
    function = cuda.jit(device=True)(program)

    @cuda.jit
    def kernel(x, whole, halves):
        i = cuda.grid(1)
        whole[i, 0], whole[i, 1], whole[i, 2], halves[i] = function(i, x)

    whole, halves = np.zeros((_X.size, 3), np.int64), np.zeros(_X.size)
    kernel[1, _X.size](_X, whole, halves)
    for i in range(_X.size):
        a, b, c, f = program(i, _X.tolist())
        assert [*whole[i].tolist(), halves[i]] == [a, b, c, f], text


@given(seed=_SEEDS)
def test_integer_expressions(device, seed):
    random = Random(seed)
    types = {name: random.choice([t for t in INTEGERS if t != "uint64"]) for name in "uvw"}
    texts = [Expression(random, list(types)).text(random.randrange(1, 4)) for _ in range(6)]
    stores = "".join(f"    r = {t}\n    out[{n}, i] = r\n    codes[{n}] = r.dtype.num\n" for n, t in enumerate(texts))
    kernel = cuda.jit(
        define(
            f"def kernel(a, b, c, out, codes):\n    i = cuda.grid(1)\n    u, v, w = a[i], b[i], c[i]\n{stores}",
            "kernel",
        )
    )
    a, b, c = (np.array(random.choices(samples(t).tolist(), k=16), t) for t in types.values())
    out, codes = np.zeros((len(texts), 16), np.int64), np.zeros(len(texts), np.int64)
    kernel[1, 16](a, b, c, out, codes)
    for n, text in enumerate(texts):
        with np.errstate(all="ignore"):
            expected = eval(text, {"np": np, "u": a, "v": b, "w": c})
        assert codes[n] == expected.dtype.num, (text, types)
        np.testing.assert_array_equal(out[n], expected.astype(np.int64), f"{text} of {types}")

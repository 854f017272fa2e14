"""Functions of floats that a compiler knows: the results are those of floats that it does not know.

One driver dropped stores of ``floor(NAN)`` and ended the process at ``rint(INFINITY)`` (docs/driver-quirks.md). The
floats come as constants of the text through device functions and variables, which the package itself does not fold.
"""

from __future__ import annotations

import itertools
import math
import operator

import numpy as np
import pytest
from helpers.programs import define

from portagpu.backends.opencl.known_floats import with_unknown_arguments

ONE = (
    "np.ceil np.exp np.exp2 np.expm1 np.floor np.rint np.sinh np.tanh np.trunc math.gamma math.lgamma np.sqrt np.log"
    " np.sin np.cos np.tan np.arctan math.erf cuda.libdevice.round cuda.libdevice.exp10"
).split()
TWO = "np.power np.fmod math.remainder np.hypot np.arctan2 operator.mod operator.floordiv".split()
NUMBERS = "np.inf -np.inf np.nan 1e30 -1e30 5e9 -3e9 1e19 -0.0 0.5 2.5 1e-40".split()


def _text(expressions: list[str], kind: str) -> str:
    """A kernel that writes each expression of known numbers, and the same of numbers from memory."""
    head = "@cuda.jit(device=True)\ndef same(n, x):\n    return x\n\n\n@cuda.jit\ndef k(n, x, known, loaded):\n"
    lines = []
    for slot, (expression, numbers) in enumerate(expressions):
        own = [f"same(n[0], np.{kind}({NUMBERS[number]}))" for number in numbers]
        read = [f"x[{number}]" for number in numbers]
        lines += [f"    known[{slot}] = {expression.format(*own)}", f"    loaded[{slot}] = {expression.format(*read)}"]
    return head + "\n".join(lines) + "\n"


def _check(expressions, kind):
    numbers = np.array([eval(number, {"np": np}) for number in NUMBERS]).astype(kind)
    known, loaded = np.full((2, len(expressions)), -77.0, kind)
    with np.errstate(all="ignore"):
        define(_text(expressions, kind), "k", math=math, operator=operator)[1, 1](
            np.ones(1, np.int64), numbers, known, loaded
        )
    assert not np.any(known == -77), [e for e, r in zip(expressions, known, strict=True) if r == -77]
    np.testing.assert_allclose(known, loaded, rtol=1e-5 if kind == "float32" else 1e-12)


def test_some(device):
    """Functions that went wrong, of NaN, an infinity and a number beyond int32."""
    names = "np.floor np.rint np.exp np.tanh operator.floordiv np.power".split()
    calls = [(f"{name}({'{}, {}' if name in TWO else '{}'})", (n, 9)) for name in names for n in (0, 2, 5)]
    _check([(call, numbers[: call.count("{}")]) for call, numbers in calls], "float32")


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_one_argument(device, kind):
    """Each function of each number."""
    _check([(f"{name}({{}})", (n,)) for name in ONE for n in range(len(NUMBERS))], kind)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_two_arguments(device, kind):
    """Each function of each pair of some numbers."""
    pairs = list(itertools.product(range(len(NUMBERS)), repeat=2))
    for name in TWO:
        _check([(f"{name}({{}}, {{}})", pair) for pair in pairs], kind)


def test_text():
    """Calls only, in programs that have some, with the line numbers that they had."""
    assert with_unknown_arguments("int x = floor_;", has_doubles=True) == "int x = floor_;"
    text = with_unknown_arguments("float2 y = floor(x);", has_doubles=False)
    assert "as_float2(as_uint2(x)" in text and text.endswith("#line 1\nfloat2 y = floor(x);")
    assert "double" not in text

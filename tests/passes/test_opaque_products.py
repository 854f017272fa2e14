"""The pass that hides products which are divided: through variables, calls, memory; and nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_passes import PLAIN, lowered

from portagpu import cuda
from portagpu.dtypes import INT64, UINT16, UINT32
from portagpu.ir.analysis.ranges import Ranges
from portagpu.ir.nodes import Operation
from portagpu.ir.text import program_text
from portagpu.ir.types import ArrayType, Layout, Scalar
from portagpu.ir.verify import verify
from portagpu.ir.walk import named_nodes
from portagpu.passes.pipeline import run_pass

KNOWS_NOTHING = replace(PLAIN, divides_products=False)
INTEGERS, UNSIGNED, SHORT = (ArrayType(Scalar(d), 1, Layout.C) for d in (INT64, UINT32, UINT16))


@cuda.jit(device=True)
def product(a, b):
    return a * b


@cuda.jit(device=True)
def reduced(x):
    return x % 997


@cuda.jit
def square(x):
    x[0] = x[0] * x[0] % 997


@cuda.jit
def of_a_variable(x):
    t = x[0] * x[1] >> 3
    if x[2] > 0:
        t = x[2]
    x[0] = t // 7


@cuda.jit
def of_a_result(x):
    x[0] = product(x[0], x[1]) % 997


@cuda.jit
def of_a_parameter(x):
    x[0] = reduced(x[0] * x[1])


@cuda.jit(device=True)
def remainder(x, divisor):
    return x % divisor


@cuda.jit
def by_an_argument(x):
    x[0] = remainder(x[0] * x[1], 997)


@cuda.jit
def by_a_number(x):
    x[0] = x[0] * x[1] // x[2]


@cuda.jit(device=True)
def product_and_sum(a, b):
    return a + b, a * b


@cuda.jit
def of_a_tuple(x):
    _, second = product_and_sum(x[0], x[1])
    x[0] = second % 997


@cuda.jit
def of_an_array(x):
    kept = cuda.local.array(1, np.uint16)
    kept[0] = x[0] * x[1]
    x[0] = kept[0] // 7


@cuda.jit
def of_a_magnitude(x):
    x[0] = abs(x[0] * x[1]) % 997


@cuda.jit
def of_a_negation(x):
    x[0] = -(x[0] * x[1]) % 997


@cuda.jit
def of_a_minimum(x):
    x[0] = min(x[1], x[0] * x[1]) % 997


@cuda.jit
def power(x):
    result, base, n = 1, x[0], x[1]
    while n > 0:
        if n & 1:
            result = result * base % 997
        base = base**2 % 997
        n >>= 1
    x[0] = result


@cuda.jit
def others(x):
    i = cuda.grid(1)
    x[0] = (x[0] + x[1]) % 997
    x[1] = x[0] * 5 % 997
    x[2] = 1 if x[0] * x[1] % 64 > 5 else 0
    x[3] = x[2] // (x[0] * x[1]) % 997
    x[4] = reduced(x[0]) + i % 3 + cuda.threadIdx.x // 3


def made_of(kernel, kind):
    made = run_pass("opaque_products", lowered(kernel, kind), KNOWS_NOTHING)
    verify(made)
    return made


@pytest.mark.parametrize("kind", [INTEGERS, UNSIGNED, SHORT])
@pytest.mark.parametrize(
    "kernel",
    [
        *(square, of_a_variable, of_a_result, of_a_parameter, by_an_argument, by_a_number),
        *(of_a_tuple, of_an_array, of_a_magnitude, of_a_negation, of_a_minimum, power),
    ],
)
def test_products_are_hidden(kernel, kind):
    assert program_text(made_of(kernel, kind)).count("opaque(") == (2 if kernel is power else 1)


def test_others_stay():
    program = lowered(others, INTEGERS)
    assert run_pass("opaque_products", program, PLAIN) is program
    assert "opaque(" not in program_text(made_of(others, INTEGERS))


def test_their_ranges_are_known():
    @cuda.jit
    def kernel(x):
        x[0] = (x[0] & 255) * (x[1] & 255) % 997

    made = made_of(kernel, INTEGERS).kernel
    (hidden,) = (n for n in named_nodes(made.body) if isinstance(n, Operation) and n.name == "opaque")
    found = Ranges(made, wraps=True).of(hidden)
    assert (found.low, found.high) == (0, 255 * 255)


@cuda.jit
def squarings(x, n):
    v = cuda.local.array(1, np.int64)
    for q in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        v[0] = x[q]
        for _ in range(n):
            for _ in range(4):
                v[0] = v[0] * v[0] % 997
        x[q] = v[0]


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.int64, np.uint64])
def test_compilers_return(device, dtype):
    """One compiler would not, of two of these, without the pass."""
    x = np.arange(40).astype(dtype)
    wanted = [pow(int(v), 2 ** (4 * 3), 997) for v in x]
    squarings[2, 8](x, 3)
    np.testing.assert_array_equal(x, wanted)

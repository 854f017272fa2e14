"""Random functions of each lane of a vector: their copies for vectors give what one call for each lane gives.

Sums and products are of few quarters, so that they are exact, whatever is contracted.
"""

from __future__ import annotations

import linecache
import random

import numpy as np
import pytest
from test_vector_calls import COLUMNS, ROWS, apply

from portagpu import cuda
from portagpu.blas.gemm.core.fusion import Fusion
from portagpu.blas.gemm.kernels.epilogue import fused_value

pytestmark = pytest.mark.one_device
SEEDS = (*range(6), 131)  # the last one's conditions were wrong on Intel's runtime where marks were of 64 bits


@cuda.jit
def one_by_one(values, out, fused):
    row, column = np.int64(cuda.blockIdx.x), np.uint64(cuda.threadIdx.x)
    out[row, column] = fused_value(values[row, column], np.int64(0), row, column, fused)


class Drawn:
    """A random function's text: numbers, integers and truths of a lane."""

    def __init__(self, seed, whole):
        self.random = random.Random(seed)
        self.whole = whole  # values are integers
        self.numbers, self.integers, self.truths = ["value"], ["row", "column"], []
        self.lines = []

    def pick(self, *choices):
        return self.random.choice(choices)

    def number(self, depth=2):
        if depth == 0 or self.random.random() < 0.2:
            constant = self.pick("-2", "1", "3") if self.whole else self.pick("-0.5", "0.25", "2.0")
            return self.pick(*self.numbers, *self.numbers, constant, self.element())
        a, b = self.number(depth - 1), self.number(depth - 1)
        kinds = [
            f"({a} + {b})",
            f"({a} - {b})",
            f"(-{a})",
            f"abs({a})",
            f"max({a}, {b})",
            f"min({a}, {b})",
            f"({a} if {self.truth(depth - 1)} else {b})",
            self.element(depth - 1),
            f"folded({a}, {self.integer(depth - 1)})",
            f"(value * {self.integer(0)})",
        ]
        if self.whole:
            kinds += [
                f"({a} & {b})",
                f"({a} ^ {b})",
                f"(~{a})",
                f"({a} << 1)",
                f"({a} >> 2)",
                f"({a} % 5)",
                f"({a} // 3)",
            ]
        else:
            kinds += [f"np.maximum({a}, {b})", f"math.floor({a})", f"({a} * 0.5)", f"({a} + {self.integer(depth - 1)})"]
        return self.pick(*kinds)

    def integer(self, depth=2):
        if depth == 0 or self.random.random() < 0.2:
            return self.pick(*self.integers, *self.integers, "1", "3", "-2")
        a, b = self.integer(depth - 1), self.integer(depth - 1)
        divisor = self.pick("2", "3", "5")
        return self.pick(
            f"({a} + {b})",
            f"({a} - {b})",
            f"({a} + 3)",
            f"({a} * 2)",
            f"({a} % {divisor})",
            f"({a} // {divisor})",
            f"({a} & 3)",
            f"({a} >> 1)",
            f"np.int32({a})",
            f"np.int64(np.int32({a}))",
            f"np.uint8({a})",
            f"max({a}, {b})",
            f"({a} if {self.truth(depth - 1)} else {b})",
            f"(7 // {a} if {a} != 0 else {b})",
            f"int({self.pick(*self.numbers)})",
        )

    def truth(self, depth=2):
        if depth == 0 or self.random.random() < 0.3:
            if self.truths and self.random.random() < 0.4:
                return self.pick(*self.truths)
            compared = self.pick("<", ">", "<=", "==", "!=")
            if self.random.random() < 0.5:
                return f"({self.number(0)} {compared} {self.number(0)})"
            return f"({self.integer(1)} {compared} {self.integer(0)})"
        a, b = self.truth(depth - 1), self.truth(depth - 1)
        return self.pick(f"({a} and {b})", f"({a} or {b})", f"(not {a})", f"({a} == {b})", f"({a} != {b})")

    def element(self, depth=0):
        column = self.pick("column", "column", f"({self.integer(depth)}) % {COLUMNS}", "column - 5", "-1 - column")
        if self.random.random() < 0.5:
            return f"table[{column}]"
        return f"x[{self.pick('row', f'({self.integer(depth)}) % {ROWS}')}, {column}]"

    def guarded(self):
        """An element that only some lanes may read."""
        step = self.pick(1, 4, 9)
        return f"(table[column + {step}] if column + {step} < {COLUMNS} else {self.number(0)})"

    def statement(self, indent, depth):
        space = "    " * indent
        chosen = self.random.random()
        if chosen < 0.55 or depth == 0:
            kind = self.pick("number", "number", "integer", "truth")
            names = getattr(self, kind + "s")
            known = [n for n in names if n not in ("row", "column")]
            new = indent == 1 and (not known or self.random.random() < 0.6)
            if not new and not known:
                return
            name = f"{kind[0]}{len(names)}" if new else self.pick(*known)
            value = self.guarded() if kind == "number" and self.random.random() < 0.2 else getattr(self, kind)()
            self.lines.append(f"{space}{name} = {value}")
            if new:
                names.append(name)
            return
        self.lines.append(f"{space}if {self.truth()}:")
        self.block(indent + 1, depth - 1)
        if self.random.random() < 0.5:
            self.lines.append(f"{space}else:")
            self.block(indent + 1, depth - 1)

    def block(self, indent, depth):
        for _ in range(self.random.randint(1, 3)):
            self.statement(indent, depth)
        space = "    " * indent
        self.lines.append(
            f"{space}return {self.number()}" if indent > 1 and self.random.random() < 0.3 else f"{space}pass"
        )

    def text(self, name):
        self.lines = [f"def {name}(value, row, column, x, table):"]
        for _ in range(self.random.randint(2, 5)):
            self.statement(1, 2)
        self.lines.append(f"    return {self.number()}")
        return "\n".join(self.lines) + "\n"


HELPER = """import math
import numpy as np
from portagpu import cuda

@cuda.jit(device=True)
def folded(v, i):
    if i % 2 == 0:
        return v + 1
    return v if v > 0 else -v
"""


def drawn_function(seed, whole):
    name = f"drawn{seed}"
    text = HELPER + "\n" + Drawn(seed, whole).text(name)
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    names = {"__name__": "drawn"}
    exec(compile(text, file, "exec"), names)
    return names[name], text


def operands(kind, seed):
    rng = np.random.default_rng(seed)
    scale = 1 if kind.kind == "i" else 4
    values, x, table = (rng.integers(-9, 10, shape) for shape in ((ROWS, COLUMNS), (ROWS, COLUMNS), COLUMNS))
    return tuple((each / scale).astype(kind) for each in (values, x, table))


def compared(seed, vector):
    """Raises where results of both ways differ."""
    kind = np.dtype(vector.split("x")[0])
    function, text = drawn_function(seed, kind.kind == "i")
    values, x, table = operands(kind, seed)
    fused = Fusion(function=cuda.jit(device=True)(function), arguments=tuple(map(cuda.to_device, (x, table)))).fused()
    given = cuda.to_device(values)
    wanted, found = (cuda.to_device(np.zeros_like(values)) for _ in range(2))
    one_by_one[ROWS, COLUMNS](given, wanted, fused)
    apply[ROWS, 1](given, found, fused, getattr(cuda, vector))
    np.testing.assert_array_equal(found.copy_to_host(), wanted.copy_to_host(), err_msg=text)


@pytest.mark.parametrize("vector", ["float32x8", "float64x4", "int32x8", "int64x4"])
def test_random_functions(device, vector):
    if vector.startswith("float64") and not device.capabilities.fp64:
        pytest.skip("no float64")
    for seed in SEEDS:
        compared(seed, vector)
    if not device.capabilities.local_memory_dedicated:
        inspect = apply.inspect_sycl if device.backend == "sycl" else apply.inspect_opencl
        texts = inspect().values()
        assert sum(f"drawn{seed}_x" in text for text in texts for seed in SEEDS) > len(SEEDS) // 2

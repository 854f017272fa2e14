"""How many subgroups a vector unit keeps, and what is said to limit them, against what makers and LLVM say."""

from __future__ import annotations

import re

import numpy as np
import pytest
from compilers import compiler_of

from portagpu import cuda
from portagpu.backends.offline import OfflineFigures
from portagpu.backends.opencl.offline.targets import TARGETS


def figures(registers, local, lanes=32, scalars=None):
    return OfflineFigures(
        registers=registers,
        matrix_registers=0,
        scalar_registers=scalars,
        spilled=0,
        scratch_bytes=0,
        local_bytes=local,
        lanes=lanes,
        occupancy=None,
    )


@pytest.mark.parametrize(
    "name, registers, local, block, subgroups, limiter",
    [
        ("sm_90", 32, 0, None, 16, "subgroup slots"),
        ("sm_90", 33, 0, None, 12, "registers"),
        ("sm_75", 16, 0, None, 8, "subgroup slots"),
        ("sm_90", 255, 0, None, 2, "registers"),
        ("sm_90", 32, 100 << 10, 256, 4, "local memory"),
        ("sm_90", 32, 0, 1024, 16, "subgroup slots"),
        ("sm_86", 32, 0, 1024, 8, "block size"),
        ("sm_90", 255, 0, 256, 2, "registers"),
        ("sm_75", 16, 0, 32, 4, "blocks"),
        ("sm_90", 16, 0, 32, 8, "blocks"),
        ("gfx1100", 96, 0, None, 16, "subgroup slots"),
        ("gfx1100", 97, 0, None, 12, "registers"),
        ("gfx1100", 32, 64 << 10, 256, 4, "local memory"),
        ("dg2", 256, 0, None, 4, "registers"),
        ("pvc", 128, 0, 1024, 8, "subgroup slots"),
        ("pvc", 128, 64 << 10, 256, 2, "local memory"),
        ("tgllp", 128, 0, None, 7, "subgroup slots"),
    ],
)
def test_what_is_resident(name, registers, local, block, subgroups, limiter):
    found = TARGETS[name].residency(figures(registers, local), block)
    assert (found.subgroups, found.limiter) == (subgroups, limiter)


def test_scalar_registers_limit_where_they_are_few():
    found = TARGETS["gfx906"].residency(figures(20, 0, 64, scalars=100), None)
    assert (found.subgroups, found.limiter) == (7, "scalar registers")
    assert TARGETS["gfx942"].residency(figures(20, 0, 64, scalars=100), None).limiter in ("scalar registers",)


def test_cpus_have_no_such_number():
    assert TARGETS["x86-64-v3"].residency(figures(20, 0), 64) is None


@cuda.jit
def many(x, n: cuda.constexpr):
    t = cuda.threadIdx.x
    a = cuda.local.array(n, np.float32)
    for i in cuda.unroll(range(n)):
        a[i] = x[i * 64 + t]
    for _r in range(10):
        for i in cuda.unroll(range(n)):
            a[i] = a[i] * a[(i * 7 + 1) % n]
    for i in cuda.unroll(range(n)):
        x[i * 64 + t] = a[i]


@pytest.mark.each_value
@pytest.mark.parametrize("n", [24, 60, 100])
@pytest.mark.parametrize("name", [name for name, target in TARGETS.items() if target.compiler == "amdgcn"])
def test_llvm_says_the_same(name, n):
    target = compiler_of(TARGETS[name])
    made = many.compile_for(target, "void(float32[::1])", constants={"n": n})
    said = int(re.search(r"^; Occupancy: (\d+)", made.assembly, re.MULTILINE).group(1))
    assert made.figures.occupancy == said, (made.figures, said)

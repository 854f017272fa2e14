"""The passes of launches that count, on programs that are compiled for devices which are not there."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest

from portagpu import cuda
from portagpu.backends.opencl.ptx.capabilities import from_ptx
from portagpu.device.ideal_device import IDEAL
from portagpu.dispatch.code.lowering import lower_kernel
from portagpu.dtypes import FLOAT32, INT32
from portagpu.errors import UncountedWorkError
from portagpu.frontend.specialise import specialise
from portagpu.ir.analysis.work import _FREE, _LOADS, _OF_OPERATIONS, _STORES, cost_of
from portagpu.ir.operations import INSTRUCTIONS, OPERATIONS
from portagpu.ir.text import function_text
from portagpu.ir.types import ArrayType, Layout, Scalar
from portagpu.ir.verify import verify
from portagpu.ir.walk import all_statements
from portagpu.passes.counts.counting import counting
from portagpu.passes.counts.work_counters import work_counters
from portagpu.passes.pipeline import PIPELINE

FLOATS, INTEGERS = (ArrayType(Scalar(d), 1, Layout.C) for d in (FLOAT32, INT32))
PLAIN = dataclasses.replace(IDEAL, **from_ptx(False))


@cuda.jit
def turns(x, n):
    i = 0
    while i < 9 and x[i] > 0.0:
        i += 1
        if n[i] == 3:
            continue
        x[i] += x[0]


def test_statements_that_run_together_add_once():
    program = work_counters(specialise(turns.source, (FLOATS, INTEGERS), PLAIN))
    verify(program)
    lines = [line.strip() for line in function_text(program.kernel).splitlines()]
    adding = Counter(line for line in lines if line.startswith("pg.work["))
    loaded = program.counted.index(("loaded", "global"))
    # the question is asked before the loop, before `continue` and at the loop's end
    asked = f"pg.work[{loaded}] = add(pg.work[{loaded}], 4)"
    assert adding[asked] == 4 and adding[f"pg.work[{loaded}] = add(pg.work[{loaded}], 8)"] == 1
    assert sum(line.startswith("pg.add_work") for line in lines) == len(program.counted)


@pytest.mark.parametrize("touched", (True, False))
def test_counted_programs_are_programs(touched):
    program = lower_kernel(turns.source, (FLOATS, INTEGERS), PLAIN, passes=counting(PIPELINE, touched=touched))
    verify(program)
    assert bool(program.granule) is touched
    assert program.counted and not lower_kernel(turns.source, (FLOATS, INTEGERS), PLAIN).counted


def test_every_operation_is_known():
    known = {
        *_OF_OPERATIONS,
        *_FREE,
        *_LOADS,
        *_STORES,
        "volatile_load",
        "volatile_store",
        "cluster_load",
        "cluster_store",
    }
    known |= {"subgroup_block_read", "subgroup_block_write"}
    prefixes = ("atomic_", "copy_", "mfma", "wmma", "mad_")
    assert [name for name in OPERATIONS if name not in known and not name.startswith(prefixes)] == []
    assert not set(_OF_OPERATIONS) & _FREE


def costs(kernel, *types, caps=IDEAL):
    """What the statements of a kernel cost together, each once."""
    total = Counter()
    for statement in all_statements(specialise(kernel.source, types, caps).kernel.body):
        total.update(cost_of(statement).always)
    return total


def test_products_of_matrix_units():
    @cuda.jit
    def product(c):
        left, right = cuda.local.array(4, np.float32), cuda.local.array(2, np.float32)
        acc = cuda.local.array(4, np.float32)
        cuda.mma_sync("m16n8k8", "tfloat32", acc, left, right)
        c[0] = acc[0]

    assert costs(product, FLOATS)["matrix", "tfloat32"] * 32 == 2 * 16 * 8 * 8


def test_memory_that_the_compiler_does_not_see_is_refused():
    names = {"tma_load", "tma_store", "tensor_map_replace", "tensor_map_fix"}
    assert names <= INSTRUCTIONS.keys()

    @cuda.jit
    def load(maps, c):
        tile = cuda.shared.array((8, 8), np.float32)
        barrier = cuda.shared.array(1, np.uint64)
        cuda.tma_load(tile, (0, 0), maps, 0, (0, 0), barrier, 0)
        c[0] = tile[0, 0]

    with pytest.raises(UncountedWorkError, match="tma_load moves or changes memory"):
        costs(load, ArrayType(Scalar(INT32), 1, Layout.C), FLOATS)

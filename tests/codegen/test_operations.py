"""The table of the IR's operations: back ends render what it lists, and programs have nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from portagpu import cuda
from portagpu.backends import registry
from portagpu.device.ideal_device import IDEAL
from portagpu.dispatch.code.lowering import lower_kernel
from portagpu.dtypes import FLOAT32
from portagpu.ir.nodes import Assign, Operation, Store, Var
from portagpu.ir.operations import INSTRUCTIONS, OPERATIONS, PER_THREAD
from portagpu.ir.types import ArrayType, Layout, Scalar
from portagpu.ir.verify import VerificationError, verify
from portagpu.passes.pipeline import PIPELINE

FLOATS = ArrayType(Scalar(FLOAT32), 1, Layout.C)
OPENCL = registry.named("opencl")


@cuda.jit
def increment(x):
    x[0] = x[0] + 1


def test_opencl_renders_each_that_a_pass_leaves_and_no_other():
    table = {**OPERATIONS, **INSTRUCTIONS}
    assert len(table) == len(OPERATIONS) + len(INSTRUCTIONS)
    passes = {each.name for each in PIPELINE}
    taken_away = {name for name, one in table.items() if one.taken_away_by}
    assert {table[name].taken_away_by for name in taken_away} <= passes
    assert OPENCL.language.operations == table.keys() - taken_away


def test_sycl_renders_each_but_those_of_some_makers_hardware():
    table = OPERATIONS.keys() - {name for name, one in OPERATIONS.items() if one.taken_away_by}
    native = {
        f"warp_{name}" for name in ("active", "all", "any", "ballot", "eq", "match_all", "match_any", "shfl", "sync")
    }
    units = {name for name in table if name.startswith(("cluster_", "mfma", "wmma"))}
    assert table - registry.named("sycl").language.operations == native | units | {
        "map_shared_rank",
        "nanosleep",
        "opaque",
        "shared_address",
    }


def test_each_operation_without_values_is_said_to_be_of_threads_or_of_blocks():
    """Barriers below a branch are right if all threads of a block take it: `portagpu.ir.analysis.uniform`."""
    blocks = {"blockIdx", "blockDim", "gridDim", "gridsize", "subgroup_size", "cluster_rank"}
    orders = {n for n in OPERATIONS if n.startswith(("thread", "sync", "grid_sync", "warp_", "cluster_"))}
    orders -= {"threadIdx", "cluster_rank"}
    without = {n for n, one in OPERATIONS.items() if one.takes(0) or one.operands == ("axis",)}
    assert without - orders == blocks | PER_THREAD - {"varying"}  # which makes values of threads of others


@pytest.mark.parametrize(
    ("operands", "taken"),
    [
        ((), {0}),
        (("x",), {1}),
        (("x", "y?"), {1, 2}),
        (("*x",), {0, 1, 2, 3}),
        (("x", "*y"), {1, 2, 3}),
    ],
)
def test_numbers_of_operands(operands, taken):
    one = OPERATIONS["sqrt"]._replace(operands=operands)
    assert {count for count in range(4) if one.takes(count)} == taken


def with_operation(name, count):
    """A program that stores an operation's result."""
    program = lower_kernel(increment.source, (FLOATS,), IDEAL)
    (store,) = (s for s in program.kernel.body if isinstance(s, Store))
    value = Operation(name, (store.value,) * count, store.value.type, span=store.span)
    target = Var("result", store.value.type, span=store.span)
    body = (Assign(target, value, span=store.span), replace(store, value=target))
    return replace(program, kernel=replace(program.kernel, body=body))


def test_programs_have_no_others():
    verify(with_operation("sqrt", 1))
    for name, count in (("sqrt", 2), ("sqrt", 0), ("square_root", 1)):
        with pytest.raises(VerificationError, match="it is in the table"):
            verify(with_operation(name, count))

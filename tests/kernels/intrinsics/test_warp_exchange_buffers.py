"""Emulated warp operations in random control flow: none writes what another may still read, and results are right."""

from __future__ import annotations

import dataclasses
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import define

from portagpu import cuda
from portagpu.dispatch.code.lowering import lower_kernel
from portagpu.dtypes import INT32
from portagpu.errors import UnsupportedSyntaxError
from portagpu.ir.analysis.uniform import BARRIERS, EXCHANGES
from portagpu.ir.nodes import Assign, Break, CallFunction, Continue, Evaluate, For, If, Offset, Operation, Return, While
from portagpu.ir.types import ArrayType, Layout, Scalar

FULL = 0xFFFFFFFF
INTEGERS = ArrayType(Scalar(INT32), 1, Layout.C)
Readers = frozenset  # of buffers that threads may still read at some place; None: of no buffer


class Text:
    """A kernel of warp operations under random statements; some conditions are the same in a block, some are not."""

    OPERATIONS = (
        "v += cuda.shfl_down_sync(0xFFFFFFFF, v, {k})",
        "v ^= cuda.shfl_xor_sync(0xFFFFFFFF, v, {k})",
        "v += cuda.popc(cuda.ballot_sync(0xFFFFFFFF, v > {k}))",
        "v += cuda.any_sync(0xFFFFFFFF, v > {k})",
        "v += cuda.popc(cuda.match_any_sync(0xFFFFFFFF, v & 3))",
        "v += helper(v)",
        "cuda.syncthreads()",
        "cuda.syncwarp()",
        "v += {k}",
    )
    CONDITIONS = ("n > {k}", "t // 32 == {k}", "t < 32", "x[0] > {k}")

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines = [
            *("@cuda.jit(device=True)", "def helper(w):", f"    for k in range({random.randint(0, 2)}):"),
            *("        w += cuda.shfl_up_sync(0xFFFFFFFF, w, 1)", "    return w ^ cuda.ballot_sync(0xFFFFFFFF, w > 3)"),
            *("@cuda.jit", "def kernel(x, out, n):", "    i, t = cuda.grid(1), cuda.threadIdx.x", "    v = x[i]"),
        ]
        self.block(1, depth=2, in_loop=False)
        self.lines.append("    out[i] = v")

    def block(self, indent: int, *, depth: int, in_loop: bool) -> None:
        """A few statements."""
        random, pad = self.random, "    " * indent
        for _ in range(random.randint(1, 4)):
            k = random.randint(0, 5)
            kind = random.random()
            if kind < 0.6 or not depth:
                self.lines.append(pad + random.choice(self.OPERATIONS).format(k=k))
            elif kind < 0.75:
                self.lines.append(f"{pad}if {random.choice(self.CONDITIONS).format(k=k)}:")
                self.block(indent + 1, depth=depth - 1, in_loop=in_loop)
            elif kind < 0.9:
                self.lines.append(f"{pad}for k{indent} in range({random.choice(('n', '3', 't // 32'))}):")
                self.block(indent + 1, depth=depth - 1, in_loop=True)
            elif in_loop:
                self.lines.append(f"{pad}if {random.choice(self.CONDITIONS).format(k=k)}:")
                self.lines.append(f"{pad}    {random.choice(('break', 'continue'))}")
            else:
                self.lines += [f"{pad}if {random.choice(self.CONDITIONS).format(k=k)}:", f"{pad}    return"]

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"


class Follow:
    """Follows all paths through a program. Raises `AssertionError` where a buffer is written that is being read."""

    def __init__(self, program) -> None:
        self.functions = {f.name: f for f in program.functions}
        self.exchanges = 0
        self.alone = 0  # that need no second barrier
        self.function(program.kernel, Readers({None}))

    def function(self, function, readers: Readers) -> Readers:
        self.returned: Readers
        outer, self.returned = getattr(self, "returned", Readers()), Readers()
        jumps: list[Readers] = [Readers(), Readers()]
        ends = self.block(function.body, readers, jumps) | self.returned
        self.returned = outer
        return ends

    def block(self, body, readers: Readers, jumps: list[Readers]) -> Readers:
        for statement in body:
            if not readers:
                break
            readers = self.statement(statement, readers, jumps)
        return readers

    def statement(self, statement, readers: Readers, jumps: list[Readers]) -> Readers:
        match statement:
            case Assign(value=Operation() as op) | Evaluate(value=Operation() as op) if op.name in EXCHANGES:
                buffer = int(isinstance(op.args[0], Offset))
                assert int(isinstance(op.args[1], Offset)) == buffer
                assert buffer not in readers
                self.exchanges += 1
                self.alone += readers != {None}
                return Readers({buffer})
            case Assign(value=Operation() as op) | Evaluate(value=Operation() as op) if op.name in BARRIERS:
                return Readers({None})
            case Assign(value=CallFunction() as call) | Evaluate(value=CallFunction() as call):
                return self.function(self.functions[call.function], readers)
            case If():
                return self.block(statement.then, readers, jumps) | self.block(statement.orelse, readers, jumps)
            case For() | While():
                while True:
                    inner = [Readers(), Readers()]
                    again = readers | self.block(statement.body, readers, inner) | inner[1]
                    if again == readers:
                        return readers | inner[0]
                    readers = again
            case Break() | Continue():
                jumps[isinstance(statement, Continue)] |= readers
                return Readers()
            case Return():
                self.returned |= readers
                return Readers()
            case _:
                return readers


@given(seed=st.integers(0, 2**32), gates=st.booleans())
def test_no_buffer_is_written_while_it_is_read(device, seed, gates):
    caps = dataclasses.replace(device.capabilities, warp_instructions=False, conditional_barriers=gates)
    for number in range(20):
        text = str(Text(Random(seed + number)))
        try:
            program = lower_kernel(define(text, "kernel").source, (INTEGERS, INTEGERS, Scalar(INT32)), caps)
        except UnsupportedSyntaxError:  # a loop that threads have left, and whose end the others decide
            continue
        Follow(program)


def test_a_sequence_needs_one_barrier_for_each_exchange(device, monkeypatch):
    @cuda.jit
    def kernel(x, out, n):
        v = x[cuda.grid(1)]
        for offset in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(FULL, v, offset)
        out[cuda.grid(1)] = v

    caps = dataclasses.replace(device.capabilities, warp_instructions=False)
    found = Follow(lower_kernel(kernel.source, (INTEGERS, INTEGERS, Scalar(INT32)), caps))
    assert (found.exchanges, found.alone) == (5, 4)
    monkeypatch.setattr("portagpu.passes.pipeline.in_turns", lambda program: program)
    with pytest.raises(AssertionError):  # one buffer and no barrier between
        Follow(lower_kernel(kernel.source, (INTEGERS, INTEGERS, Scalar(INT32)), caps))

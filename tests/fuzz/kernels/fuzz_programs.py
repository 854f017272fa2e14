"""Random kernels: arguments, device functions and bodies."""

from __future__ import annotations

from random import Random

import numpy as np
from fuzz_choices import Chooser
from fuzz_functions import array_function, record_function
from fuzz_kernel import Argument, Kernel, numbers
from fuzz_records import RecordArray, fields_of, record_type
from fuzz_script import dtype_text
from fuzz_statements import Body, Place
from fuzz_typed import NAMES, STORED, STRONG, ArrayName, Typed, variable

_HELPER = """\
@cuda.jit(device=True)
def {name}(s, t, v):
    s[t] = v
    cuda.syncthreads()
    r = s[(t + {step}) % len(s)]
    cuda.syncthreads()
    return r
"""


class _Maker:
    """One kernel."""

    def __init__(self, random: Random) -> None:
        self.choose = Chooser(random)
        self.text: list[str] = []
        self.arguments: list[Argument] = []
        self.globals: list[Typed] = []
        self.functions: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = []

    def make(self) -> Kernel:
        choose = self.choose
        if choose.chance(3):
            kind = choose.pick(*STRONG)
            self.text.append(f"G = {NAMES[kind]}({choose.pick(3, 1, 100)})")
            self.globals.append(Typed("G", kind, 7))
        while len(self.functions) < 2 and choose.chance(2):
            self.device_function()
        barriers = choose.chance(2)
        stride = not barriers and choose.chance(4)
        warps = barriers and choose.chance(4)
        if warps:
            block = choose.pick((32,), (64,), (8, 4))
        else:
            block = choose.pick((4,), (1,), (8,), (32,), *(() if stride else ((4, 2), (2, 2, 2))))
        grid = {
            1: ((1,), (2,), (3,)),
            2: ((1, 1), (2, 1), (1, 2)),
            3: ((1, 1, 1), (2, 1, 1), (1, 1, 2)),
        }[len(block)]
        grid = choose.pick(*grid)
        body = Body(choose, None)
        body.functions = list(self.functions)
        body.most = choose.pick(40, 20, 10, 10, 5, 5)  # compilers take seconds for the longest
        per_block = body.per_block = int(np.prod(block))
        body.warps = warps
        total = per_block * int(np.prod(grid)) * (1 + stride) + 2 * stride
        self.inputs(body)
        self.outputs(body, total)
        if choose.chance(3):
            self.records(body, total)
        for write in (array_function, record_function):
            if choose.chance(3):
                self.text += write(body, Body(choose, (choose.pick(*STRONG),)))
        self.places(body, block, total, grid)
        shared_bytes = self.shared(body, per_block) if barriers else 0
        level = 1 + stride
        if stride:
            body.say(1, f"for i in range(cuda.grid(1), {total}, cuda.gridsize(1)):")
        body.block(Place(level, 3, in_loop=stride, uniform=barriers))
        for n, (name, kind) in enumerate(body.variables.items()):
            if n < 3:
                array = Argument(f"r{n}", kind if kind in STRONG else {"b": "b", "pi": "i8", "pf": "f8"}[kind])
                array = Argument(array.name, array.kind, (total,), "C", True)
                self.arguments.append(array)
                body.say(level, f"{array.name}[i] = {name}")
        head = f"@cuda.jit\ndef kernel({', '.join(a.name for a in self.arguments)}):"
        source = "\n".join([*self.text, head, *body.lines]) + "\n"
        return Kernel(source, tuple(self.arguments), grid, block, choose.below(1 << 16), shared_bytes)

    def device_function(self) -> None:
        choose = self.choose
        parameters = tuple(choose.pick(*STORED) for _ in range(1 + choose.below(3)))
        results = tuple(choose.pick(*STRONG) for _ in range(1 + choose.below(3)))
        body = Body(choose, results)
        body.size = 22
        body.functions = list(self.functions)
        names = [f"p{n}" for n in range(len(parameters))]
        body.fixed += self.globals
        body.variables |= dict(zip(names, parameters, strict=True))
        body.block(Place(1, 2))
        body.leave(1)
        name = f"f{len(self.functions)}"
        self.text += ["@cuda.jit(device=True)", f"def {name}({', '.join(names)}):", *body.lines]
        self.functions.append((name, parameters, results))

    def inputs(self, body: Body) -> None:
        choose = self.choose
        for n in range(1 + choose.below(3)):
            shape = choose.pick((7,), (5,), (3, 4), (2, 6))
            layout = choose.pick("C", "strided", "F")
            argument = Argument(f"a{n}", choose.pick(*STRONG, "b"), shape, layout)
            self.arguments.append(argument)
            body.arrays.append(ArrayName(argument.name, argument.kind, shape))
        for n in range(choose.below(3)):
            kind = choose.pick("pi", *STRONG, "pf", "b")
            self.arguments.append(Argument(f"s{n}", kind))
            e = variable(f"s{n}", kind)
            e = Typed(e.text, "pi", 4) if kind == "pi" else e
            body.fixed.append(e)
            if kind in ("pi", "b", "i4", "u1"):
                body.uniform.append(e)
        body.fixed += self.globals
        if choose.chance(4):
            kind, length = choose.pick(*STRONG), choose.pick(3, 8)
            values = numbers(np.random.default_rng(choose.below(100)), kind, length).tolist()
            self.text.append(f"C = np.array({values}, {NAMES[kind]})")
            body.arrays.append(ArrayName(choose.pick("C", "cuda.const.array_like(C)"), kind, (length,)))

    def outputs(self, body: Body, total: int) -> None:
        choose = self.choose
        for n in range(1 + choose.below(3)):
            shape = choose.pick((total,), (total, 2))
            argument = Argument(f"o{n}", choose.pick(*STRONG, "b"), shape, choose.pick("C", "strided", "F"), True)
            self.arguments.append(argument)
            body.outputs.append(ArrayName(argument.name, argument.kind, shape))
        for n in range(choose.below(3)):
            argument = Argument(f"q{n}", choose.pick("f4", "f8", "c8", "c16"), (total,), "C", True)
            self.arguments.append(argument)
            body.rough.append(ArrayName(argument.name, argument.kind, (total,)))
        if choose.chance(3):
            operation = choose.pick("add", "sub", "max", "min", "and_", "or_", "xor")
            argument = Argument("c0", choose.pick("i4", "u4", "i8", "u8"), (4,), "C", True)
            self.arguments.append(argument)
            body.accumulators.append((operation, ArrayName("c0", argument.kind, (4,))))

    def records(self, body: Body, total: int) -> None:
        """Records that are read, and records of which each thread writes its own."""
        dtype = record_type(self.choose)
        if self.choose.chance(2):
            self.arguments.append(Argument("e0", dtype_text(dtype), (7,), "C"))
            body.records.append(RecordArray("e0", fields_of(dtype), 7))
            dtype = dtype if self.choose.chance(2) else record_type(self.choose)
        self.arguments.append(Argument("e1", dtype_text(dtype), (total,), "C", self.choose.chance(2)))
        body.own_records.append(RecordArray("e1", fields_of(dtype), total))

    def places(self, body: Body, block: tuple[int, ...], total: int, grid: tuple[int, ...]) -> None:
        """Indices of the thread: ``t`` in the block, ``i`` in the grid."""
        if len(block) == 1:
            body.say(1, "t = cuda.threadIdx.x")
            body.say(1, "i = cuda.grid(1)")
        elif len(block) == 3:
            body.say(1, "x, y, z = cuda.grid(3)")
            extents = [b * g for b, g in zip(block, grid, strict=True)]
            body.say(1, f"i = (z * {extents[1]} + y) * {extents[0]} + x")
            body.say(1, f"t = (cuda.threadIdx.z * {block[1]} + cuda.threadIdx.y) * {block[0]} + cuda.threadIdx.x")
        else:
            body.say(1, "x, y = cuda.grid(2)")
            body.say(1, f"i = y * {block[0] * grid[0]} + x")
            body.say(1, "t = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x")
        body.fixed += [Typed("i", "pi", 7), Typed("t", "pi", 5), Typed("cuda.threadIdx.x", "pi", 5)]
        body.fixed.append(Typed("cuda.blockIdx.x", "pi", 2))
        body.uniform += [Typed("cuda.blockIdx.x", "pi", 2), Typed("cuda.blockDim.x", "pi", 6)]

    def shared(self, body: Body, per_block: int) -> int:
        """Shared arrays with an element for each thread; returns the bytes of the dynamic one."""
        choose, dynamic = self.choose, 0
        for n in range(1 + choose.below(2)):
            kind = choose.pick(*STRONG)
            body.shared.append(ArrayName(f"s_{n}", kind, (per_block,), True))
            length = per_block
            if n == 0 and choose.chance(4):
                length, dynamic = 0, per_block * np.dtype(kind).itemsize
            body.say(1, f"s_{n} = cuda.shared.array({length}, {NAMES[kind]})")
            body.say(1, f"s_{n}[t] = 0")
            if choose.chance(2):
                body.helpers.append((f"b{n}", kind))
                self.text.append(_HELPER.format(name=f"b{n}", step=choose.pick(1, 3)).rstrip())
        body.say(1, "cuda.syncthreads()")
        return dynamic


def drawn(random: Random) -> list[Kernel]:
    """A kernel whose results are exact and do not depend on the order of threads."""
    return [_Maker(random).make()]

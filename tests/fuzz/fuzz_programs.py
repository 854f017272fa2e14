"""Random kernels: statements, device functions, shared memory between barriers, and their arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np
from fuzz_blocks import flag_across_barrier, own_slot, shared_atomics, tile, warp
from fuzz_expressions import (
    FLOATS,
    INTEGERS,
    NAMES,
    STORED,
    STRONG,
    ArrayName,
    Chooser,
    Expressions,
    Typed,
    cast,
    is_zero,
    stored,
    variable,
)
from fuzz_functions import array_function, call_with_array, call_with_record, quotient_and_remainder, record_function
from fuzz_records import RecordArray, Records, fields_of, filled, record_type
from fuzz_rough import RoughExpressions
from fuzz_script import dtype_text, script
from hypothesis import strategies as st


@dataclass(frozen=True)
class Argument:
    """How to make an argument: ``layout`` C, F, "strided" or "reversed" for an array, None for a scalar."""

    name: str
    kind: str
    shape: tuple[int, ...] = ()
    layout: str | None = None
    written: bool = False


@dataclass(frozen=True)
class Kernel:
    """A drawn kernel and what to launch it with."""

    source: str
    arguments: tuple[Argument, ...]
    grid: tuple[int, ...]
    block: tuple[int, ...]
    seed: int
    shared_bytes: int = 0

    @property
    def configuration(self) -> tuple[Any, ...]:
        """The configuration of a launch."""
        return (self.grid, self.block, *((0, self.shared_bytes) if self.shared_bytes else ()))

    def values(self) -> tuple[Any, ...]:
        """The arguments, the same each time, whichever others there are."""
        return tuple(_value(np.random.default_rng((self.seed, crc32(a.name.encode()))), a) for a in self.arguments)

    def __str__(self) -> str:
        return script(self)


def _numbers(random: np.random.Generator, kind: str, count: int) -> np.ndarray[Any, Any]:
    if kind == "b":
        return random.integers(0, 2, count).astype(np.bool_)
    if kind in FLOATS:
        return (random.integers(-200, 200, count) / 4).astype(kind)
    info = np.iinfo(kind)
    corners = np.array([info.min, info.max, info.max // 2, 0, 1, 2, 3, 100], kind)
    values = random.integers(max(-20, info.min), 20, count).astype(kind)
    return np.where(random.random(count) < 0.3, random.choice(corners, count), values).astype(kind)


def _value(random: np.random.Generator, argument: Argument) -> Any:
    if argument.layout is None:
        if argument.kind == "pi":
            return int(random.integers(0, 9))
        if argument.kind == "pf":
            return float(random.integers(-16, 16) / 4)
        found = _numbers(random, argument.kind, 1)[0]
        return bool(found) if argument.kind == "b" else found
    count = int(np.prod(argument.shape))
    if argument.kind.startswith("np.dtype"):
        records = np.zeros(argument.shape, eval(argument.kind, {"np": np}))
        if not argument.written:
            filled(random, records, _numbers)
        return records
    data = np.zeros(count, np.dtype(argument.kind if argument.kind != "b" else bool))
    if not argument.written:
        data = _numbers(random, argument.kind, count)
    data = data.reshape(argument.shape)
    if argument.layout == "F":
        return np.asfortranarray(data)
    if argument.layout == "strided":
        wide = np.zeros((*argument.shape[:-1], argument.shape[-1] * 2), data.dtype)
        wide[..., ::2] = data
        return wide[..., ::2]
    return data


@dataclass
class Place:
    """Where a statement stands: what may leave, and whether all threads of the block come there."""

    level: int
    depth: int
    in_loop: bool = False
    uniform: bool = False
    may_return: bool = True
    outer: frozenset[str] = field(default_factory=frozenset)  # variables whose types must stay


class Body(Records, Expressions):
    """The statements of one function."""

    def __init__(self, chooser: Chooser, results: tuple[str, ...] | None) -> None:
        super().__init__(chooser)
        self.lines: list[str] = []
        self.results = results  # of a device function
        self.outputs: list[ArrayName] = []  # written at [i]
        self.accumulators: list[tuple[str, ArrayName]] = []
        self.shared: list[ArrayName] = []
        self.uniform: list[Typed] = []  # the same in all threads of a block
        self.local: list[ArrayName] = []
        self.helpers: list[tuple[str, str]] = []  # device functions with barriers, and their kind
        self.turns = 0  # loops of whole blocks around the current place
        self.rough: list[ArrayName] = []  # written at [i] with values that are rounded
        self.counter = 0
        self.size = 0
        self.per_block = 1
        self.array_functions: list[tuple[str, ArrayName, tuple[str, str], str]] = []  # array, items of a tuple, result
        self.record_functions: list[tuple[str, RecordArray, str]] = []
        self.warps = False  # whole warps meet: no thread returns before the others

    def say(self, level: int, text: str) -> None:
        self.lines.append("    " * level + text)

    def fresh(self, letter: str) -> str:
        self.counter += 1
        return f"{letter}{self.counter}"

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Names that are set inside are not read outside, where the same names come again."""
        saved = dict(self.variables), list(self.fixed), list(self.arrays), list(self.local), self.counter
        uniform = list(self.uniform)
        yield
        kept = {name: kind for name, kind in self.variables.items() if name in saved[0]}
        _, self.fixed, self.arrays, self.local, self.counter = saved
        self.variables, self.uniform = kept, uniform

    # statements

    def block(self, place: Place) -> None:
        """Some statements."""
        before = len(self.lines)
        self.statement(place)
        top = place.depth == 3
        while self.size < (40 if top else 30) and (not self.choose.chance(8) if top else self.choose.more()):
            self.statement(place)
        if len(self.lines) == before:
            self.say(place.level, "pass")

    def statement(self, place: Place) -> None:
        self.size += 1
        simple: list[Callable[[Place], None]] = [self.output, self.declare, self.assign, self.assign, self.unpack]
        simple += [self.augmented, self.local_store if self.local else self.local_array, self.local_array, self.view]
        simple += [self.retype, self.several]
        if self.own_records:
            simple += [self.record_store, self.record_store, self.record_store]
        if self.record_functions:
            simple.append(partial(call_with_record, self))
        if self.array_functions:
            simple += [partial(call_with_array, self)] * 2
        simple.append(partial(quotient_and_remainder, self))
        if self.outputs and not place.in_loop:
            simple.append(partial(own_slot, self))
        if self.accumulators:
            simple.append(self.atomic)
        if self.rough:
            simple += [self.rounded, self.rounded]
        if place.depth > 0:
            simple += [self.branch, self.branch, self.for_loop, self.while_loop, self.items_loop]
        if self.shared and place.uniform:
            together = [self.phase, self.phase, self.vote, self.helper]
            together += [partial(f, self) for f in (shared_atomics, tile, flag_across_barrier)]
            if self.warps:
                together += [partial(warp, self)] * 4
            if place.depth > 0:
                together += [self.uniform_loop, self.uniform_branch]
            simple = together if self.choose.chance(3) else simple + together
        self.choose.pick(*simple)(place)
        if place.in_loop and self.choose.chance(6):
            self.say(place.level, f"if {self.condition(1).text}:")
            self.say(place.level + 1, self.choose.pick("break", "continue"))
        elif place.may_return and not self.warps and self.choose.chance(16):
            self.say(place.level, f"if {self.condition(1).text}:")
            self.leave(place.level + 1)

    def leave(self, level: int) -> None:
        if self.results is None:
            if self.choose.chance(2):
                self.store_output(level)
            self.say(level, "return")
            return
        values = [stored(self.number(1), kind).text for kind in self.results]
        self.say(level, f"return {', '.join(values)}")

    def output(self, place: Place) -> None:
        if not self.outputs:
            self.declare(place)
            return
        self.store_output(place.level)

    def store_output(self, level: int) -> None:
        array = self.choose.pick(*self.outputs)
        place = "i" if len(array.shape) == 1 else f"i, {self.choose.below(array.shape[1])}"
        value = cast(self.number(2), array.kind)
        if value.floating and value.magnitude + value.fraction > 24:
            value = stored(value, array.kind)
        sign = "="
        if array.kind in INTEGERS and self.choose.chance(4):
            sign = self.choose.pick("+=", "^=", "-=")
        self.say(level, f"{array.text}[{place}] {sign} {value.text}")

    def record_store(self, place: Place) -> None:
        """A field of the thread's own record, or the whole record, gets a value."""
        if self.records and self.choose.chance(8):
            pairs = [(a, b) for a in self.own_records for b in self.records if a.fields == b.fields]
            if pairs:
                mine, other = self.choose.pick(*pairs)
                self.say(place.level, f"{mine.text}[i] = {other.text}[{self.index(other.length, 1)}]")
                return
        target, kind = self.record_target()
        sign = self.choose.pick("+=", "^=", "-=") if kind in INTEGERS and self.choose.chance(4) else "="
        self.say(place.level, f"{target} {sign} {stored(self.number(2), kind).text}")

    def rounded(self, place: Place) -> None:
        """An element that gets a rounded value."""
        array = self.choose.pick(*self.rough)
        made = RoughExpressions(self.choose, self.rough_leaf, lambda: self.condition(1).text)
        value = (made.complex if array.kind[0] == "c" else made.real)(3)
        self.say(place.level, f"{array.text}[i] = {value}")

    def rough_leaf(self) -> str:
        known = [variable(n, k) for n, k in self.variables.items()] + self.fixed
        numbers = [e for e in known if e.kind in ("f4", "f8", "pf")]
        if numbers and not self.choose.chance(3):
            return self.choose.pick(*numbers).text
        arrays = [a for a in self.arrays if a.kind in ("f4", "f8")]
        if arrays and not self.choose.chance(3):
            array = self.choose.pick(*arrays)
            return f"{array.text}[{', '.join(self.index(n, -1) for n in array.shape)}]"
        return self.choose.pick("0.75", "i", "2.5", "t", "3")

    def declare(self, place: Place) -> None:
        e = self.number(3)
        if e.literal:
            e = cast(e, "i4")
        e = stored(e, e.kind)
        name = self.fresh("v")
        self.say(place.level, f"{name} = {e.text}")
        self.variables[name] = e.kind

    def target(self, place: Place) -> str:
        if not self.variables:
            self.declare(place)
        return self.choose.pick(*self.variables)

    def assign(self, place: Place) -> None:
        name = self.target(place)
        self.say(place.level, f"{name} = {stored(self.number(3), self.variables[name]).text}")

    def retype(self, place: Place) -> None:
        """A variable gets another type; where that happened on one path only, it is converted behind."""
        name = self.target(place)
        if name not in place.outer:
            kind = self.choose.pick(*STORED)
            self.say(place.level, f"{name} = {stored(self.number(2), kind).text}")
            self.variables[name] = kind
            return
        old = self.variables[name]
        if old not in STRONG or old == "u8" or self.results is not None or place.in_loop:
            self.assign(place)
            return
        kind = self.choose.pick("i1", "i2", "i4", "u1", "u2", "f4", "f8")
        if kind in FLOATS and old in INTEGERS and old not in ("i1", "u1"):
            kind = "i1"
        if old in FLOATS and kind in ("i2", "i4", "u2"):
            kind = "u1"
        self.say(place.level, f"if {self.condition(1).text}:")
        self.say(place.level + 1, f"{name} = {stored(self.number(2), kind).text}")
        both = np.promote_types(old, kind).str[1:]
        if self.choose.chance(3):
            self.say(place.level, "else:")
            self.say(place.level + 1, f"{name} = {stored(self.number(2), old).text}")
        self.say(place.level, f"{name} = {stored(variable(f'{NAMES[both]}({name})', both), old).text}")

    def several(self, place: Place) -> None:
        """Targets of one value, or a device function with several results."""
        functions = [f for f in self.functions if len(f[2]) > 1]
        if functions and not self.choose.chance(3):
            name, parameters, results = self.choose.pick(*functions)
            arguments = self.arguments(parameters, 2)
            targets = [self.fresh("v") for _ in results]
            self.say(place.level, f"{', '.join(targets)} = {name}({arguments})")
            self.variables |= dict(zip(targets, results, strict=True))
            return
        a, b = self.fresh("v"), self.fresh("v")
        e = cast(self.number(2), self.choose.pick(*STRONG))
        e = stored(e, e.kind)
        self.say(place.level, f"{a} = {b} = {e.text}")
        self.variables |= {a: e.kind, b: e.kind}

    def unpack(self, place: Place) -> None:
        names = [self.target(place) for _ in range(2)]
        if names[0] == names[1]:
            self.assign(place)
            return
        values = [stored(self.number(1), self.variables[n]).text for n in names]
        if self.choose.chance(3):
            values = [
                stored(variable(n, self.variables[n]), self.variables[m]).text
                for n, m in zip(names, names[::-1], strict=False)
            ][::-1]
        self.say(place.level, f"{', '.join(names)} = {', '.join(values)}")

    def augmented(self, place: Place) -> None:
        whole = [n for n, k in self.variables.items() if k in INTEGERS]
        if not whole:
            self.assign(place)
            return
        name = self.choose.pick(*whole)
        kind = self.variables[name]
        sign = self.choose.pick("+", "-", "*", "^", "|", "&", "//", "%", "<<", ">>")
        value = cast(self.number(2), kind)
        text = "3" if sign in ("//", "%") and is_zero(value) else value.text
        self.say(place.level, f"{name} {sign}= ({text} & 7)" if sign in ("<<", ">>") else f"{name} {sign}= {text}")

    def local_array(self, place: Place) -> None:
        n = self.choose.pick(3, 4, 8)
        kind = self.choose.pick(*STRONG, "b")
        name, k = self.fresh("l"), self.fresh("k")
        self.say(place.level, f"{name} = cuda.local.array({n}, {NAMES.get(kind, 'np.bool_')})")
        self.say(place.level, f"for {k} in range({n}):")
        with self.scope():
            self.fixed.append(Typed(k, "pi", 3))
            self.say(place.level + 1, f"{name}[{k}] = {stored(self.number(2), kind).text}")
        array = ArrayName(name, kind, (n,))
        self.arrays.append(array)
        self.local.append(array)

    def local_store(self, place: Place) -> None:
        array = self.choose.pick(*self.local)
        self.say(
            place.level,
            f"{array.text}[{self.index(array.shape[0], 1)}] = {stored(self.number(2), array.kind).text}",
        )

    def view(self, place: Place) -> None:
        """A slice of an array, a row, a column, or the transposed array."""
        if not self.arrays:
            self.declare(place)
            return
        array = self.choose.pick(*self.arrays)
        name = self.fresh("w")
        n = array.shape[-1]
        if len(array.shape) == 2:
            text, shape = self.choose.pick(
                (f"{array.text}[{self.index(array.shape[0], 1)}]", array.shape[1:]),
                (f"{array.text}[:, {self.index(n, 1)}]", array.shape[:1]),
                (f"{array.text}.T", array.shape[::-1]),
                (f"{array.text}[::-1, 1:]", (array.shape[0], n - 1)),
                (f"{array.text}[1:, ::2]", (array.shape[0] - 1, -(-n // 2))),
            )
        else:
            text, shape = self.choose.pick(
                (f"{array.text}[1:]", (n - 1,)),
                (f"{array.text}[::-1]", (n,)),
                (f"{array.text}[::2]", (-(-n // 2),)),
                (f"{array.text}[-2:]", (min(n, 2),)),
                (f"{array.text}[:-1]", (n - 1,)),
                (f"{array.text}[-1::-2]", (-(-n // 2),)),
            )
        if min(shape) < 1:
            return
        self.say(place.level, f"{name} = {text}")
        made = ArrayName(name, array.kind, shape)
        self.arrays.append(made)
        if array in self.local and len(shape) == 1:
            self.local.append(made)

    def atomic(self, place: Place) -> None:
        operation, array = self.choose.pick(*self.accumulators)
        value = cast(self.number(2), array.kind).text
        self.say(place.level, f"cuda.atomic.{operation}({array.text}, {self.index(array.shape[0], 1)}, {value})")

    # control flow

    def inner(self, place: Place, **changes: Any) -> Place:
        outer = place.outer | frozenset(self.variables)
        new = {
            "level": place.level + 1,
            "depth": place.depth - 1,
            "in_loop": place.in_loop,
            "may_return": place.may_return,
        }
        return Place(**(new | changes), outer=outer)

    def branch(self, place: Place) -> None:
        self.say(place.level, f"if {self.condition(2).text}:")
        with self.scope():
            self.block(self.inner(place))
        while self.choose.chance(4):
            self.say(place.level, f"elif {self.condition(1).text}:")
            with self.scope():
                self.block(self.inner(place))
        if self.choose.chance(2):
            self.say(place.level, "else:")
            with self.scope():
                self.block(self.inner(place))

    def loop_body(self, place: Place, *counters: Typed, start: str | None = None) -> None:
        with self.scope():
            if start:
                self.say(place.level + 1, start)
            self.fixed += counters
            self.block(self.inner(place, in_loop=True))
        if self.choose.chance(5):
            self.say(place.level, "else:")
            with self.scope():
                self.block(self.inner(place))

    def for_loop(self, place: Place) -> None:
        k = self.fresh("k")
        e = cast(self.integer(1), "pi")
        header = self.choose.pick(
            "range(3)",
            f"range({e.text} % 5)",
            f"range(1, {e.text} % 4 + 2)",
            f"range({e.text} % 6, -1, -2)",
            "range(7, 1, -3)",
            f"range(0, 9, {e.text} % 3 + 2)",
        )
        self.say(place.level, f"for {k} in {header}:")
        self.loop_body(place, Typed(k, "pi", 4))

    def while_loop(self, place: Place) -> None:
        n = self.fresh("n")
        self.say(place.level, f"{n} = 0")
        test = self.choose.pick("", f" and {self.condition(1).text}")
        self.say(place.level, f"while {n} < {self.choose.pick(3, 2, 5)}{test}:")
        self.loop_body(place, Typed(n, "pi", 4, maybe_constant=True), start=f"{n} += 1")

    def items_loop(self, place: Place) -> None:
        arrays = [a for a in self.arrays if len(a.shape) == 1]
        m, v = self.fresh("m"), self.fresh("u")
        if not arrays or self.choose.chance(3):
            a = stored(self.number(1), "i4")
            self.say(place.level, f"for {v} in ({a.text}, {stored(self.number(1), 'i4').text}):")
            self.loop_body(place, variable(v, "i4"))
            return
        array = self.choose.pick(*arrays)
        item = variable(v, array.kind)
        form = self.choose.below(3)
        if form == 0:
            self.say(place.level, f"for {v} in {array.text}[:4]:")
            self.loop_body(place, item)
        elif form == 1:
            self.say(place.level, f"for {m}, {v} in enumerate({array.text}[-3:]):")
            self.loop_body(place, Typed(m, "pi", 4), item)
        else:
            self.say(place.level, f"for {m}, {v} in zip(range(3), {array.text}):")
            self.loop_body(place, Typed(m, "pi", 4), item)

    # barriers

    def same_in_block(self) -> str:
        """A condition that all threads of a block decide alike."""
        e = self.choose.pick(*self.uniform)
        if e.kind == "b":
            return e.text
        return f"{e.text} {self.choose.pick('<', '>', '==', '!=')} {self.choose.pick(1, 0, 2, 3)}"

    def phase(self, place: Place) -> None:
        """Every thread writes its slot and reads another's."""
        array = self.choose.pick(*self.shared)
        self.say(place.level, f"{array.text}[t] = {stored(self.number(2), array.kind).text}")
        self.say(place.level, "cuda.syncthreads()")
        name = self.fresh("v")
        neighbour = self.choose.pick(f"(t + 1) % {array.shape[0]}", self.index(array.shape[0], 1), "-1 - t")
        value = stored(variable(f"{array.text}[{neighbour}]", array.kind), array.kind)
        self.say(place.level, f"{name} = {value.text}")
        self.variables[name] = array.kind
        self.say(place.level, "cuda.syncthreads()")

    def vote(self, place: Place) -> None:
        name = self.fresh("v")
        kind = self.choose.pick("count", "and", "or")
        value = f"cuda.syncthreads_{kind}({self.condition(1).text})"
        self.say(place.level, f"{name} = {'int' if kind == 'count' else 'bool'}({value})")
        self.variables[name] = "pi" if kind == "count" else "b"

    def helper(self, place: Place) -> None:
        """A device function with barriers."""
        fitting = [(f, s) for f, kind in self.helpers for s in self.shared if s.kind == kind]
        if not fitting:
            self.phase(place)
            return
        function, array = self.choose.pick(*fitting)
        name = self.fresh("v")
        self.say(place.level, f"{name} = {function}({array.text}, t, {stored(self.number(1), array.kind).text})")
        self.variables[name] = array.kind

    def uniform_loop(self, place: Place) -> None:
        k = self.fresh("k")
        bound = self.choose.pick(*[e for e in self.uniform if e.kind == "pi"])
        header = self.choose.pick("range(2)", f"range({bound.text} % 4)", "range(3, 0, -2)")
        self.say(place.level, f"for {k} in {header}:")
        with self.scope():
            counter = Typed(k, "pi", 3)
            self.fixed.append(counter)
            self.uniform.append(counter)
            self.phase(Place(place.level + 1, 0))
            self.turns += 1
            self.block(self.inner(place, uniform=True, in_loop=False, may_return=False))
            self.turns -= 1
            if self.choose.chance(3):
                self.say(place.level + 1, f"if {self.same_in_block()}:")
                self.say(place.level + 2, self.choose.pick("break", "continue", "return"))
                self.phase(Place(place.level + 1, 0))

    def uniform_branch(self, place: Place) -> None:
        self.say(place.level, f"if {self.same_in_block()}:")
        with self.scope():
            self.block(self.inner(place, uniform=True, in_loop=False))
            self.phase(Place(place.level + 1, 0))
            if self.choose.chance(4):
                self.say(place.level + 1, self.choose.pick("break", "continue", "return") if self.turns else "return")
        if self.choose.chance(2):
            self.say(place.level, "else:")
            with self.scope():
                self.block(self.inner(place, uniform=True, in_loop=False))


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

    def __init__(self, draw: Callable[..., Any]) -> None:
        self.choose = Chooser(draw)
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
            values = _numbers(np.random.default_rng(choose.below(100)), kind, length).tolist()
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
        """Which thread it is: ``t`` in the block, ``i`` in the grid."""
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


@st.composite
def kernels(draw: Callable[..., Any]) -> Kernel:
    """Kernels whose results are exact and do not depend on the order of threads."""
    return _Maker(draw).make()

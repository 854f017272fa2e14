"""Statements of random kernels and device functions, shared memory between barriers among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from fuzz_blocks import flag_across_barrier, own_slot, shared_atomics, tile, warp
from fuzz_choices import Chooser
from fuzz_expressions import Expressions
from fuzz_functions import call_with_array, call_with_record, quotient_and_remainder
from fuzz_records import RecordArray, Records
from fuzz_rough import RoughExpressions
from fuzz_typed import (
    FLOATS,
    INTEGERS,
    NAMES,
    STORED,
    STRONG,
    ArrayName,
    Typed,
    bits,
    bounds,
    cast,
    is_zero,
    stored,
    variable,
)


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
        self.most = 40  # statements, about
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
        most = self.most if top else 3 * self.most // 4
        while self.size < most and (not self.choose.chance(8) if top else self.choose.more()):
            self.statement(place)
        if len(self.lines) == before:
            self.say(place.level, "pass")

    def statement(self, place: Place) -> None:
        self.size += 1
        simple: list[Callable[[Place], None]] = [self.output, self.declare, self.assign, self.assign, self.unpack]
        simple += [self.augmented, self.local_store if self.local else self.local_array, self.local_array, self.view]
        simple += [self.retype, self.several]
        if self.local:
            simple += [self.local_choice, self.local_store]
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
        kind = self.choose.pick(*(a.kind for a in self.local), *STRONG, "b")
        name, k = self.fresh("l"), self.fresh("k")
        self.say(place.level, f"{name} = cuda.local.array({n}, {NAMES.get(kind, 'np.bool_')})")
        self.say(place.level, f"for {k} in range({n}):")
        with self.scope():
            self.fixed.append(Typed(k, "pi", 3))
            self.say(place.level + 1, f"{name}[{k}] = {stored(self.number(2), kind).text}")
        array = ArrayName(name, kind, (n,))
        self.arrays.append(array)
        self.local.append(array)

    def local_choice(self, place: Place) -> None:
        """A name for one of two local arrays."""
        kind = self.choose.pick(*self.local).kind
        first, second = (self.choose.pick(*(a for a in self.local if a.kind == kind)) for _ in range(2))
        name, condition = self.fresh("c"), self.condition(1).text
        if self.choose.chance(2):
            self.say(place.level, f"{name} = {first.text} if {condition} else {second.text}")
        else:
            self.say(place.level, f"if {condition}:")
            self.say(place.level + 1, f"{name} = {first.text}")
            self.say(place.level, "else:")
            self.say(place.level + 1, f"{name} = {second.text}")
        made = ArrayName(name, kind, (min(first.shape[0], second.shape[0]),))
        self.arrays.append(made)
        self.local.append(made)

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
        if self.choose.chance(4):
            header, counter = self.far_range(k)
        else:
            e = cast(self.integer(1), "pi")
            header, counter = (
                self.choose.pick(
                    "range(3)",
                    f"range({e.text} % 5)",
                    f"range(1, {e.text} % 4 + 2)",
                    f"range({e.text} % 6, -1, -2)",
                    "range(7, 1, -3)",
                    f"range(0, 9, {e.text} % 3 + 2)",
                ),
                Typed(k, "pi", 4),
            )
        self.say(place.level, f"for {k} in {header}:")
        self.loop_body(place, counter)

    def far_range(self, counter: str) -> tuple[str, Typed]:
        """A range beside an end of its bounds' dtype or beyond the root of int32's, and what its counter is.

        Those of uint64 do not go down: their counters are Python integers, which end before uint64 does.
        """
        kind = self.choose.pick("i4", "u4", "u4", "i2", "u1", "i8", "u8")
        low, high = bounds(kind)
        base = self.choose.pick(high - 30, low + 10, min(50_000, high - 30), min(2**31 + 7, high - 30))
        name = NAMES[kind]
        first, last = (f"{name}(cuda.threadIdx.x % 9) + {name}({base + n})" for n in (0, self.choose.pick(2, 4, 9)))
        up, down = f"{first}, {last}", f"{last}, {first}"
        ends = self.choose.pick(up, f"{up}, 3", *(() if kind == "u8" else (f"{down}, -1", f"{down}, -4")))
        magnitude = max(abs(base), 32).bit_length()
        return f"range({ends})", Typed(counter, *(("pi", magnitude) if bits(kind) < 64 else (kind, 64)))

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

"""Text of reducing kernels, in the dialect.

A thread reduces vectors of elements, each lane on its own; then come the lanes of a thread and the threads of a group.
Functions of an element are called for each lane of a vector, which compilers for CPUs make one call of a vector's.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.dialect.names import INTRINSICS, VectorMaker, blockIdx, local, shared, threadIdx
from portagpu.dispatch.decorators import jit
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.expressions.kernels import TYPES, applied, converted
from portagpu.expressions.reductions.elements import Element
from portagpu.expressions.program import STEPS
from portagpu.expressions.reductions.plans import STRIP, Plan
from portagpu.expressions.reductions.reducers import PLACES, Reducer
from portagpu.ufuncs.kernel_source import kernel_from

_RUN = 32  # vectors that are added one after another; the sums of such runs are added then
_ROWS = 4  # of a turn of a strip
_WARP = 32
_ALL_LANES = 0xFFFFFFFF
_MOST = 4096  # kernels that are kept
_kernels: dict[Any, Dispatcher[..., Any]] = {}
_lock = threading.Lock()
_NAMES: dict[str, Any] = {
    "threadIdx": threadIdx,
    "blockIdx": blockIdx,
    "local": local,
    "shared": shared,
    **{name: INTRINSICS[name] for name in ("syncthreads", "vload", "shfl_down_sync")},
}


def kernel_for(program: Element, reducer: Reducer, plan: Plan, *, has_places: bool) -> Dispatcher[..., Any]:
    """The kernel that reduces what a program computes of each element.

    It takes what it writes (results, or numbers and places), the memory of operands, and numbers: those of the program,
    what a mean is divided by, and `portagpu.expressions.reductions.plans.arguments`. ``has_places``: the last operand
    has the elements' places.
    """
    made = _Text(program, reducer, plan, has_places=has_places)
    lines = made.kernel()
    held = dtypes.from_numpy(reducer.held)
    key = "\n".join(lines), held.name, plan.lanes, plan.wide
    with _lock:
        found = _kernels.get(key)
        if found is None:
            if len(_kernels) >= _MOST:
                _kernels.clear()
            names = {"core": _Named, "np": np, "device": jit(device=True), **_NAMES, **TYPES}
            if plan.lanes > 1:
                names["vector"] = VectorMaker(held, plan.lanes)
                names["places"] = VectorMaker(dtypes.UINT64 if plan.wide else dtypes.UINT32, plan.lanes)
            found = _kernels[key] = kernel_from(lines, names, {})
    return found


class _Named:
    """Gives the file of a kernel's text its name."""

    __name__ = "reduction"


class _Text:
    """Makes the text of one kernel."""

    def __init__(self, program: Element, reducer: Reducer, plan: Plan, *, has_places: bool) -> None:
        self.program, self.reducer, self.plan, self.has_places = program, reducer, plan, has_places
        self.lines: list[str] = []
        self.depth = 0
        self.index = "as_uint64" if plan.wide else "as_uint32"
        self.held = f"as_{dtypes.from_numpy(reducer.held).name}"
        self.numbers = [f"n{n}" for n in range(len(program.numbers))]
        self.operands = len(program.arrays) + has_places
        self.is_loaded = [f"e{n}" for n in range(self.operands)]

    # text -------------------------------------------------------------------------------------------------------------

    def add(self, *lines: str) -> None:
        """Lines of the present depth."""
        self.lines += ["    " * self.depth + line for line in lines]

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """A line, and lines that are deeper."""
        self.add(head)
        self.depth += 1
        yield
        self.depth -= 1

    def number(self, value: int) -> str:
        """Text of an index that is known."""
        return f"{self.index}({value})"

    def vector(self, *, of_places: bool = False) -> str:
        """The name of the type of a thread's numbers, or of their places."""
        if of_places:
            return "places" if self.plan.lanes > 1 else self.index
        return "vector" if self.plan.lanes > 1 else self.held

    def kernel(self) -> list[str]:
        """Lines of the kernel and of the functions that it calls."""
        plan, reducer = self.plan, self.reducer
        self.functions()
        if plan.lanes > 1:
            self.functions_of_vectors()
        outs = ["out0", "out1"] if reducer.has_places and plan.parts else ["out0"]
        memories = [f"m{n}" for n in range(self.operands)]
        counts = ["divisor"] if reducer.mean and not plan.parts else []
        with self.block(f"def kernel({', '.join([*outs, *memories, *self.numbers, *counts, *self.parameters()])}):"):
            self.body()
        return self.lines

    def parameters(self) -> list[str]:
        """Names of `arguments`."""
        plan = self.plan
        names = ["items", "lines", "length", "chunk", "turns", "width"]
        names += [f"kept{axis}" for axis in range(1, plan.kept)]
        names += [f"gone{axis}" for axis in range(1, plan.reduced)]
        for n, steps in enumerate(plan.steps):
            names += [f"first{n}"] if steps.shifted else []
            names += [f"k{n}_{axis}" for axis, step in enumerate(steps.kept) if step is None]
            names += [f"r{n}_{axis}" for axis, step in enumerate(steps.reduced) if step is None]
        if not plan.parts:
            names += [f"t_{axis}" for axis, step in enumerate(plan.target) if step is None]
        return names

    # functions --------------------------------------------------------------------------------------------------------

    def functions(self) -> None:
        """Device functions: the program of an element, two numbers as one, and a number with an element."""
        reducer = self.reducer
        loaded = self.is_loaded[: len(self.program.arrays)]
        taken = [*loaded, *self.numbers]
        with self.function("element", taken):
            values = [
                f"(as_int32({name}) != 0)" if dtype.kind == "b" else name
                for name, dtype in zip(loaded, self.program.arrays, strict=True)
            ]
            steps: list[str] = []

            def register(number: int) -> str:
                if number < 0:
                    return self.numbers[-1 - number]
                return steps[number - STEPS] if number >= STEPS else values[number]

            for n, (operation, registers) in enumerate(self.program.steps):
                args = [converted(register(r), kind) for r, kind in zip(registers, operation.inputs, strict=True)]
                self.add(f"t{n} = {converted(applied(operation.name, args), operation.dtype)}")
                steps.append(f"t{n}")
            self.add(f"return {self.held}({converted(register(self.program.output), reducer.kind)})")
        if reducer.has_places:
            self.functions_of_places(taken)
            return
        with self.function("join", ["x", "y"]):
            self.add(f"return {self.held}({reducer.joined})")
        with self.function("step", ["s", *taken]):
            self.add(f"return join(s, element({', '.join(taken)}))")

    def functions_of_places(self, taken: list[str]) -> None:
        """The larger of two numbers, or the first NaN, and its place.

        A thread begins at place 0 with the number that no other is below: where an element has that number, too, and
        none has a larger one, the first place is 0.
        """
        kind, sign = self.reducer.held.kind, PLACES[self.reducer.name]
        is_nan, new = ("np.isnan(y)", "not np.isnan(x)") if kind == "c" else ("y != y", "x == x")
        larger = f"np.{'greater' if sign == '>' else 'less'}(y, x)" if kind == "c" else f"y {sign} x"
        with self.function("is_better", ["x", "y"]):
            if kind == "f":
                self.add(f"return {larger} or ({is_nan} and {new})")
            else:
                self.add(f"return ({larger} or {is_nan}) and {new}" if kind == "c" else f"return {larger}")
        alike = f"x == y or ({is_nan} and not ({new}))" if kind in "fc" else "x == y"
        four = "x, p, y, q"
        for name, kept, other in (("join", "x", "y"), ("join_places", "p", "q")):
            with self.function(name, four.split(", ")):
                self.add(f"return {other} if is_better(x, y) or (({alike}) and q < p) else {kept}")
        element = f"element({', '.join(taken)})"
        with self.function("step", ["x", *taken]):
            self.add(f"y = {element}", "return y if is_better(x, y) else x")
        with self.function("step_places", ["x", "p", *taken, "q"]):
            self.add(f"return q if is_better(x, {element}) else p")

    @contextmanager
    def function(self, name: str, parameters: list[str]) -> Iterator[None]:
        """A device function."""
        self.add("@device")
        with self.block(f"def {name}({', '.join(parameters)}):"):
            yield
        self.add("")

    # the kernel -------------------------------------------------------------------------------------------------------

    def body(self) -> None:
        """All of the kernel's lines."""
        plan = self.plan
        one = self.number
        places = plan.block // plan.group
        if plan.block > 1:
            self.add(f"thread = {self.index}(threadIdx.x)")
            first, second = ("x", "y") if plan.across else ("y", "x")
            width = places if plan.across else plan.group
            self.add(f"{first}, {second} = thread % {one(width)}, thread // {one(width)}")
        else:
            self.add(f"y = {one(0)}")
        self.add(f"part = {self.index}(blockIdx.y)", "begin = part * chunk", "end = min(begin + chunk, length)")
        item = f"{self.index}(blockIdx.x)"
        if plan.turns:
            with self.block("for turn in range(turns):"):
                self.add(f"item = {item} * turns + turn")
                self.item()
            return
        self.add(f"item = {item}" if places == 1 else f"item = {item} * {one(places)} + x")
        self.item()

    def item(self) -> None:
        """What a thread does for a result, or a vector of them."""
        plan, reducer = self.plan, self.reducer
        if plan.aside:
            with self.block("if item < items:"):
                self.strip()
            return
        lanes = plan.lanes if plan.across else 1
        self.start("s")
        if not plan.across:
            self.add(f"t = {self.identity()}")
            if reducer.has_places:
                self.add(f"tp = {self.number(0)}")
        self.add(f"line = {self.number(0)}")
        with self.block("if item < items:"):
            self.places()
            self.reduce()
        results = []
        if plan.across:
            self.fold_vectors()
            results = [self.lane("s0", lane) for lane in range(lanes)]
        else:
            self.fold_lanes()
            results = [("t", "tp")]
        if plan.group > 1:
            results = self.exchange(results)
        condition = "item < items" if plan.group == 1 else f"y == {self.number(0)} and item < items"
        with self.block(f"if {condition}:"):
            for n, result in enumerate(results):
                self.store(n, *result)

    def identity(self) -> str:
        """Text of the number that changes no other."""
        value = self.reducer.identity
        if isinstance(value, float | complex):
            parts = (value.real, value.imag) if isinstance(value, complex) else (value,)
            shown = [repr(part).replace("inf", "np.inf").replace("nan", "np.nan") for part in parts]
            inner = shown[0] if len(parts) == 1 else f"complex({shown[0]}, {shown[1]})"
            return f"{self.held}({inner})"
        return f"{self.held}({value or 0})"

    def start(self, name: str) -> None:
        """Set a thread's numbers to what changes no other."""
        plan = self.plan
        for u in range(plan.vectors):
            self.add(f"{name}{u} = {f'vector({self.identity()})' if plan.lanes > 1 else self.identity()}")
            if self.reducer.has_places:
                self.add(f"{name}{u}p = {f'places({self.number(0)})' if plan.lanes > 1 else self.number(0)}")

    def places(self) -> None:
        """Where the operands of an item begin."""
        plan = self.plan
        columns = self.columns()
        rest = "item"
        coordinates = [""] * plan.kept
        inner = f"kept{plan.kept - 1}" if plan.kept > 1 else "lines"
        if columns > 1 or plan.aside:
            width = "width" if plan.aside else self.number(columns)
            self.add(f"strips = ({inner} + {width} - {self.number(1)}) // {width}", "rest = item // strips")
            self.add(f"first = item % strips * {width}")
            last = plan.kept - 2
            rest = "rest"
            if plan.aside:
                self.add(f"row = rest * {inner}")
            else:
                self.add(f"line = rest * {inner} + first")
                coordinates[-1] = "first"
        else:
            self.add("line = item")
            last = plan.kept - 1
        if last > 0:
            self.add(f"rest = {rest}") if rest != "rest" else None
            for axis in range(last, 0, -1):
                self.add(f"c{axis} = rest % kept{axis}", f"rest = rest // kept{axis}")
                coordinates[axis] = f"c{axis}"
            rest = "rest"
        if last >= 0:
            coordinates[0] = rest
        if plan.aside:
            coordinates = coordinates[:-1]
        for n, steps in enumerate(plan.steps):
            terms = [f"first{n}"] if steps.shifted else []
            terms += _terms(coordinates, steps.kept[: len(coordinates)], f"k{n}")
            self.add(f"b{n} = {' + '.join(terms) or self.number(0)}")
        if not plan.parts:
            terms = _terms(coordinates, plan.target[: len(coordinates)], "t")
            self.add(f"target = {' + '.join(terms) or self.number(0)}")

    def columns(self) -> int:
        """Results of a thread."""
        plan = self.plan
        return plan.lanes if plan.across else 1

    def reduce(self) -> None:
        """Reduce a thread's elements of a part."""
        plan, reducer = self.plan, self.reducer
        if reducer.identity is None:
            self.in_order()
            return
        along = 1 if plan.across else plan.lanes
        step = plan.group * along * plan.vectors
        self.hoisted()
        self.add(f"whole = begin + (end - begin) // {self.number(step)} * {self.number(step)}")
        lane = f" + y * {self.number(along)}" if along > 1 else " + y"
        if plan.group == 1:
            lane = ""
        if reducer.adds_floats:
            run = self.number(step * _RUN)
            with self.block(f"for run in range(begin, whole, {run}):"):
                self.start("f")
                with self.block(f"for r in range(run, min(run + {run}, whole), {self.number(step)}):"):
                    self.step("f", lane, along)
                for u in range(plan.vectors):
                    self.join_vectors(f"s{u}", f"f{u}")
        else:
            with self.block(f"for r in range(begin, whole, {self.number(step)}):"):
                self.step("s", lane, along)
        if step == 1:
            return
        begin = "whole" if plan.group == 1 else "whole + y"
        if plan.across:
            with self.block(f"for r in range({begin}, end, {self.number(plan.group)}):"):
                self.element("s0", "u0", "r", 0)
        else:
            with self.block(f"for r in range({begin}, end, {self.number(plan.group)}):"):
                self.element("t", "u0", "r", 0, single=True)

    def strip(self) -> None:
        """Reduce the elements of many neighbouring results, whose numbers lie in a core's cache."""
        plan, has_places = self.plan, self.reducer.has_places
        self.places()
        self.hoisted()
        one, lanes = self.number(1), self.number(plan.lanes)
        inner = f"kept{plan.kept - 1}" if plan.kept > 1 else "lines"
        self.add(f"count = (min(width, {inner} - first) + {lanes} - {one}) // {lanes}")
        self.add(f"held = local.array({STRIP // plan.lanes}, {self.vector()})")
        if has_places:
            self.add(f"held_places = local.array({STRIP // plan.lanes}, {self.vector(of_places=True)})")
        with self.block("for c in range(count):"):
            self.start("s")
            self.add("held[c] = s0", *(["held_places[c] = s0p"] if has_places else []))
        step = self.number(_ROWS)
        self.add(f"whole = begin + (end - begin) // {step} * {step}")
        for begin, end, rows in (("begin", "whole", _ROWS), ("whole", "end", 1)):
            with self.block(f"for r in range({begin}, {end}, {self.number(rows)}):"), self.columns_of_strip():
                self.add("s0 = held[c]", *(["s0p = held_places[c]"] if has_places else []))
                for u in range(rows):
                    self.add(f"at{u} = r + {self.number(u)}")
                    self.load(f"v{u}", f"at{u}", 0)
                for u in range(rows):
                    self.apply("s0", f"v{u}", f"at{u}", 0)
                self.add("held[c] = s0", *(["held_places[c] = s0p"] if has_places else []))
        with self.columns_of_strip():
            self.add("line = row + column")
            self.add("s0 = held[c]", *(["s0p = held_places[c]"] if has_places else []))
            if not plan.parts:
                terms = _terms(["column"], plan.target[-1:], "t", plan.kept - 1)
                self.add("start = target", f"target = {' + '.join(['start', *terms])}")
            for lane in range(plan.lanes):
                self.store(lane, *self.lane("s0", lane))
            if not plan.parts:
                self.add("target = start")

    @contextmanager
    def columns_of_strip(self) -> Iterator[None]:
        """A loop over a strip's vectors, the last of which begins so that it ends with the row."""
        inner = f"kept{self.plan.kept - 1}" if self.plan.kept > 1 else "lines"
        lanes = self.number(self.plan.lanes)
        with self.block("for c in range(count):"):
            self.add(f"column = min(first + {self.index}(c) * {lanes}, {inner} - {lanes})")
            yield

    def in_order(self) -> None:
        """Reduce all elements of a result, one after the other."""
        self.hoisted()
        with self.block(f"if begin < end:"):
            self.load("u0", "begin", 0, single=True)
            args = ", ".join([*self.values("u0")[: len(self.program.arrays)], *self.numbers])
            first = "s0" if self.plan.across else "t"
            self.add(f"{first} = element({args})")
            with self.block(f"for r in range(begin + {self.number(1)}, end):"):
                self.element(first, "u0", "r", 0, single=True)

    def step(self, name: str, lane: str, along: int) -> None:
        """A turn of a thread: its vectors."""
        plan = self.plan
        for u in range(plan.vectors):
            ahead = "" if not u else f" + {self.number(u * plan.group * along)}"
            self.add(f"at{u} = r{lane}{ahead}")
            self.load(f"v{u}", f"at{u}", u)
        for u in range(plan.vectors):
            self.apply(f"{name}{u}", f"v{u}", f"at{u}", u)

    def element(self, state: str, prefix: str, at: str, u: int, *, single: bool = False) -> None:
        """Load elements and reduce them."""
        self.load(prefix, at, u, single=single)
        self.apply(state, prefix, at, u, single=single)

    def hoisted(self) -> None:
        """Load operands that have one element for all that is reduced."""
        for n, steps in enumerate(self.plan.steps):
            if self.is_hoisted(n):
                self.add(f"h{n} = m{n}.ravel()[b{n}]")

    def is_hoisted(self, n: int) -> bool:
        steps = self.plan.steps[n]
        return all(step == 0 for step in (*steps.reduced, *(steps.kept[-1:] if self.plan.across else ())))

    def load(self, prefix: str, at: str, u: int, *, single: bool = False) -> None:
        """Load a vector of each operand from position ``at`` of what is reduced on, or an element."""
        plan = self.plan
        if plan.reduced > 1 and not all(map(self.is_hoisted, range(self.operands))):
            self.add(f"{prefix}q = {at}")
            for axis in range(plan.reduced - 1, 0, -1):
                self.add(f"{prefix}c{axis} = {prefix}q % gone{axis}", f"{prefix}q = {prefix}q // gone{axis}")
            coordinates = [f"{prefix}q", *(f"{prefix}c{axis}" for axis in range(1, plan.reduced))]
        else:
            coordinates = [at] * plan.reduced
        for n, steps in enumerate(plan.steps):
            if self.is_hoisted(n):
                continue
            terms = [f"b{n}", *_terms(coordinates, steps.reduced, f"r{n}")]
            if plan.aside:
                terms += _terms(["column"], steps.kept[-1:], f"k{n}", len(steps.kept) - 1)
            place = " + ".join(terms)
            if self.is_vector(n) and not single:
                aligned = ", aligned=True" if plan.aligned else ""
                self.add(f"{prefix}e{n} = vload(m{n}.ravel(), {place}, {plan.lanes}{aligned})")
            else:
                self.add(f"{prefix}e{n} = m{n}.ravel()[{place}]")

    def is_vector(self, n: int) -> bool:
        """Whether an operand is loaded as vectors."""
        steps = self.plan.steps[n]
        walked = steps.kept if self.plan.across else steps.reduced
        return self.plan.lanes > 1 and not self.is_hoisted(n) and walked[-1] == 1

    def values(self, prefix: str) -> list[str]:
        """Names of what was loaded."""
        return [f"h{n}" if self.is_hoisted(n) else f"{prefix}e{n}" for n in range(self.operands)]

    def apply(self, state: str, prefix: str, at: str, u: int, *, single: bool = False) -> None:
        """Reduce what was loaded."""
        values = [*self.values(prefix), *([] if self.has_places or not self.reducer.has_places else [at])]
        if single or self.plan.lanes == 1:
            self.assign(state, *self.steps_of(state, f"{state}p", values))
            return
        args = ", ".join([state, *([f"{state}p"] if self.reducer.has_places else []), *values, *self.numbers])
        self.assign(state, f"take({args})", f"take_places({args})")

    def steps_of(self, number: str, old: str, values: list[str]) -> tuple[str, str]:
        """Text of a number, and of its place, after one more element."""
        if not self.reducer.has_places:
            return f"step({', '.join([number, *values, *self.numbers])})", ""
        *loaded, place = values
        rest = ", ".join([*loaded, *self.numbers])
        if self.has_places:  # places of parts, in any order
            four = f"{number}, {old}, element({rest}), {place}"
            return f"join({four})", f"join_places({four})"
        return f"step({number}, {rest})", f"step_places({number}, {old}, {rest}, {place})"

    def functions_of_vectors(self) -> None:
        """A vector with one more element in each lane, and two vectors as one."""
        plan, reducer = self.plan, self.reducer
        states = ["s", "p"] if reducer.has_places else ["s"]
        names = [*self.is_loaded, *(["at"] if reducer.has_places and not self.has_places else [])]
        turns = []
        for lane in range(plan.lanes):
            values = [f"{name}[{lane}]" if self.is_vector(n) else name for n, name in enumerate(self.is_loaded)]
            if len(names) > len(self.is_loaded):
                values.append(f"at + {self.number(lane)}" if lane and not plan.across else "at")
            turns.append(self.steps_of(f"s[{lane}]", f"p[{lane}]", values))
        for n, name in enumerate(("take", "take_places")[: len(states)]):
            with self.function(name, [*states, *names, *self.numbers]):
                self.add(f"return {self.vector(of_places=n > 0)}({', '.join(turn[n] for turn in turns)})")
        both = ["x", "p", "y", "q"] if reducer.has_places else ["x", "y"]
        for n, name in enumerate(("join", "join_places")[: len(states)]):
            with self.function(f"{name}_lanes", both):
                pairs = [f"{name}({', '.join(f'{v}[{lane}]' for v in both)})" for lane in range(plan.lanes)]
                self.add(f"return {self.vector(of_places=n > 0)}({', '.join(pairs)})")

    def assign(self, state: str, number: str, place: str) -> None:
        """Set a thread's numbers, and their places."""
        if not self.reducer.has_places:
            self.add(f"{state} = {number}")
        else:
            self.add(f"new = {number}", f"{state}p = {place}", f"{state} = new")

    def join_vectors(self, state: str, other: str) -> None:
        """Join two vectors lane by lane."""
        lanes = "_lanes" if self.plan.lanes > 1 else ""
        both = f"{state}, {other}"
        if self.reducer.has_places:
            both = f"{state}, {state}p, {other}, {other}p"
        self.assign(state, f"join{lanes}({both})", f"join_places{lanes}({both})")

    def lane(self, state: str, lane: int) -> tuple[str, str]:
        """Text of a lane's number and place."""
        own = f"[{lane}]" if self.plan.lanes > 1 else ""
        return f"{state}{own}", f"{state}p{own}"

    # what threads have ------------------------------------------------------------------------------------------------

    def fold_lanes(self) -> None:
        """Join a thread's vectors, their lanes, and the rest: to ``t``."""
        plan = self.plan
        if self.reducer.identity is None:
            return
        self.fold_vectors()
        values = [self.lane("s0", lane) for lane in range(plan.lanes)]
        count = 0
        while len(values) > 1:
            joined = []
            for first, second in zip(values[: len(values) // 2], values[len(values) // 2 :], strict=True):
                joined.append(self.joined(f"d{count}", first, second))
                count += 1
            values = joined
        self.joined("t", ("t", "tp"), values[0])

    def fold_vectors(self) -> None:
        """Join a thread's vectors lane by lane: to ``s0``."""
        if self.reducer.identity is None:
            return
        names = [f"s{u}" for u in range(self.plan.vectors)]
        while len(names) > 1:
            half = len(names) // 2
            for first, second in zip(names[:half], names[half:], strict=True):
                self.join_vectors(first, second)
            names = names[:half]

    def joined(self, name: str, first: tuple[str, str], second: tuple[str, str]) -> tuple[str, str]:
        """Set ``name`` to two numbers joined."""
        if self.reducer.has_places:
            four = ", ".join((*first, *second))
            self.add(f"new = join({four})", f"{name}p = join_places({four})", f"{name} = new")
        else:
            self.add(f"{name} = join({first[0]}, {second[0]})")
        return name, f"{name}p"

    def exchange(self, results: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Join what the threads of a group have, for the first of them."""
        plan, reducer = self.plan, self.reducer
        for n, (number, place) in enumerate(results):
            self.add(f"z{n} = {number}", *([f"z{n}p = {place}"] if reducer.has_places else []))
        names = [(f"z{n}", f"z{n}p") for n in range(len(results))]
        if plan.warps and not plan.across and reducer.held.kind != "c":
            self.by_warps(*names[0])
            return names
        self.add(f"numbers = shared.array({plan.block * len(names)}, {self.held})")
        if reducer.has_places:
            self.add(f"numbers_places = shared.array({plan.block * len(names)}, {self.index})")
        distance = plan.block // plan.group if plan.across else 1
        if plan.turns:
            self.add("syncthreads()")
        width = plan.group
        for n, pair in enumerate(names):
            self.put(n, *pair)
        self.add("syncthreads()")
        while width > 1:
            width //= 2
            with self.block(f"if y < {self.number(width)}:"):
                for n, pair in enumerate(names):
                    at = f"thread + {self.number(n * plan.block + width * distance)}"
                    self.joined(pair[0], pair, (f"numbers[{at}]", f"numbers_places[{at}]"))
                    if width > 1:
                        self.put(n, *pair)
            if width > 1:
                self.add("syncthreads()")
        return names

    def put(self, n: int, number: str, place: str) -> None:
        """Show a number to the block."""
        at = f"thread + {self.number(n * self.plan.block)}" if n else "thread"
        self.add(f"numbers[{at}] = {number}")
        if self.reducer.has_places:
            self.add(f"numbers_places[{at}] = {place}")

    def by_warps(self, number: str, place: str) -> None:
        """The same by exchanges within warps, and through shared memory between them."""
        plan = self.plan
        self.shuffled(number, place, min(plan.group, _WARP))
        count = plan.group // _WARP
        if count <= 1:
            return
        has_places = self.reducer.has_places
        self.add(f"numbers = shared.array({plan.block // _WARP}, {self.held})")
        if has_places:
            self.add(f"numbers_places = shared.array({plan.block // _WARP}, {self.index})")
        with self.block(f"if thread % {self.number(_WARP)} == {self.number(0)}:"):
            self.add(f"numbers[thread // {self.number(_WARP)}] = {number}")
            if has_places:
                self.add(f"numbers_places[thread // {self.number(_WARP)}] = {place}")
        self.add("syncthreads()", f"from_warp = x * {self.number(count)} + min(y, {self.number(count - 1)})")
        self.add(f"{number} = numbers[from_warp]")
        if has_places:
            self.add(f"{place} = numbers_places[from_warp]")
        self.shuffled(number, place, count)

    def shuffled(self, number: str, place: str, width: int) -> None:
        """Join the numbers of so many lanes that are neighbours."""
        while width > 1:
            width //= 2
            self.add(f"other = shfl_down_sync({_ALL_LANES}, {number}, {width})")
            if self.reducer.has_places:
                self.add(f"other_place = shfl_down_sync({_ALL_LANES}, {place}, {width})")
            self.joined(number, (number, place), ("other", "other_place"))

    def store(self, n: int, number: str, place: str) -> None:
        """Store the n-th result of a thread."""
        plan, reducer = self.plan, self.reducer
        if plan.parts:
            at = f"part * lines + line + {self.number(n)}" if n else "part * lines + line"
            self.add(
                f"out0.ravel()[{at}] = {number}", *([f"out1.ravel()[{at}] = {place}"] if reducer.has_places else [])
            )
            return
        ahead = _terms([self.number(n)], plan.target[-1:], "t", plan.kept - 1) if n else []
        at = " + ".join(["target", *ahead])
        if reducer.has_places:
            self.add(f"out0.ravel()[{at}] = as_int64({place})")
            return
        if reducer.mean:
            number = f"{number} / divisor"
        if reducer.root:
            number = f"np.sqrt({number})"
        if reducer.output.kind == "b":
            number = f"{number} != {self.held}(0)"
        self.add(f"out0.ravel()[{at}] = {converted(number, reducer.output)}")


def _terms(coordinates: list[str], steps: tuple[int | None, ...], name: str, first: int = 0) -> list[str]:
    """Terms of a place: coordinates times steps."""
    found = []
    for axis, (coordinate, step) in enumerate(zip(coordinates, steps, strict=True)):
        if step == 0:
            continue
        found.append(coordinate if step == 1 else f"({coordinate}) * {name}_{axis + first}")
    return found

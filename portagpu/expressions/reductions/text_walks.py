"""How a thread walks over its elements."""

from __future__ import annotations

from portagpu.expressions.reductions.text_exchanges import TextOfExchanges
from portagpu.expressions.reductions.text_lines import terms_of

_RUN = 32  # vectors that are added one after another; the sums of such runs are added then
_SEARCHED = 32  # turns of a thread whose largest number is found before its place


class TextOfWalks(TextOfExchanges):
    """Adds loops over elements, loads, and calls for what was loaded."""

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
            terms += terms_of(coordinates, steps.kept[: len(coordinates)], f"k{n}")
            self.add(f"b{n} = {' + '.join(terms) or self.number(0)}")
        if not plan.parts:
            terms = terms_of(coordinates, plan.target[: len(coordinates)], "t")
            self.add(f"target = {' + '.join(terms) or self.number(0)}")

    def columns(self) -> int:
        """Results of a thread."""
        plan = self.plan
        return plan.lanes if plan.across else 1

    def start(self, name: str) -> None:
        """Set a thread's numbers to what changes no other."""
        plan = self.plan
        for u in range(plan.vectors):
            self.add(f"{name}{u} = {f'vector({self.identity()})' if plan.lanes > 1 else self.identity()}")
            if self.reducer.has_places:
                self.add(f"{name}{u}p = {f'places({self.number(0)})' if plan.lanes > 1 else self.number(0)}")

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
        if self.searches:
            self.search(step)
            return
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

    def search(self, step: int) -> None:
        """Find the largest number of each block of elements, and its place in the first block that has the largest.

        So that the loop over all elements is that of their maximum.
        """
        plan = self.plan
        count = self.number(step * _SEARCHED)
        vectors = range(plan.vectors)
        self.add("where = begin")
        with self.block(f"for run in range(begin, whole, {count}):"):
            self.start("s")
            with self.block(f"for r in range(run, min(run + {count}, whole), {self.number(step)}):"):
                for u in vectors:
                    self.add(f"at{u} = r + {self.number(u * plan.lanes)}")
                    self.load(f"v{u}", f"at{u}", u)
                for u in vectors:
                    args = [f"s{u}", f"s{u}p", *self.values(f"v{u}"), f"at{u}", *self.numbers]
                    self.add(f"s{u} = take({', '.join(args)})")
            self.fold_vectors()
            number, _ = self.one_lane()
            with self.block(f"if is_better(t, {number}):"):
                self.add(f"t = {number}", "where = run")
        element = f"e = element({', '.join([*self.values('u0'), *self.numbers])})"
        with self.block("for r in range(whole, end):"):
            self.load("u0", "r", 0, single=True)
            self.add(element)
            with self.block("if is_better(t, e):"):
                self.add("t = e", "tp = r", "where = end")
        with self.block(f"for r in range(where, min(where + {count}, end)):"):
            self.load("u0", "r", 0, single=True)
            self.add(element)
            with self.block("if not is_better(t, e) and not is_better(e, t):"):
                self.add("tp = r", "break")

    def in_order(self) -> None:
        """Reduce all elements of a result, one after the other."""
        self.hoisted()
        with self.block("if begin < end:"):
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
        for n in range(self.operands):
            if self.is_hoisted(n):
                self.add(f"h{n} = m{n}.ravel()[b{n}]")

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
            terms = [f"b{n}", *terms_of(coordinates, steps.reduced, f"r{n}")]
            if plan.aside:
                terms += terms_of(["column"], steps.kept[-1:], f"k{n}", len(steps.kept) - 1)
            place = " + ".join(terms)
            if self.is_vector(n) and not single:
                aligned = ", aligned=True" if plan.aligned else ""
                self.add(f"{prefix}e{n} = vload(m{n}.ravel(), {place}, {plan.lanes}{aligned})")
            else:
                self.add(f"{prefix}e{n} = m{n}.ravel()[{place}]")

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

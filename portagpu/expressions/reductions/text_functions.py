"""Device functions of a reducing kernel: an element, two numbers as one, and the same of vectors."""

from __future__ import annotations

from portagpu.expressions.program import STEPS
from portagpu.expressions.reductions.reducers import PLACES
from portagpu.expressions.reductions.text_lines import TextLines
from portagpu.expressions.step_text import applied, converted


class TextOfFunctions(TextLines):
    """Adds the functions, and calls of them."""

    @property
    def searches(self) -> bool:
        """Whether places are looked for when the largest number is known: by threads that have neighbours alone."""
        plan = self.plan
        is_alone = plan.group == 1 and plan.lanes > 1 and not plan.across
        return is_alone and self.reducer.has_places and not self.has_places

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
        best = "y if is_better(x, y) else x"
        if self.searches and kind == "f":  # only numbers: compilers know their maximum as one instruction of vectors
            best = f"{self.held}(np.{'maximum' if sign == '>' else 'minimum'}(x, y))"
        with self.function("step", ["x", *taken]):
            self.add(f"y = {element}", f"return {best}")
        with self.function("step_places", ["x", "p", *taken, "q"]):
            self.add(f"return q if is_better(x, {element}) else p")

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

    def joined(self, name: str, first: tuple[str, str], second: tuple[str, str]) -> tuple[str, str]:
        """Set ``name`` to two numbers joined."""
        if self.reducer.has_places:
            four = ", ".join((*first, *second))
            self.add(f"new = join({four})", f"{name}p = join_places({four})", f"{name} = new")
        else:
            self.add(f"{name} = join({first[0]}, {second[0]})")
        return name, f"{name}p"

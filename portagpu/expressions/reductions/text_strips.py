"""How a work-item of a CPU reduces many neighbouring results at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from portagpu.expressions.reductions.plans import STRIP
from portagpu.expressions.reductions.text_lines import terms_of
from portagpu.expressions.reductions.text_walks import TextOfWalks
from portagpu.expressions.step_text import converted

_ROWS = 4  # of a turn


class TextOfStrips(TextOfWalks):
    """Adds strips, and what is stored."""

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
                terms = terms_of(["column"], plan.target[-1:], "t", plan.kept - 1)
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

    def store(self, n: int, number: str, place: str) -> None:
        """Store the n-th result of a thread."""
        plan, reducer = self.plan, self.reducer
        if plan.parts:
            at = f"part * lines + line + {self.number(n)}" if n else "part * lines + line"
            self.add(
                f"out0.ravel()[{at}] = {number}", *([f"out1.ravel()[{at}] = {place}"] if reducer.has_places else [])
            )
            return
        ahead = terms_of([self.number(n)], plan.target[-1:], "t", plan.kept - 1) if n else []
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

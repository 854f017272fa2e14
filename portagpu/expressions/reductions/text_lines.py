"""Lines of a reducing kernel's text, and what they are about: an element, how it is reduced, a plan."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from portagpu import dtypes
from portagpu.expressions.reductions.elements import Element
from portagpu.expressions.reductions.plans import Plan
from portagpu.expressions.reductions.reducers import Reducer


class TextLines:
    """The lines of one kernel."""

    def __init__(self, program: Element, reducer: Reducer, plan: Plan, *, has_places: bool) -> None:
        self.program, self.reducer, self.plan, self.has_places = program, reducer, plan, has_places
        self.lines: list[str] = []
        self.depth = 0
        self.index = "as_uint64" if plan.wide else "as_uint32"
        self.held = f"as_{dtypes.from_numpy(reducer.held).name}"
        self.numbers = [f"n{n}" for n in range(len(program.numbers))]
        self.operands = len(program.arrays) + has_places
        self.is_loaded = [f"e{n}" for n in range(self.operands)]

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

    @contextmanager
    def function(self, name: str, parameters: list[str]) -> Iterator[None]:
        """A device function."""
        self.add("@device")
        with self.block(f"def {name}({', '.join(parameters)}):"):
            yield
        self.add("")

    def identity(self) -> str:
        """Text of the number that changes no other."""
        value = self.reducer.identity
        if isinstance(value, float | complex):
            parts = (value.real, value.imag) if isinstance(value, complex) else (value,)
            shown = [repr(part).replace("inf", "np.inf").replace("nan", "np.nan") for part in parts]
            inner = shown[0] if len(parts) == 1 else f"complex({shown[0]}, {shown[1]})"
            return f"{self.held}({inner})"
        return f"{self.held}({value or 0})"

    def lane(self, state: str, lane: int) -> tuple[str, str]:
        """Text of a lane's number and place."""
        own = f"[{lane}]" if self.plan.lanes > 1 else ""
        return f"{state}{own}", f"{state}p{own}"

    def is_hoisted(self, n: int) -> bool:
        """Whether an operand has one element for all that a thread reduces."""
        steps = self.plan.steps[n]
        return all(step == 0 for step in (*steps.reduced, *(steps.kept[-1:] if self.plan.across else ())))

    def is_vector(self, n: int) -> bool:
        """Whether an operand is loaded as vectors."""
        steps = self.plan.steps[n]
        walked = steps.kept if self.plan.across else steps.reduced
        return self.plan.lanes > 1 and not self.is_hoisted(n) and walked[-1] == 1


def terms_of(coordinates: list[str], steps: tuple[int | None, ...], name: str, first: int = 0) -> list[str]:
    """Terms of a place: coordinates times steps."""
    found = []
    for axis, (coordinate, step) in enumerate(zip(coordinates, steps, strict=True)):
        if step == 0:
            continue
        found.append(coordinate if step == 1 else f"({coordinate}) * {name}_{axis + first}")
    return found

"""Subject "blas": random calls of BLAS, LAPACK and linalg beside SciPy's and NumPy's."""

from __future__ import annotations

from random import Random

from fuzz_blas_calls import CALLS
from fuzz_blas_run import difference
from fuzz_choices import Chooser
from fuzz_lines import Program
from fuzz_subject import Difference

SIZES = (1, 2, 3, 5, 7, 8, 4, 13, 16, 17, 31, 33, 64, 65, 0, 47, 97, 129)
CALLS_OF_FAMILY = 16
CHARACTERS = {"s": "f4", "d": "f8", "c": "c8", "z": "c16"}


class Family:
    """A routine, a dtype and sizes: calls of a family run the same kernels, which are compiled once."""

    def __init__(self, choose: Chooser) -> None:
        self.call = choose.pick(*CALLS)
        self.character = str(choose.pick(*CHARACTERS))
        self.host = choose.chance(4)  # all operands
        self.sizes = [int(choose.pick(*SIZES)) for _ in range(3)]
        self.small = [int(choose.pick(*SIZES[:-2])) for _ in range(2)]


class Case:
    """The operands of one call."""

    def __init__(self, choose: Chooser, family: Family) -> None:
        self.choose, self.family = choose, family
        self.pick = self.choose.pick
        self.character = family.character
        self.kind = CHARACTERS[self.character]
        self.complex = self.character in "cz"
        self.host = family.host
        self.lines: list[str] = []
        self.written: list[str] = []
        self.words: list[str] = []

    def size(self) -> int:
        return int(self.pick(*self.family.sizes))

    def small(self) -> int:
        """A size for solvers, whose launches are many."""
        return int(self.pick(*self.family.small))

    def on_device(self) -> bool:
        return not self.host and not self.choose.chance(60)

    def array(self, name: str, shape: tuple[int, ...], form: str = "", kind: str = "") -> str:
        """Prepare an operand inside of memory that is NaN around it, in one of several layouts."""
        kind = kind or self.kind
        pick = self.pick
        if self.choose.chance(3):  # the whole memory, in C or Fortran order
            order = pick("F", "C")
            text = f"framed({kind!r}, {shape}, np.s_[...], {self.choose.below(99)}, {form!r}, {order!r})"
            self.lines += [f"{name}_ = {self.moved(text)}", f"{name} = {name}_[...]"]
            return name
        turn = len(shape) > 1 and self.choose.chance(2)
        extents, parts = [], []
        for n in reversed(shape) if turn else shape:
            step, first = pick(1, 1, 1, 2), pick(1, 0, 3)
            last = first + step * n
            extents.append(last + pick(0, 2, 1))
            parts.append(f"{first}:{last}" + (f":{step}" if step > 1 else ""))
            if self.choose.chance(14) and n and form == "":
                parts[-1] = f"{last - 1}:{first - 1 if first else ''}:-{step}"
        axes = ", ".join(parts)
        back = ".T" if turn else ""
        order = pick("C", "C", "F")
        text = f"framed({kind!r}, {tuple(extents)}, np.s_[{axes}], {self.choose.below(99)}, {form!r}, {order!r}"
        text += ", transposed=True)" if turn else ")"
        self.lines += [f"{name}_ = {self.moved(text)}", f"{name} = {name}_[{axes}]{back}"]
        return name

    def moved(self, text: str) -> str:
        return f"cuda.to_device({text})" if self.on_device() else text

    def vector(self, name: str, n: int, form: str = "") -> str:
        """Prepare a vector of ``n`` elements with an increment and an offset, as words of the call."""
        step, first = self.pick(1, 1, 1, 2, 3, -1, -2), self.pick(0, 0, 0, 1, 4)
        extent = first + n * abs(step) + self.pick(0, 0, 2)
        axes = f"{first}:{first + n * abs(step)}:{abs(step)}"
        text = f"framed({self.kind!r}, ({extent},), np.s_[{axes}], {self.choose.below(99)}, {form!r})"
        self.lines += [f"{name}_ = {self.moved(text)}", f"{name} = {name}_[...]"]
        if step != 1:
            self.words.append(f"inc{name}={step}")
        if first:
            self.words.append(f"off{name}={first}")
        return name

    def factor(self, *, real: bool = False) -> str:
        """A number that products are multiplied by."""
        if self.complex and not real and self.choose.chance(2):
            return str(self.pick("2-1j", "1j", "-3+2j"))
        return str(self.pick("1.0", "2.0", "-1.0", "0.0", "-3.0", "0.5"))

    def flag(self, word: str, *values: int, chance: int = 2) -> int:
        """Set a word of the call, or leave its default 0."""
        value = int(self.pick(0, *values)) if values else int(self.choose.chance(chance))
        if value:
            self.words.append(f"{word}={value}")
        return value

    def overwrite(self, name: str) -> None:
        if self.flag(f"overwrite_{name}"):
            self.written.append(name)

    def make(self) -> Program:
        call, within = self.family.call(self)
        notes = [f"within {within}"] if within else []
        if self.written:
            notes.append("writes " + " ".join(self.written))
        words = "".join(f", {w}" for w in self.words)
        note = f": {', '.join(notes)!r}" if notes else ""
        return Program("\n".join([*self.lines, f"r{note} = {call}{words})"]), "blas")


def drawn(random: Random) -> list[Program]:
    """Programs that prepare operands and make one call each, of one family: all else is drawn for each."""
    choose = Chooser(random)
    family = Family(choose)
    return list(dict.fromkeys(Case(choose, family).make() for _ in range(CALLS_OF_FAMILY)))


def check(program: Program) -> None:
    """Raise `Difference` where a call is wrong, changes other memory, or has other bits when it is repeated."""
    if problem := difference(program):
        raise Difference(problem)

"""Conditions on a kernel's figures that decide whether a check succeeds: ``registers<=64``, ``matrix-unit``.

A condition is a word, or a quantity, a comparison and a number: ``occupancy>=4``, of the most that there can be
``occupancy>=50%``. Blanks do not matter. Several in one text are separated by commas.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from portagpu.backends.offline import InstructionMix, OfflineFigures
from portagpu.errors import SettingsError, did_you_mean

_Number = Callable[[OfflineFigures], "int | None"]
_MOST_DIGITS = 18


def _of_mix(number: Callable[[InstructionMix], int]) -> _Number:
    return lambda figures: None if figures.mix is None else number(figures.mix)


class Quantity(NamedTuple):
    """A number that conditions are about. ``everywhere``: whether every GPU has such a number."""

    number: _Number
    text: str
    everywhere: bool = True


QUANTITIES: dict[str, Quantity] = {
    "registers": Quantity(lambda f: f.registers, "vector registers"),
    "scalar-registers": Quantity(lambda f: f.scalar_registers, "scalar registers", everywhere=False),
    "matrix-registers": Quantity(lambda f: f.matrix_registers, "registers of matrix units"),
    "spilled": Quantity(lambda f: f.spilled, "registers that went to memory", everywhere=False),
    "scratch": Quantity(lambda f: f.scratch_bytes, "bytes of private memory outside registers"),
    "local": Quantity(lambda f: f.local_bytes, "bytes of local memory"),
    "lanes": Quantity(lambda f: f.lanes, "lanes of a subgroup"),
    "occupancy": Quantity(lambda f: f.occupancy, "subgroups of a vector unit"),
    "loads": Quantity(_of_mix(lambda m: m.widest_load_bytes), "bytes of the widest load of a lane"),
    "stores": Quantity(_of_mix(lambda m: m.widest_store_bytes), "bytes of the widest store of a lane"),
    "instructions": Quantity(_of_mix(lambda m: m.total), "instructions"),
    **{
        name: Quantity(_of_mix(operator.attrgetter(name)), f"{name} instructions")
        for name in ("matrix", "fma", "special", "atomics", "barriers", "branches")
    },
}

WORDS: dict[str, str] = {
    "compiles": "the compiler takes it (which is always asked)",
    "no-spills": "nothing is kept in memory that should be in registers (of GPUs)",
    "matrix-unit": "an instruction of matrix units is used",
    "no-matrix-unit": "none is used",
}
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}
_CONDITION = re.compile(r"([A-Za-z][\w-]*)\s*(?:(<=|>=|==|!=|=|<|>)\s*(\S+))?")
_VALUE = re.compile(r"(\d+)(%?)")


class Requirement(NamedTuple):
    """One condition: a word, or a comparison. ``percent``: ``limit`` is one of the most that there can be."""

    text: str
    name: str
    comparison: str | None = None
    limit: int = 0
    percent: bool = False

    def failure(self, figures: OfflineFigures, *, is_gpu: bool) -> str | None:
        """What is not as it should be; None where it is, or where targets of this kind have no such number."""
        if self.comparison is None:
            return _failed_word(self.name, figures, is_gpu=is_gpu)
        quantity = QUANTITIES[self.name]
        value = quantity.number(figures)
        if value is None:
            unknown = is_gpu and quantity.everywhere
            return f"{self.text}: the number of {quantity.text} is not known here" if unknown else None
        found, shown = float(value), f"{value}"
        if self.percent:
            if not figures.slots:
                return None
            found, shown = 100 * value / figures.slots, f"{value} of {figures.slots}"
        if _COMPARISONS[self.comparison](found, self.limit):
            return None
        limiter = f", limited by {figures.limiter}" if self.name == "occupancy" and figures.limiter else ""
        return f"{self.text}: {shown} {quantity.text}{limiter}"


def _failed_word(name: str, figures: OfflineFigures, *, is_gpu: bool) -> str | None:
    if name == "no-spills":
        return f"no-spills: {spill_text(figures)}" if figures.spills and is_gpu else None
    if name == "compiles":
        return None
    if figures.mix is None:
        return f"{name}: the instructions are not known here"
    if figures.mix.matrix_unit_used == (name == "matrix-unit"):
        return None
    if name == "matrix-unit":
        return "matrix-unit: no instruction of matrix units is used" if is_gpu else None
    return f"no-matrix-unit: {figures.mix.matrix} instructions of matrix units"


def spill_text(figures: OfflineFigures) -> str:
    """What a kernel keeps in memory."""
    parts = [f"{figures.spilled} registers spilled"] if figures.spilled else []
    if figures.scratch_bytes:
        parts.append(f"{figures.scratch_bytes} bytes of scratch memory")
    return ", ".join(parts)


def parse(texts: Iterable[str]) -> tuple[Requirement, ...]:
    """Conditions from their texts. Raises `SettingsError` for what is none."""
    found = (_one(part.strip()) for text in texts for part in text.split(","))
    return tuple(dict.fromkeys(found))


def _one(text: str) -> Requirement:
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise _wrong(text, "a condition is a word, or a quantity, a comparison and a number")
    name, comparison, value = match.group(1).lower().replace("_", "-"), match.group(2), match.group(3)
    if comparison is None:
        if name in WORDS:
            return Requirement(name, name)
        if name in QUANTITIES:
            raise _wrong(text, f"{name} is compared with a number, such as {name}{_EXAMPLES.get(name, '<=64')}")
    elif name in QUANTITIES:
        number = _VALUE.fullmatch(value)
        if number is None or len(number.group(1)) > _MOST_DIGITS:
            raise _wrong(text, f"{value!r} is no whole number")
        if number.group(2) and name != "occupancy":
            raise _wrong(text, "only occupancy has a largest value that it can be a percentage of")
        return Requirement(f"{name}{comparison}{value}", name, comparison, int(number.group(1)), bool(number.group(2)))
    elif name in WORDS:
        raise _wrong(text, f"{name} stands alone")
    known = (*WORDS, *QUANTITIES)
    raise _wrong(text, f"{did_you_mean(name, known)}words are {', '.join(WORDS)}; quantities {', '.join(QUANTITIES)}")


_EXAMPLES = {"occupancy": ">=4", "loads": ">=16", "stores": ">=16", "matrix": ">=1", "lanes": "==32"}


def _wrong(text: str, hint: str) -> SettingsError:
    return SettingsError(f"--require {text!r} is no condition", hint=hint)

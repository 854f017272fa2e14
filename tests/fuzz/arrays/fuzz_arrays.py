"""Random programs over device arrays: the same lines give the same results on NumPy arrays.

Each statement is run with NumPy while it is drawn, so dtypes and shapes are NumPy's own. Names tell the kind of value:
``v`` arrays on the device, ``s`` their results without axes (NumPy has numbers there), ``h`` host arrays, ``m`` mapped
arrays, ``n`` numbers, ``r`` results that are not exact, which nothing computes with.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from fuzz_array_data import DTYPES
from fuzz_array_expressions import ArrayExpressions
from fuzz_array_run import difference, execute, host_scope
from fuzz_choices import RelatedChooser
from fuzz_lines import Program
from fuzz_subject import Difference

PROGRAMS_OF_FAMILY = 16
CHOICES_IN_COMMON = 30  # to one that a program of a family has of its own
SHAPES = ((4, 5), (5,), (4, 1), (1, 5), (3, 4, 5), (20,), (), (0,), (0, 5), (257,), (33, 20))
SHAPE_WEIGHTS = (8, 6, 3, 3, 4, 3, 2, 1, 1, 2, 1)
_SHAPES = tuple(s for s, n in zip(SHAPES, SHAPE_WEIGHTS, strict=True) for _ in range(n))


class _Maker(ArrayExpressions):
    """Statements of one program."""

    def __init__(self, choose: RelatedChooser) -> None:
        super().__init__(choose, host_scope())
        self.part = choose.part
        self.statements: list[str] = []
        self.count = 0

    def make(self) -> Program:
        pick = self.choose.pick
        base = pick(*_SHAPES)
        kinds = [pick(*DTYPES, "f4", "f4w", "f8", "i4") for _ in range(2)]
        for n in range(2 + self.choose.below(3)):
            self.part(n + 1)
            shape = base if n < 2 or self.choose.chance(2) else pick(*_SHAPES)
            order = pick("C", "C", "F") if len(shape) > 1 else "C"
            order = f", order={order!r}" if order == "F" else ""
            source = f"data({pick(*kinds, *DTYPES)!r}, {shape}, {self.choose.seed()}{order})"
            self.assign(f"cuda.to_device({source})" if n == 0 or not self.choose.chance(6) else source, host=n > 0)
        for n in range(3 + self.choose.below(8)):
            self.part(n + 10)
            pick(*self.kinds)(self)
        return Program("\n".join(self.statements), "arrays")

    # statements

    def say(self, statement: str) -> bool:
        """Add a statement and run it with NumPy; few of those that raise stay. Whether it was done."""
        _, error = execute(statement, self.scope)
        if error is not None and not self.choose.chance(6):
            return False
        if error is not None and not isinstance(error, ValueError | TypeError | IndexError):
            return False
        self.statements.append(statement)
        return error is None

    def assign(self, text: str, host: bool = False, tolerance: str = "") -> None:
        """Assign an expression to a new name, or to an old one, whose array may then be dropped."""
        value, error = execute(text, self.scope)
        if error is not None:
            self.say(f"v_ = {text}")
            self.scope.pop("v_", None)
            return
        if isinstance(value, tuple | list):
            self.count += 1
            names = [f"{_letter(x, False)}{self.count}{chr(97 + n)}" for n, x in enumerate(value)]
            if names and len(names) < 5:
                self.say(f"{', '.join(names)}{',' if len(names) == 1 else ''} = {text}")
            return
        letter = "r" if tolerance else _letter(value, host and "cuda" not in text)
        old = [n for n in self.scope if n[0] == letter and n[1:2].isdigit()]
        if old and self.choose.chance(6):
            name = self.choose.pick(*old)
        else:
            self.count += 1
            name = f"{letter}{self.count}"
        note = f": {'within ' + tolerance.replace('RESULT', name)!r}" if tolerance else ""
        self.say(f"{name}{note} = {text}")

    def compute(self) -> None:
        self.assign(self.expression(1 + self.choose.below(3)))

    def compute_exactly_once(self) -> None:
        """A result that is rounded in another way than NumPy's."""
        text, tolerance = self.rough()
        self.assign(text, tolerance=tolerance)

    def view(self) -> None:
        name = self.device_array()
        self.assign(name + self.view_of(self.scope[name]))

    def update(self) -> None:
        """An operator in place, also of views that overlap its operand."""
        name = self.written()
        target = name
        if self.choose.chance(3):
            target += self.subscript(self.scope[name])
        kind = self.scope[name].dtype.kind
        operators = {"b": "&|^", "i": "+-*&|^", "u": "+-*&|^", "f": "+-*/", "c": "+-"}[kind]
        operand = self.choose.pick(self.operand(name), self.expression(1), self.operand(name), self.literal(name))
        if target == name and self.choose.chance(4) and self.scope[name].ndim == 1:
            target, operand = self.choose.pick((f"{name}[1:]", f"{name}[:-1]"), (name, f"{name}[::-1]"))
        self.say(f"{target} {self.choose.pick(*operators)}= {operand}")

    def store(self) -> None:
        name = self.written()
        array = self.scope[name]
        index = self.choose.pick(self.subscript, self.subscript, self.fancy_once)(array)
        value, _ = execute(f"{name}{index}", self.scope)
        if value is None:
            self.say(f"{name}{index} = 0")
            return
        fitting = [self.literal(name)] + [
            n for n in self.arrays() if self.converts(self.scope[n], array) and _fits(self.scope[n], value)
        ]
        if array.ndim == 1 and ":" in index and self.choose.chance(3):
            fitting.append(f"{name}[::-1]{index}")
        if self.choose.chance(3) and (
            array.ndim > 1 or ":" not in index
        ):  # NumPy errs: x = np.arange(5); x[::2] = x[:3]
            fitting = self.own_parts(name, np.shape(value)) or fitting
        self.say(f"{name}{index} = {self.choose.pick(*fitting)}")

    def into(self) -> None:
        """A function with ``out=`` and perhaps ``where=``."""
        target = self.written()
        text = self.function_into(target)
        if text:
            self.say(text)

    def reduce(self) -> None:
        self.assign(self.reduction())

    def arrange(self) -> None:
        """Sorts, joins, selections and other functions that move elements."""
        self.assign(self.arrangement())

    def alter(self) -> None:
        """Methods and functions that change an array."""
        name = self.written()
        array = self.scope[name]
        forms = [f"{name}.fill({self.literal(name)})", f"np.copyto({name}, {self.operand(name)})"]
        forms += [f"np.putmask({name}, {name} > 0, {self.literal(name)})"]
        if array.ndim and array.size and self.sortable(array):
            forms.append(f"{name}.sort(axis={self.axis(array)})")
        if array.ndim == 2 and array.size:
            forms.append(f"np.fill_diagonal({name}, {self.literal(name)})")
        if array.ndim == 1 and array.dtype.kind in "iu":
            one = f"np.{array.dtype.name}(1)"  # ufunc.at computes uint64 and Python's integers in float64
            forms += [f"step({name})", f"np.add.at({name}, {self.places(array, 4)}, {one})"]
        if array.size:
            forms.append(f"np.put({name}, [0, {array.size - 1}], {self.literal(name)})")
        if self.choose.chance(3):
            forms = self.overlapping(name) or forms
        self.say(self.choose.pick(*forms))

    def overlapping(self, name: str) -> list[str]:
        """Functions that write an array whose values, subscripts or masks are parts of it."""
        array = self.scope[name]
        if not array.ndim or not array.size:
            return []
        part = self.choose.pick(*self.own_parts(name, array.shape))
        mask = f"{name} {self.choose.pick('!=', '==')} {self.literal(name)}"
        if array.dtype.kind == "b":
            mask = self.choose.pick(name, f"({name}[::-1] != False)")  # NumPy reads a view that it has written
        turned = f"np.arange({array.size})[::-1]"
        forms = [f"np.put({name}, {turned}, {part})", f"np.putmask({name}, {mask}, {part})"]
        forms += [f"np.copyto({name}, {part}, where={mask})", f"{name}[{mask}] = {part}[{mask}]"]
        if self.sortable(array):
            places = f"np.argsort({name}, axis=0, kind='stable')"
            forms.append(f"np.put_along_axis({name}, {places}, {part}, axis=0)")
        if array.ndim == 1 and array.dtype.kind in "iu":
            forms.append(f"{name}[{name} % {array.size}] = {self.literal(name)}")
            forms.append(f"np.add.at({name}, {self.places(array, 4)}, {name}[-1])")
            forms.append(f"np.subtract.at({name}, {turned}, {part})")
        return forms

    def own_parts(self, name: str, shape: tuple[int, ...]) -> list[str]:
        """Views, and an expression, of an array's own elements that broadcast to a shape."""
        n = shape[0] if shape else 1
        texts = [name, f"{name}[::-1]", f"{name}[:{n}]", f"{name}[-{n}:]", f"{name}[::-1][:{n}]", f"{name}.T"]
        texts += [f"{name}[-1]", f"{name}[..., ::-1]", f"np.flip({name})"]
        found = [(text, execute(text, self.scope)[0]) for text in texts]
        return [text for text, value in found if value is not None and _fits(value, np.empty(shape))]

    def read(self) -> None:
        name = self.choose.pick(*self.arrays())
        array = self.scope[name]
        forms = [f"np.array({name})", f"{name}.tolist()", f"{name}.shape", f"{name}.size"]
        if array.ndim:
            forms.append(f"len({name})")
        if array.size == 1:
            forms += [f"{name}.item()", f"bool({name})"]
        if array.size and array.ndim:
            forms.append(f"{name}[{', '.join(str(-1) for _ in array.shape)}]")
        self.say(self.choose.pick(*forms))

    def to_host(self) -> None:
        self.assign(f"np.array({self.device_array()})", host=True)

    def mapped(self) -> None:
        """An array that host and device share, which the host writes."""
        array = self.scope[self.device_array()]
        self.count += 1
        name = f"m{self.count}"
        self.say(f"{name} = cuda.mapped_array({array.shape}, {array.dtype.str[1:]!r})")
        self.say(f"{name}[...] = {self.choose.pick(1, 0, 2)}")

    def delete(self) -> None:
        names = [n for n in self.scope if n[0] in "vshr" and n[1:2].isdigit()]
        if len([n for n in names if n[0] == "v"]) > 2:
            name = self.choose.pick(*names)
            if self.say(f"del {name}"):
                self.scope.pop(name, None)

    def in_stream(self) -> None:
        """Statements in a stream of their own; the default stream waits for it, as it waits for the default stream."""
        self.block("with cuda.stream():")

    def threads(self) -> None:
        """Two threads that each compute some arrays of their own from shared ones."""
        self.count += 1
        bodies = []
        for name in ("first", "second"):
            names, lines = [], []
            for _ in range(1 + self.choose.below(2)):
                text = self.expression(2)
                value, error = execute(text, self.scope)
                if error is None and isinstance(value, np.ndarray):
                    self.count += 1
                    names.append(f"v{self.count}")
                    lines.append(f"    {names[-1]} = {text}")
                    if self.choose.chance(3) and value.dtype.kind in "iuf":
                        lines.append(f"    {names[-1]} += 1")
            if not names:
                return
            bodies.append("\n".join([f"def {name}():", f"    global {', '.join(names)}", *lines]))
        for body in bodies:
            self.say(body)
        self.say("in_threads(first, second)")

    def block(self, head: str) -> None:
        lines, kept = [], list(self.statements)
        for _ in range(1 + self.choose.below(3)):
            self.statements = []
            self.choose.pick(_Maker.compute, _Maker.update, _Maker.reduce)(self)
            lines += self.statements
        self.statements = kept
        if lines:
            self.statements.append("\n".join([head, *(f"    {line}" for line in lines)]))

    kinds = (
        *[compute] * 9,
        *[view] * 5,
        *[update] * 5,
        *[store] * 5,
        *[into] * 4,
        *[reduce] * 5,
        *[arrange] * 6,
        *[alter] * 3,
        *[read] * 3,
        *[compute_exactly_once] * 3,
        to_host,
        mapped,
        delete,
        in_stream,
        threads,
    )


def _letter(value: Any, host: bool) -> str:
    if host:
        return "h"
    return "v" if isinstance(value, np.ndarray) else "s" if isinstance(value, np.generic) else "n"


def _fits(value: Any, target: Any) -> bool:
    try:
        return np.broadcast_shapes(np.shape(value), np.shape(target)) == np.shape(target)
    except ValueError:
        return False


def drawn(random: Random) -> list[Program]:
    """Programs whose results are exact, or within a tolerance that the statement names.

    Those of a family have many expressions in common, which are compiled once; values are drawn for each.
    """
    family = random.randrange(1 << 64)
    makers = (_Maker(RelatedChooser(family, random, CHOICES_IN_COMMON)) for _ in range(PROGRAMS_OF_FAMILY))
    return list(dict.fromkeys(maker.make() for maker in makers))


def check(program: Program) -> None:
    """Raise `Difference` where device arrays do something else than NumPy's."""
    if problem := difference(program):
        raise Difference(problem)

"""Device functions of random kernels that take arrays, tuples and records, and their calls."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fuzz_records import RecordArray
from fuzz_typed import INTEGERS, NAMES, STRONG, Typed, cast, stored, variable

if TYPE_CHECKING:
    from fuzz_statements import Body, Place


def _function(body: Body, inner: Body, head: str) -> list[str]:
    from fuzz_statements import Place

    inner.size = 24
    inner.functions = list(body.functions)
    inner.fixed.append(Typed("i", "pi", 7))
    inner.block(Place(1, 2))
    inner.leave(1)
    return ["@cuda.jit(device=True)", head, *inner.lines]


def array_function(body: Body, inner: Body) -> list[str]:
    """The lines of a function of an array, a tuple and numbers, the last with a default."""
    choose = body.choose
    array = choose.pick(*body.arrays)
    kinds = choose.pick(*STRONG), choose.pick(*STRONG)
    inner.arrays.append(replace(array, text="a"))
    inner.fixed += [variable("p[0]", kinds[0]), variable("p[1]", kinds[1]), variable("w", "i2")]
    assert inner.results is not None
    body.array_functions.append(("g", array, kinds, inner.results[0]))
    return _function(body, inner, "def g(a, p, i, w=np.int16(5)):")


def record_function(body: Body, inner: Body) -> list[str]:
    """The lines of a function that reads and writes a record; none where the kernel has no records."""
    if not body.own_records:
        return []
    array = body.own_records[0]
    inner.own_records.append(RecordArray("r", array.fields, 0))
    assert inner.results is not None
    body.record_functions.append(("h", array, inner.results[0]))
    return _function(body, inner, "def h(r, i):")


def call_with_array(body: Body, place: Place) -> None:
    """A call with an array of the type and shape that the function knows, by position or by name."""
    choose = body.choose
    name, array, kinds, result = choose.pick(*body.array_functions)
    fitting = [a for a in body.arrays if a.kind == array.kind and a.shape == array.shape] or [array]
    values = ", ".join(stored(body.number(1), kind).text for kind in kinds)
    given = choose.pick("i", "t") if not choose.chance(3) else cast(body.integer(1), "pi").text + " % 50"
    width = f", {choose.pick('', 'w=')}{stored(body.number(1), 'i2').text}" if choose.chance(2) else ""
    target = body.fresh("v")
    named = choose.chance(3) and (not width or "w=" in width)
    items = f"p=({values}), i={given}" if named else f"({values}), {given}"
    body.say(place.level, f"{target} = {name}({choose.pick(*fitting).text}, {items}{width})")
    body.variables[target] = result


def call_with_record(body: Body, place: Place) -> None:
    """A call with the thread's own record."""
    name, array, result = body.choose.pick(*body.record_functions)
    target = body.fresh("v")
    body.say(place.level, f"{target} = {name}({array.text}[i], {body.choose.pick('i', 't')})")
    body.variables[target] = result


def quotient_and_remainder(body: Body, place: Place) -> None:
    """``q, r = divmod(a, b)``."""
    kind = body.choose.pick(*INTEGERS)
    a, b = body.fresh("v"), body.fresh("v")
    value = cast(body.number(2), kind).text
    divisor = f"({cast(body.number(1), kind).text} | {NAMES[kind]}(1))"
    body.say(place.level, f"{a}, {b} = divmod({value}, {divisor})")
    body.variables |= {a: kind, b: kind}

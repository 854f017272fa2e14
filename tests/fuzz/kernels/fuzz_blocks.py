"""Statements of random kernels in which the threads of a block or a warp work together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzz_typed import INTEGERS, NAMES, STRONG, ArrayName, cast, stored, variable

if TYPE_CHECKING:
    from fuzz_statements import Body, Place

MASK = "0xFFFFFFFF"


def warp(body: Body, place: Place) -> None:
    """An exchange or a vote of whole warps."""
    choose, name = body.choose, body.fresh("v")
    form = choose.below(8)
    if form <= 3:
        e = cast(body.number(2), choose.pick(*STRONG))
        e = stored(e, e.kind)
        lane = choose.pick("3", "0", "t ^ 1", f"{body.index(32, 0)}", "31 - t % 32")
        function, operand = choose.pick(
            ("shfl_sync", f"({lane}) % 32"),
            ("shfl_xor_sync", choose.pick("1", "2", "16", "31")),
            ("shfl_up_sync", choose.pick("1", "3", "16")),
            ("shfl_down_sync", choose.pick("1", "4", "31")),
        )
        body.say(place.level, f"{name} = cuda.{function}({MASK}, {e.text}, {operand})")
        body.variables[name] = e.kind
    elif form == 4:
        body.say(place.level, f"{name} = cuda.ballot_sync({MASK}, {body.condition(2).text})")
        body.variables[name] = "i4"
    elif form == 5:
        vote = choose.pick("all_sync", "any_sync", "eq_sync")
        body.say(place.level, f"{name} = bool(cuda.{vote}({MASK}, {body.condition(1).text}))")
        body.variables[name] = "b"
    elif form == 6:
        value = cast(body.integer(2), choose.pick(*INTEGERS)).text
        body.say(place.level, f"{name} = cuda.match_any_sync({MASK}, {value})")
        body.variables[name] = "i4"
    else:
        value, other = cast(body.integer(1), choose.pick(*INTEGERS)).text, body.fresh("v")
        body.say(place.level, f"{name}, {other} = cuda.match_all_sync({MASK}, {value})")
        body.variables |= {name: "i4", other: "b"}


def shared_atomics(body: Body, place: Place) -> None:
    """Atomic operations of all threads on shared memory between barriers."""
    choose = body.choose
    kind, operation = (
        choose.pick("i4", "u4", "i8", "u8"),
        choose.pick("add", "max", "min", "xor", "or_", "and_", "inc", "dec"),
    )
    n, name, result = choose.pick(4, 1, 8), body.fresh("h"), body.fresh("v")
    body.say(place.level, f"{name} = cuda.shared.array({n}, {NAMES[kind]})")
    body.say(place.level, f"for {name}k in range(t, {n}, {body.per_block}):")
    body.say(place.level + 1, f"{name}[{name}k] = {choose.pick(0, 5, 100)}")
    body.say(place.level, "cuda.syncthreads()")
    value = "6" if operation in ("inc", "dec") else cast(body.number(2), kind).text
    line = f"cuda.atomic.{operation}({name}, {body.index(n, 1)}, {value})"
    if choose.chance(3):
        body.say(place.level, f"if {body.condition(1).text}:")
        body.say(place.level + 1, line)
    else:
        body.say(place.level, line)
    body.say(place.level, "cuda.syncthreads()")
    body.say(place.level, f"{result} = {name}[{body.index(n, 0)}]")
    body.variables[result] = kind
    body.say(place.level, "cuda.syncthreads()")


def tile(body: Body, place: Place) -> None:
    """A tile of shared memory of two axes: written in one order, read in another."""
    choose, name, result = body.choose, body.fresh("z"), body.fresh("v")
    width = choose.pick(*[w for w in (4, 2, 1, 8) if body.per_block % w == 0])
    height, kind = body.per_block // width, choose.pick(*STRONG)
    body.say(place.level, f"{name} = cuda.shared.array(({height}, {width}), {NAMES[kind]})")
    body.say(place.level, f"{name}[t // {width}, t % {width}] = {stored(body.number(2), kind).text}")
    body.say(place.level, "cuda.syncthreads()")
    read = choose.pick(
        f"{name}[-1 - t // {width}, t % {width}]",
        f"{name}.T[t % {width}, t // {width}]",
        f"{name}[{body.index(height, 1)}, {body.index(width, 0)}]",
        f"{name}[::-1, ::-1][t // {width}, t % {width}]",
        f"{name}[t // {width}][{body.index(width, 1)}]",
    )
    body.say(place.level, f"{result} = {read}")
    body.variables[result] = kind
    body.say(place.level, "cuda.syncthreads()")


def flag_across_barrier(body: Body, place: Place) -> None:
    """A variable that a loop sets in some threads, or that threads leave apart, read behind a barrier."""
    choose, name, counter = body.choose, body.fresh("v"), body.fresh("k")
    kind = choose.pick("i4", "b", "f4", "u1", "i8", "pi")
    before, after = (
        ("False", "True") if kind == "b" else (f"{NAMES.get(kind, 'int')}(7)", f"{NAMES.get(kind, 'int')}(3)")
    )
    body.say(place.level, f"{name} = {before}")
    bound = choose.pick("i", "t", cast(body.integer(1), "pi").text)
    if choose.chance(2):
        body.say(place.level, f"{counter} = 0")
        body.say(place.level, f"while {counter} < {bound} % 4:")
        body.say(place.level + 1, f"{counter} += 1")
    else:
        body.say(place.level, f"for {counter} in range({bound} % 4):")
    level = place.level + 1
    if choose.chance(3):
        body.say(level, f"if {body.condition(1).text}:")
        body.say(level + 1, choose.pick("break", "continue"))
    if choose.chance(3):
        body.say(level, f"if {counter} > {choose.pick(0, 1)}:")
        level += 1
    body.say(level, f"{name} = {after}")
    body.variables[name] = kind
    body.say(place.level, "cuda.syncthreads()")
    array: ArrayName = choose.pick(*body.outputs)
    where = "i" if len(array.shape) == 1 else f"i, {choose.below(array.shape[1])}"
    body.say(place.level, f"{array.text}[{where}] = {cast(variable(name, kind), array.kind).text}")


def own_slot(body: Body, place: Place) -> None:
    """An atomic exchange in an element of the thread's own."""
    arrays = [a for a in body.outputs if a.kind in ("i4", "u4", "i8", "u8")]
    if not arrays:
        body.declare(place)
        return
    choose, name = body.choose, body.fresh("v")
    array: ArrayName = choose.pick(*arrays)
    where = "i" if len(array.shape) == 1 else f"(i, {choose.below(array.shape[1])})"
    value = cast(body.number(2), array.kind).text
    operation = choose.pick("exch", "add", "max", "cas")
    if operation == "cas":
        value = f"{NAMES[array.kind]}({choose.pick(0, 1)}), {value}"
    body.say(place.level, f"{name} = cuda.atomic.{operation}({array.text}, {where}, {value})")
    body.variables[name] = array.kind

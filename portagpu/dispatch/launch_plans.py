"""Launch plans: generated code that repeats a launch for arguments of the same types.

A plan is two functions that are generated for a launch's argument types. The first tells whether other arguments
are of these types, and what they are, as tokens: an object for each array, which keeps no array alive, and plain values
for numbers. Equal tokens mean equal C arguments, so a kernel object of the driver that has them is launched
as it is. The second one gives the C arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.dispatch.arguments import same_constant
from portagpu.dispatch.overload import Overload
from portagpu.runtime.arrays.array import DeviceNDArray, DeviceRecord
from portagpu.runtime.execution.stream import Stream, enqueuing
from portagpu.runtime.programs.launch import CompiledKernel, LaunchShape, c_arguments

_INT_LIMIT = 2**63
_INEXACT = (float, complex, np.inexact, tuple)  # whose equal values may be different constants: 0.0 and -0.0


class Plan:
    """What a launch with arguments of the same types may take for granted."""

    __slots__ = ("_compiled", "_extract", "_shape", "tokens")

    def __init__(self, compiled: CompiledKernel, shape: LaunchShape, tokens: Any, extract: Any) -> None:
        self._compiled = compiled.reference  # the dispatcher forgets it with its context
        self._shape = shape
        self.tokens: Callable[[tuple[Any, ...]], tuple[Any, ...] | None] = tokens
        """Tokens of a launch's arguments; None where their types are not the plan's."""
        self._extract: Callable[[tuple[Any, ...], int], tuple[Any, ...] | None] = extract

    def launch(self, stream: Any, tokens: tuple[Any, ...], args: tuple[Any, ...]) -> bool:
        """Launch with arguments that have tokens; False where the launch must be looked at anew."""
        compiled = self._compiled()
        if compiled is None:
            return False
        context = compiled.context
        if stream is None:
            stream = context.default_stream
        elif type(stream) is not Stream or stream.context is not context:
            return False
        epoch = context.epoch
        kernel = compiled.bound(tokens)
        values: tuple[Any, ...] | None = None
        if kernel is None:
            try:
                values = self._extract(args, self._shape.shared)
            except (OverflowError, ValueError):  # a number that the declared type does not hold as it is
                return False
            if values is None:
                return False
        with enqueuing(stream) as queue:
            if kernel is None:
                assert values is not None
                compiled.launch(queue, self._shape, values, tokens, epoch)
            else:
                compiled.launch_again(queue, self._shape, kernel, tokens, epoch)
        return True


def plan_of(
    args: tuple[Any, ...],
    prepared: tuple[Any, ...],
    overload: Overload,
    shape: LaunchShape,
    constants: frozenset[int] = frozenset(),
) -> Plan | None:
    """The plan for launches with arguments like these, which the overload was launched with as ``prepared`` ones.

    ``constants`` are the places of compile-time arguments: the plan holds for these very values. None where a launch
    must look at its context, at values, or at what is not an array or a number.
    """
    binary = overload.binary
    if binary.faults or binary.cooperative or binary.prints:
        return None
    checks, tokens, allocations, converted = [], [str(int(shape.shared))], [], []
    names: dict[str, Any] = {"L": _INT_LIMIT, "same": same_constant}
    for n, value in enumerate(args):
        kind, name = type(value), f"a{n}"
        names[f"C{n}"] = kind
        if n in constants:
            names[f"K{n}"] = value
            plain = not issubclass(kind, _INEXACT)
            equal = f"{name}.__class__ is C{n} and {name} == K{n}" if plain else f"same({name}, K{n})"
            checks.append(f"({name} is K{n} or {equal})")
            continue
        checks.append(f"{name}.__class__ is C{n}")
        if kind is DeviceNDArray or kind is DeviceRecord:
            if value.card is None:
                return None
            names[f"K{n}"] = value.card
            checks.append(f"{name}.card is K{n}")
            tokens.append(f"{name}.token")
            allocations.append(f"{name}.allocation_key")
        elif kind is int:
            checks.append(f"-L <= {name} < L")
            tokens.append(name)
        elif kind is float:
            tokens.append(f"{name}.hex()")  # 0.0 and -0.0 differ
        elif kind is bool or (issubclass(kind, np.number) and kind is not np.timedelta64):  # its unit is looked at
            tokens.append(name if kind is bool else f"{name}.tobytes()")
        else:
            return None
        if type(prepared[n]) is not kind:  # as the declared signature says
            names[f"P{n}"] = type(prepared[n])
            converted.append(f"    {name} = P{n}({name})")
    keys = [value.allocation_key for value in args if isinstance(value, DeviceNDArray)]
    if not keys or len(set(keys)) < len(keys):
        return None
    unpack = f"({''.join(f'a{n}, ' for n in range(len(args)))}) = args"
    apart = f"len({{{', '.join(allocations)}}}) == {len(allocations)}" if len(allocations) > 1 else "True"
    parameters, helpers = c_arguments(binary.parameters, overload.compiled.context, planned=True)
    lines = [
        "def tokens(args):",
        f"    if len(args) != {len(args)}: return None",
        f"    {unpack}",
        f"    return ({', '.join(tokens)},) if {' and '.join(checks)} else None",
        "def extract(args, shared):",
        f"    {unpack}",
        *converted,
        f"    return ({parameters}) if {apart} else None",
    ]
    names.update(helpers)
    exec(compile("\n".join(lines), "<portagpu plan>", "exec"), names)
    return Plan(overload.compiled, shape, names["tokens"], names["extract"])

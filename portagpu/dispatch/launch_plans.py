"""Launch plans: generated code that repeats a launch for arguments of the same types.

A plan is two functions that are generated for a launch's argument types. The first tells whether other arguments
are of these types, and what they are, as tokens: an object for each array, which keeps no array alive, and plain values
for numbers. Equal tokens mean equal C arguments, so a kernel object of the driver that has them is launched
as it is. The second one gives the C arguments. Tuples are taken apart: each item is looked at as an argument is, so a
launch with named values in tuples costs little more than one with as many arguments.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.backends.registry import foreign
from portagpu.constants import same_constant
from portagpu.dispatch.arguments.conversion import is_device_function
from portagpu.dispatch.overload import Overload
from portagpu.errors import PortaGPUError
from portagpu.runtime.arrays.array import DeviceNDArray, DeviceRecord
from portagpu.runtime.arrays.foreign_views import borrowed_view, is_lent
from portagpu.runtime.arrays.overlap import may_overlap
from portagpu.runtime.execution.current import current_stream
from portagpu.runtime.execution.ordering import enqueuing
from portagpu.runtime.execution.stream import Stream
from portagpu.runtime.programs.c_arguments import c_arguments
from portagpu.runtime.programs.launch import CompiledKernel
from portagpu.runtime.programs.launch_shape import LaunchShape

_INT_LIMIT = 2**63
_INEXACT = (float, complex, np.inexact, tuple)  # whose equal values may be different constants: 0.0 and -0.0


class Plan:
    """What a launch with arguments of the same types may take for granted."""

    __slots__ = ("_borrows", "_compiled", "_extract", "_shape", "tokens")

    def __init__(
        self, compiled: CompiledKernel, shape: LaunchShape, tokens: Any, extract: Any, borrows: tuple[int, ...] = ()
    ) -> None:
        self._compiled = compiled.reference  # the dispatcher forgets it with its context
        self._shape = shape
        self.tokens: Callable[[tuple[Any, ...]], tuple[Any, ...] | None] = tokens
        """Tokens of a launch's arguments; None where their types are not the plan's."""
        self._extract: Callable[[tuple[Any, ...], int], tuple[Any, ...] | None] = extract
        self._borrows = borrows  # places of arrays of other libraries

    def again(self, stream: Any, args: tuple[Any, ...]) -> bool:
        """Launch with other arguments; False where the plan is not for them."""
        if self._borrows:
            if stream is not None:
                return False
            borrowed = self._borrowed(args)
            if borrowed is None:
                return False
            stream, args = borrowed
        tokens = self.tokens(args)
        return tokens is not None and self._launch(stream, tokens, args)

    def takes(self, args: tuple[Any, ...]) -> bool:
        """Whether the plan is for these arguments."""
        if self._borrows:
            borrowed = self._borrowed(args)
            args = () if borrowed is None else borrowed[1]
        return self.tokens(args) is not None

    def _borrowed(self, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]] | None:
        """The stream of other libraries' arrays among arguments, and these with views in their place."""
        items, stream = list(args), None
        try:
            for place in self._borrows:
                view = borrowed_view(items[place])
                if view is None or (stream is not None and view.stream is not stream):
                    return None
                items[place], stream = view, view.stream
        except (PortaGPUError, IndexError):
            return None  # the launch says what is wrong
        return stream, tuple(items)

    def _launch(self, stream: Any, tokens: tuple[Any, ...], args: tuple[Any, ...]) -> bool:
        """Launch with arguments that have tokens; False where the launch must be looked at anew."""
        compiled = self._compiled()
        if compiled is None:
            return False
        context = compiled.context
        if stream is None:
            stream = current_stream(context)
        elif type(stream) is not Stream or stream.context is not context:
            return False
        epoch = context.epoch
        kernel = compiled.bound(tokens)
        values: tuple[Any, ...] | None = None
        if kernel is None:
            if self._borrows and _share_memory(args):  # of the same tokens it was found out before
                return False
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


def _share_memory(args: tuple[Any, ...]) -> bool:
    """Whether any two arrays among the arguments do, of which the driver knows addresses; also where one was closed."""
    arrays = [item for item in args if type(item) is DeviceNDArray]
    if any(item._buffer is None for item in arrays):
        return True
    places = [(item._buffer, item.offset if item.layout != "A" else 0) for item in arrays]
    return bool(arrays[0].context.driver.may_overlap(places))


class _Leaves:
    """The text of a plan's checks and tokens, written while its arguments are walked, tuples' items one by one."""

    __slots__ = ("allocations", "body", "checks", "converted", "keys", "names", "tokens", "unpacked")

    def __init__(self, shared: int) -> None:
        self.names: dict[str, Any] = {"L": _INT_LIMIT, "same": same_constant}
        self.body: list[str] = []  # of `tokens`: what has to hold before tuples can be taken apart
        self.unpacked: list[str] = []  # the same tuples, known to be as they should
        self.checks: list[str] = []
        self.tokens = [str(int(shared))]
        self.allocations: list[str] = []
        self.keys: list[Any] = []
        self.converted: list[str] = []

    def constant(self, name: str, value: Any) -> None:
        """A compile-time argument: the plan is for this value."""
        self.names[f"K{name}"] = value
        self.names[f"C{name}"] = kind = type(value)
        plain = not issubclass(kind, _INEXACT)
        equal = f"{name}.__class__ is C{name} and {name} == K{name}" if plain else f"same({name}, K{name})"
        self.checks.append(f"({name} is K{name} or {equal})")

    def add(self, name: str, value: Any, prepared: Any) -> bool:
        """An argument, or an item of a tuple; False where there is no plan for such."""
        kind = type(value)
        if value is None or isinstance(value, enum.Enum) or is_device_function(value):
            self.names[f"K{name}"] = value
            self.checks.append(f"{name} is K{name}")
            return True
        self.names[f"C{name}"] = kind
        if isinstance(value, tuple):
            return self._add_items(name, value, prepared)
        self.checks.append(f"{name}.__class__ is C{name}")
        if kind is DeviceNDArray or kind is DeviceRecord:
            if value.layout_token is None:
                return False
            self.names[f"K{name}"] = value.layout_token
            self.checks.append(f"{name}.layout_token is K{name}")
            self.tokens.append(f"{name}.token")
            self.allocations.append(f"{name}.allocation_key")
            self.keys.append(value.allocation_key)
        elif kind is int:
            self.checks.append(f"-L <= {name} < L")
            self.tokens.append(name)
        elif kind is float:
            self.tokens.append(f"{name}.hex()")  # 0.0 and -0.0 differ
        elif kind is bool or (issubclass(kind, np.number) and kind is not np.timedelta64):  # its unit is looked at
            self.tokens.append(name if kind is bool else f"{name}.tobytes()")
        else:
            return False
        if type(prepared) is not kind:  # as the declared signature says
            self.names[f"P{name}"] = type(prepared)
            self.converted.append(f"    {name} = P{name}({name})")
        return True

    def _add_items(self, name: str, value: tuple[Any, ...], prepared: Any) -> bool:
        items = [f"{name}_{n}" for n in range(len(value))]
        self.body.append(f"    if {name}.__class__ is not C{name} or len({name}) != {len(value)}: return None")
        if items:
            unpack = f"    ({', '.join(items)},) = {name}"
            self.body.append(unpack)
            self.unpacked.append(unpack)
        return all(map(self.add, items, value, prepared))


def _is_borrowed(value: Any) -> bool:
    """Whether an argument is another library's array, or a view of one."""
    return is_lent(value) if type(value) is DeviceNDArray else isinstance(value, foreign.arrays)


def plan_of(
    args: tuple[Any, ...],
    prepared: tuple[Any, ...],
    overload: Overload,
    shape: LaunchShape,
    constants: frozenset[int] = frozenset(),
) -> Plan | None:
    """The plan for launches with arguments like these, which the overload was launched with as ``prepared`` ones.

    ``constants`` are the places of compile-time arguments: the plan holds for these very values. None where a launch
    must look at its context, at values, or at what is neither an array nor a number, nor a tuple of these.
    """
    borrows = tuple(n for n, value in enumerate(args) if _is_borrowed(value))
    if borrows:
        views = [borrowed_view(value) if n in borrows else value for n, value in enumerate(args)]
        arrays = [view for view in views if isinstance(view, DeviceNDArray)]
        if any(views[n] is None for n in borrows) or may_overlap(arrays):
            return None
        args = tuple(views)
    kernel_source = overload.kernel_source
    if kernel_source.faults or kernel_source.cooperative or kernel_source.prints:
        return None
    found = _Leaves(shape.shared)
    for n, value in enumerate(args):
        if n in constants:
            found.constant(f"a{n}", value)
        elif not found.add(f"a{n}", value, prepared[n]):
            return None
    if not found.keys or len(set(found.keys)) < len(found.keys):
        return None
    unpack = f"({''.join(f'a{n}, ' for n in range(len(args)))}) = args"
    apart = f"len({{{', '.join(found.allocations)}}}) == {len(found.keys)}" if len(found.keys) > 1 else "True"
    parameters, helpers = c_arguments(kernel_source.parameters, overload.compiled.context, planned=True)
    lines = [
        "def tokens(args):",
        f"    if len(args) != {len(args)}: return None",
        f"    {unpack}",
        *found.body,
        f"    return ({', '.join(found.tokens)},) if {' and '.join(found.checks)} else None",
        "def extract(args, shared):",
        f"    {unpack}",
        *found.unpacked,
        *found.converted,
        f"    return ({parameters}) if {apart} else None",
    ]
    found.names.update(helpers)
    exec(compile("\n".join(lines), "<portagpu plan>", "exec"), found.names)
    return Plan(overload.compiled, shape, found.names["tokens"], found.names["extract"], borrows)

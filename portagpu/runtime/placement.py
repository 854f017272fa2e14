"""The context and stream of a launch, from its arguments."""

from __future__ import annotations

from typing import Any

from portagpu.backends.registry import foreign
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.copies import users_of
from portagpu.runtime.arrays.creation import as_device_array
from portagpu.runtime.execution.context import Context, context_of, current_context
from portagpu.runtime.execution.current import current_stream
from portagpu.runtime.execution.stream import Stream, as_stream
from portagpu.runtime.host_arguments import ArgumentWrapper

_COMPOUND = (DeviceNDArray, tuple, ArgumentWrapper)


def place(args: tuple[Any, ...], stream: Any) -> tuple[Stream, tuple[Stream, ...]]:
    """The stream of a launch, and those that must wait for it as it waits for them.

    A launch without a stream runs on the queue of the first array of another library (PyOpenCL's), since the array's
    own methods are not ordered with other queues; else on the current stream of the first device array's context, or
    of the current one.
    """
    context: Context | None = None
    users: tuple[Stream, ...] = ()
    for value in args:
        if isinstance(value, DeviceNDArray) and not isinstance(value.base, foreign.arrays):
            context = context or value.context
        elif isinstance(value, (*_COMPOUND, *foreign.arrays)):
            arrays = _arrays(args)
            context = arrays[0].context if arrays else None
            users = users_of(arrays)
            break
    if stream is not None:
        chosen = as_stream(stream, context_of(stream))
    elif users:
        chosen = users[0]
    else:
        chosen = current_stream(context or current_context())
    problem = chosen.context.unusable()  # before the compiler, whose locks a forked child may never get
    if problem is not None:
        raise problem
    return chosen, tuple(user for user in users if user is not chosen and user.context is chosen.context)


def _arrays(args: tuple[Any, ...]) -> list[DeviceNDArray]:
    """The device arrays and other libraries' arrays among the arguments."""
    found = []
    for value in args:
        item = value.value if isinstance(value, ArgumentWrapper) else value
        if isinstance(item, tuple):
            found += _arrays(item)
        elif isinstance(item, (DeviceNDArray, *foreign.arrays)):
            found.append(as_device_array(item))
    return found

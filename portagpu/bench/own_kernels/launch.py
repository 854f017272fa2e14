"""`Launch`: a kernel of the user's with its arguments, and what must come out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from portagpu.bench.device_clock import clock_of
from portagpu.bench.method.turns import Call
from portagpu.bench.own_kernels.comparison import error_of
from portagpu.bench.peers.foreign_errors import told
from portagpu.bench.records.cell import Role
from portagpu.bench.running.case import Contender
from portagpu.cuda.host import to_device
from portagpu.dispatch.arguments.copies import copied
from portagpu.dispatch.counting.work import Work
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.dispatch.launcher import Configured
from portagpu.errors import ArgumentTypeError, UncountedWorkError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.context import Context

Expected = Mapping[int | str, Any] | Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Launch:
    """A launch that is measured: ``kernel[grid, block]``, or any function that enqueues work, with its arguments.

    ``arguments``: device arrays and NumPy arrays, which become device arrays of their own, and numbers. ``expected``:
    what the arrays hold after one call, by the arguments' positions or the parameters' names; or a function that
    changes NumPy copies of the arguments as the kernel changes the arrays. ``tolerance``: the largest error allowed,
    relative to the largest magnitude expected of each array; None: 100 roundings of its dtype,
    10 of one of 16 bits, nothing for integers.
    ``peers``: other implementations by name, functions of the same arguments, which get arrays of their own.

    Raises `ArgumentTypeError` for what is no launch.
    """

    kernel: Configured[Any] | Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    expected: Expected | None = None
    tolerance: float | None = None
    peers: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """What is measured can be called, and what is expected compared."""
        for label, function in {"": self.kernel, **self.peers}.items():
            what = f"the peer {label!r}" if label else "what is measured"
            if isinstance(function, Dispatcher):
                raise ArgumentTypeError(
                    f"{what} is the kernel `{function.__name__}` without a launch configuration",
                    hint=f"pass {function.__name__}[grid, block]",
                )
            if not callable(function):
                raise ArgumentTypeError(f"{what} is of type {type(function).__name__}, not kernel[grid, block]")
        if not (self.expected is None or callable(self.expected) or isinstance(self.expected, Mapping)):
            raise ArgumentTypeError(
                f"expected is of type {type(self.expected).__name__}",
                hint='pass what arrays hold after one call, as {"y": array}, or a function that changes NumPy copies',
            )
        if self.tolerance is not None and not 0 <= self.tolerance < math.inf:
            raise ArgumentTypeError(f"tolerance is {self.tolerance}, and must be a number from 0 on")

    def __repr__(self) -> str:
        return f"<Launch of {self.name} with {len(self.arguments)} arguments>"

    @property
    def name(self) -> str:
        """The kernel's."""
        source = self.kernel.dispatcher if isinstance(self.kernel, Configured) else self.kernel
        return str(getattr(source, "__name__", type(source).__name__))

    def work(self) -> Work | None:
        """FLOP and bytes of a call, counted by the compiler; None where they cannot be counted."""
        if not isinstance(self.kernel, Configured):
            return None
        try:
            return self.kernel.count_work(*self.arguments)
        except UncountedWorkError:
            return None

    def contenders(self, context: Context) -> tuple[Contender, ...]:
        """The kernel, and its peers."""
        ours = Contender(
            implementation="PortaGPU",
            role=Role.OURS,
            prepare=lambda: self._call(self.kernel, context),
        )
        return (ours, *(self._peer(label, function, context) for label, function in self.peers.items()))

    def _peer(self, label: str, function: Callable[..., Any], context: Context) -> Contender:
        prepare = told(lambda: self._call(function, context))
        return Contender(implementation=label, role=Role.PEER, prepare=prepare)

    def _call(self, function: Callable[..., Any], context: Context) -> Call:
        """A call on copies of the arguments."""
        placed = tuple(to_device(a) if isinstance(a, np.ndarray) else a for a in self.arguments)
        own = copied(placed, context.default_stream)
        return Call(
            enqueue=lambda: function(*own),
            wait=context.synchronize,
            fetch=lambda: tuple(_on_host(a) for a in own),
            clock=clock_of(context),
        )

    def check(self) -> Callable[[Any], float] | None:
        """The check of a call's arguments after it; None where nothing is expected.

        Raises `ArgumentTypeError` for what is expected of no argument, or in another shape, and where nothing is.
        """
        if self.expected is None:
            return None
        wanted = self._wanted(self.expected)
        if not wanted:
            raise ArgumentTypeError(
                f"what is expected of `{self.name}` names no array, so that its result would not be verified",
                hint="leave expected away for a time in Python that is not verified",
            )
        for at, array in wanted.items():
            shape = np.shape(self.arguments[at])
            if shape != array.shape:
                raise ArgumentTypeError(
                    f"`{self.name}` is expected to give an array of shape {array.shape}, and argument {at} has {shape}"
                )
        return lambda found: max(error_of(found[at], array, self.tolerance) for at, array in wanted.items())

    def _wanted(self, expected: Expected) -> dict[int, np.ndarray[Any, Any]]:
        if callable(expected):
            host = tuple(np.array(_on_host(a), copy=True) if _is_array(a) else a for a in self.arguments)
            try:
                returned = expected(*host)
            except Exception as error:
                raise ArgumentTypeError(
                    f"what is expected of `{self.name}` raised {type(error).__name__}: {error}",
                    hint="it is called with the kernel's arguments, arrays as NumPy's",
                ) from error
            if returned is not None and not any(returned is one for one in host):
                raise ArgumentTypeError(
                    f"what is expected of `{self.name}` returned {type(returned).__name__}, which nothing is compared"
                    " with",
                    hint="it must change the arrays that it gets, as the kernel does: y[...] = result",
                )
            return {at: array for at, array in enumerate(host) if _is_array(self.arguments[at])}
        return {self._position(key): np.asarray(array) for key, array in expected.items()}

    def _position(self, key: int | str) -> int:
        names = getattr(getattr(getattr(self.kernel, "dispatcher", None), "source", None), "parameters", ())
        position = names.index(key) if key in names else key
        if not isinstance(position, int) or not 0 <= position < len(self.arguments):
            raise ArgumentTypeError(
                f"{key!r} is no argument of `{self.name}`", hint=f"name one of {', '.join(names) or 'their positions'}"
            )
        return position


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray | DeviceNDArray)


def _on_host(value: Any) -> Any:
    return value.copy_to_host() if isinstance(value, DeviceNDArray) else value


__all__ = ["Expected", "Launch"]

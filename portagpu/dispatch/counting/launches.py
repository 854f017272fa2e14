"""Launches that count: a kernel whose threads count their work, on copies of the arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.dispatch.arguments.copies import copied, end_of
from portagpu.dispatch.code.requests import Counts
from portagpu.dispatch.counting.countable import Countable
from portagpu.dispatch.counting.work import Touched, Traffic, Work
from portagpu.dispatch.overload import Overload
from portagpu.errors import UncountedWorkError
from portagpu.ir.analysis.work import ACCESSES, ARITHMETIC
from portagpu.ir.program import ParameterRole
from portagpu.passes.counts.work_counters import HEAD, ROWS
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import Context, context_of
from portagpu.runtime.execution.ordering import enqueuing
from portagpu.runtime.execution.stream import Stream
from portagpu.runtime.host_arguments import HostWork
from portagpu.runtime.placement import place
from portagpu.runtime.programs.kernel_exceptions import launch_checked
from portagpu.runtime.programs.launch_shape import LaunchShape, check_shape

_ROW = 2  # numbers for an array in the table


def count_work(
    kernel: Countable,
    shape: LaunchShape,
    stream: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    touched: bool = True,
) -> Work:
    """The work of a launch, which is made on copies of its arguments. Without ``touched``, bytes asked for only.

    Raises `UncountedWorkError` where an exact count is not possible, and what the launch raises.
    """
    if kernel.extensions:
        raise UncountedWorkError(
            "arguments of kernels with extensions are not copied, so their launches are not counted",
            hint="count the kernel without extensions=[...]",
        )
    args = kernel.adopt(kernel.bind_arguments(args, kwargs))
    where, others = place(args, stream)
    context = context_of(where)
    if context.only_builds:
        raise UncountedWorkError("kernels are only compiled here, and a count needs a launch")
    for other in others:
        where.wait_stream(other)
    args = copied(args, where)
    work = HostWork(args)
    prepared = kernel.prepare(args, context, where, work)
    overload = kernel.counting(prepared, shape, context, Counts(touched))
    _check(overload, shape, context)
    if overload.kernel_source.prints:
        context.prints = True
    memory = _Memory(overload, prepared, where, context)
    compiled = overload.compiled
    with enqueuing(where) as queue:
        if overload.kernel_source.faults:
            launch_checked(compiled, queue, shape, prepared, memory.buffers)
        else:
            compiled.launch(queue, shape, compiled.extract(prepared, shape.shared, None, memory.buffers))
    where.synchronize()
    work.finish()
    return _work(kernel.source.name, shape, overload, memory)


def _check(overload: Overload, shape: LaunchShape, context: Context) -> None:
    x, y, z = shape.grid
    source, caps = overload.kernel_source, context.capabilities
    if source.cooperative and x * y * z > 1 and not caps.cooperative_launch:
        raise UncountedWorkError(
            "blocks that wait for each other become one block on this device, which counts other work",
            hint="count a launch of one block, or on a GPU",
        )
    check_shape(shape, caps, context.device.name)
    overload.compiled.check_block(shape)


class _Memory:
    """The memory of a launch's counts: totals, a table of the arrays, marks of what was touched."""

    def __init__(self, overload: Overload, prepared: tuple[Any, ...], stream: Stream, context: Context) -> None:
        source = overload.kernel_source
        self._granule = source.granule
        words = HEAD + ROWS * 2 * len(source.counted)
        arrays = [_argument(prepared, p.path) for p in source.parameters if p.role is ParameterRole.POINTER]
        table, self._marks = _table(arrays, source.granule)
        self._made = [
            to_device(host, stream=stream, context=context)
            for host in (np.zeros(words, np.uint32), table, np.zeros(max(1, 2 * self._marks), np.uint8))
        ]
        self.buffers = tuple(array.buffer for array in self._made)

    def totals(self, kinds: int) -> list[int]:
        """The sums over all threads, in the order of the kinds. Raises `UncountedWorkError`."""
        words = self._made[0].copy_to_host()
        if words[0]:
            raise UncountedWorkError(
                "the kernel accesses global memory that is in none of its arguments, so the bytes that it touches"
                " cannot be told",
                hint="pass the array itself, and look whether subscripts are inside (cuda.jit(boundscheck=True))",
            )
        rows = words[HEAD:].reshape(ROWS, kinds, 2).astype(object)
        return [int(sum(rows[:, n, 0]) + (sum(rows[:, n, 1]) << 32)) for n in range(kinds)]

    def touched(self) -> Touched | None:
        """The different bytes; None where no marks were made."""
        if not self._granule:
            return None
        marks = self._made[2].copy_to_host()[: 2 * self._marks].reshape(2, self._marks)
        read, written = (int(np.count_nonzero(row)) * self._granule for row in marks)
        return Touched(read=read, written=written, granule=self._granule)


def _argument(prepared: tuple[Any, ...], path: tuple[int, ...]) -> DeviceNDArray:
    found: Any = prepared
    for item in path:
        found = found[item]
    assert isinstance(found, DeviceNDArray)
    return found


def _table(arrays: list[DeviceNDArray], granule: int) -> tuple[np.ndarray[Any, Any], int]:
    """The table that `portagpu.passes.counts.touched_marks` describes, and how many marks there are of a kind.

    Arrays in one memory share its marks.
    """
    ends: dict[int, int] = {}
    for array in arrays:
        key = id(array.buffer)
        ends[key] = max(ends.get(key, 0), end_of(array))
    firsts: dict[int, int] = {}
    marks = 0
    for key, end in ends.items():
        firsts[key] = marks * granule
        marks += -(-end // granule) if granule else 0
    table = np.zeros(1 + _ROW * len(arrays), np.uint64)
    table[0] = marks
    for n, array in enumerate(arrays):
        key = id(array.buffer)
        table[1 + _ROW * n : 3 + _ROW * n] = ends[key], firsts[key]
    return table, marks


def _work(name: str, shape: LaunchShape, overload: Overload, memory: _Memory) -> Work:
    counted = overload.kernel_source.counted
    totals = dict(zip(counted, memory.totals(len(counted)), strict=True))
    operations: dict[str, dict[str, int]] = {}
    for kind, of in sorted((c for c in counted if c[0] in ARITHMETIC), key=lambda c: ARITHMETIC.index(c[0])):
        operations.setdefault(of, {})[kind] = totals[kind, of]
    x, y, z = shape.totals
    of_memory, of_shared = (
        Traffic(**{how: totals.get((how, space), 0) for how in ACCESSES}) for space in ("global", "shared")
    )
    return Work(
        kernel=name,
        threads=x * y * z,
        operations=operations,
        memory=of_memory,
        shared=of_shared,
        marks=memory.touched(),
    )

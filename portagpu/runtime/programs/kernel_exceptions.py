"""Launches of kernels that may raise: the first exception's record, read after the launch."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from portagpu.ir.program import FAULT_VALUES, MAX_FAULT_VALUES, KernelException, Recorded
from portagpu.runtime.execution.recorder import active
from portagpu.runtime.programs.launch import CompiledKernel
from portagpu.runtime.programs.launch_shape import LaunchShape
from portagpu.source import Span

_WORDS = FAULT_VALUES + MAX_FAULT_VALUES


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFault:
    """Where a kernel raised: the attribute ``kernel_fault`` of the exception.

    ``function`` is the kernel or device function, ``span`` the place in it; ``thread`` and ``block`` are (x, y, z).
    """

    function: str
    span: Span
    thread: tuple[int, int, int]
    block: tuple[int, int, int]


def launch_checked(
    compiled: CompiledKernel, queue: Any, shape: LaunchShape, arguments: tuple[Any, ...], counts: tuple[Any, ...] = ()
) -> None:
    """Launch, wait, and raise the first exception of a thread: of the class that the kernel names.

    ``counts`` is the memory of the launch's counts, where it counts its work.
    """
    if active.recorder is not None:
        active.recorder.uses_host()
    record = np.zeros(_WORDS, np.int64)
    driver = compiled.context.driver
    buffer = driver.memory_of(record)
    compiled.launch(queue, shape, compiled.extract(arguments, shape.shared, buffer, counts))
    driver.download(queue, record, buffer, blocking=True)
    number = int(record.view(np.int32)[0])
    if number:
        raise exception_of(compiled.kernel_source.faults[number - 1], record)


def exception_of(fault: KernelException, record: np.ndarray[Any, Any]) -> BaseException:
    """The exception that a record tells of, with the thread in its message and `KernelFault` as an attribute."""
    numbers = [int(n) for n in record[1:FAULT_VALUES]]
    thread, block = (numbers[0], numbers[1], numbers[2]), (numbers[3], numbers[4], numbers[5])
    values = [_value(record, n, kind.dtype.numpy) for n, kind in enumerate(fault.values)]
    args = tuple(_filled(a, values) for a in fault.args)
    if fault.template is not None:
        args = (fault.template.format(*values),)
    span = fault.span
    # CUDA-Python gives the slowest axis first
    place = (
        f"In function {fault.function!r}, file {Path(span.filename).resolve()}, line {span.line}, "
        f"tid={list(reversed(thread))} ctaid={list(reversed(block))}"
    )
    args = (f"{place}: {args[0]}", *args[1:]) if args else (place,)
    try:
        error = fault.kind(*args)
    except Exception:  # a class whose __init__ wants something else
        error = fault.kind.__new__(fault.kind, *args)
        error.args = args
    with contextlib.suppress(AttributeError):  # a class with __slots__
        error.kernel_fault = KernelFault(  # type: ignore[attr-defined]
            function=fault.function, span=span, thread=thread, block=block
        )
    if hasattr(error, "add_note"):
        error.add_note(f"at {span.excerpt()}")
    return error


def _value(record: np.ndarray[Any, Any], position: int, dtype: np.dtype[Any]) -> Any:
    word = record[FAULT_VALUES + position : FAULT_VALUES + position + 1]
    if dtype.kind == "f":
        return float(word.view(dtype)[0])
    return bool(word[0]) if dtype.kind == "b" else int(word.view(np.uint64 if dtype.kind == "u" else np.int64)[0])


def _filled(value: object, values: list[Any]) -> object:
    if isinstance(value, Recorded):
        return values[value.position]
    return tuple(_filled(v, values) for v in value) if isinstance(value, tuple) else value

"""Host functions of CUDA-Python: named streams, profiling, checks of a device, detection."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from portagpu.backends.registry import foreign
from portagpu.device import devices
from portagpu.errors import ArgumentTypeError, NoDeviceError
from portagpu.runtime.execution.context import Context, current_context
from portagpu.runtime.execution.event import Event
from portagpu.runtime.execution.stream import Stream, UnknownStream

_F = TypeVar("_F", bound=Callable[..., Any])


def get_current_stream() -> Stream:
    """The stream of the current device that ``with stream:`` made current in this thread; else the default stream."""
    return current_context().get_current_stream()


def legacy_default_stream() -> Stream:
    """The default stream: the other streams wait for it and it waits for them."""
    return current_context().default_stream


def per_thread_default_stream() -> Stream:
    """This thread's own stream on the current device, made at first use."""
    return current_context().get_per_thread_default_stream()


def external_stream(ptr: Any) -> Stream:
    """A stream around a queue that another library made: PyOpenCL, or dpctl on SYCL devices.

    ``ptr`` is the queue, or the address of a ``cl_command_queue``, an int. The queue must stay alive as long as
    the stream is used. Raises `ArgumentTypeError`; for a number that is no queue's, at the stream's first use.
    """
    if not isinstance(ptr, foreign.queues):
        is_handle = type(ptr) is int and 0 < ptr < 1 << 64
        if is_handle:
            devices()  # registers drivers, which must be before anybody lists platforms
        context = current_context()
        try:
            ptr = context.backend.queue_at(ptr)
        except ArgumentTypeError as error:
            if not is_handle:
                raise
            return UnknownStream(context, ptr, error)
    return Context.wrap(ptr).wrap_queue(ptr)


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Milliseconds from ``evtstart`` to ``evtend``, a float.

    Raises `ClosedError` where one was not recorded, `DriverError` where a queue does not measure time.
    """
    return evtstart.elapsed_time(evtend)


def require_context(fn: _F) -> _F:
    """Decorator: opens the current device's context before the function ``fn`` runs, where it is not open yet.

    Its call raises `NoDeviceError` where no device works.
    """

    @functools.wraps(fn)
    def with_context(*args: Any, **kwargs: Any) -> Any:
        current_context()
        return fn(*args, **kwargs)

    return with_context  # type: ignore[return-value]


def profile_start() -> None:
    """Kept for programs of CUDA-Python: OpenCL has no call that starts a profiler; the open work is finished first."""
    current_context().synchronize()


def profile_stop() -> None:
    """Kept for programs of CUDA-Python, as `profile_start`; the profiled work is finished."""
    current_context().synchronize()


@contextmanager
def profiling() -> Iterator[None]:
    """Context manager of `profile_start` and `profile_stop`."""
    profile_start()
    try:
        yield
    finally:
        profile_stop()


def is_float16_supported() -> bool:
    """Whether kernels can use float16 on the current device, native or rounded from float32."""
    caps = current_context().capabilities
    return caps.fp16 or caps.fp16_storage


def is_bfloat16_supported() -> bool:
    """Whether kernels can use arrays of bfloat16: on every device, as their elements are read as float32."""
    return True


def cuda_error() -> str | None:
    """Why no device can be used, or None where one works."""
    try:
        current_context()
    except NoDeviceError as error:
        return str(error)
    return None


def detect() -> bool:
    """Print the devices that were found, and return whether one works. `portagpu devices` tells more."""
    found = devices()
    print(f"Found {len(found)} CUDA devices (through OpenCL)")
    for record in found:
        works = record.capabilities is not None
        print(f"id {record.index:<4} {record.name:<48} [{'SUPPORTED' if works else 'NOT SUPPORTED'}]")
        facts = {"Platform": record.platform, "UUID": record.uuid}
        if record.capabilities is not None:
            facts["Compute units"] = str(record.capabilities.compute_units)
            facts["Memory"] = f"{record.capabilities.global_memory / 2**30:.1f} GiB"
            facts["FP64"] = "yes" if record.capabilities.fp64 else "no"
        else:
            facts["Problem"] = str(record.problem)
        for label, value in facts.items():
            print(f"{label:>26}: {value}")
    working = sum(record.capabilities is not None for record in found)
    print(f"Summary:\n\t{working}/{len(found)} devices are supported")
    return working > 0

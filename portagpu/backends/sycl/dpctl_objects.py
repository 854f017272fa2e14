"""Objects of dpctl and of what is built on it (dpnp): queues, contexts, and arrays with a USM array interface.

None of these libraries is imported here before a program has done it, and asks for it.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import weakref
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from portagpu.backends.foreign import ForeignArray
from portagpu.backends.handles import Strided
from portagpu.backends.sycl.announcement import INTERFACE
from portagpu.backends.sycl.handles import Device, Event, Queue, SyclContext
from portagpu.backends.sycl.library import Library
from portagpu.backends.sycl.memory import Memory
from portagpu.backends.sycl.usm_interface import interface, layout
from portagpu.errors import ArgumentTypeError, MemoryNotSharedError

_OURS = "portagpu"
_KINDS = (0, 1, 2)  # of memory that SYCL has allocated
_EVENT = b"SyclEventRef"  # the name of dpctl's capsules


class _Recognised(type):
    """A type whose instances are objects of others, known by what they are called or have."""

    def __instancecheck__(cls, value: object) -> bool:
        return bool(cls.knows(type(value)))  # type: ignore[attr-defined]


class _Known:
    @staticmethod
    def knows(kind: type) -> bool:
        """Whether a type is meant."""
        raise NotImplementedError


class DpctlQueue(_Known, metaclass=_Recognised):
    """`dpctl.SyclQueue`."""

    @staticmethod
    def knows(kind: type) -> bool:
        """Whether a type is meant."""
        return kind.__name__ == "SyclQueue" and issubclass(kind, _dpctl("SyclQueue"))


class DpctlContext(_Known, metaclass=_Recognised):
    """`dpctl.SyclContext`."""

    @staticmethod
    def knows(kind: type) -> bool:
        """Whether a type is meant."""
        return kind.__name__ == "SyclContext" and issubclass(kind, _dpctl("SyclContext"))


class UsmArray(_Known, metaclass=_Recognised):
    """What has ``__sycl_usm_array_interface__`` and is not ours: `dpnp.ndarray`, `dpnp.tensor.usm_ndarray`."""

    @staticmethod
    def knows(kind: type) -> bool:
        """Whether a type is meant."""
        return hasattr(kind, INTERFACE) and kind.__module__.partition(".")[0] != _OURS


def _dpctl(name: str) -> Any:
    """A class of dpctl's; nothing's base class where the program has not imported it."""
    return getattr(sys.modules.get("dpctl"), name, _Recognised)


class _FoundQueues(threading.local):
    """A thread's queues by those of dpctl's, so that an array's queue need not be looked at for each launch."""

    def __init__(self) -> None:
        self.known: weakref.WeakValueDictionary[int, SharedQueue] = weakref.WeakValueDictionary()


_found = _FoundQueues()


class SharedQueue(Queue):
    """A queue of dpctl's, whose commands may run in any order, in the order that dpctl and dpnp keep.

    They do not put barriers: each of their commands depends on those that their manager of the queue lists, and is
    listed itself. So are commands of ours.
    """

    __slots__ = ("native",)

    def __init__(self, library: Library, native: Any) -> None:
        address = native.addressof_ref()
        context = SyclContext(library, library.made(library.pg_context_of(address)))
        super().__init__(library, library.made(library.pg_copy_queue(address)), context)
        self.native = native

    @property
    def manager(self) -> Any:
        """Who keeps the order of its commands; of one queue it is another one in each thread."""
        from dpctl.utils import SequentialOrderManager

        return SequentialOrderManager[self.native]

    def _submitted(self, function: Any, *arguments: Any, ends: Sequence[Event] | None = ()) -> Event:
        """A command of the library's, behind what the manager lists and other events; it is listed."""
        library, manager, out = self.library, self.manager, ctypes.c_void_p()
        listed = manager.submitted_events if ends is not None else ()
        before = [event.addressof_ref() for event in listed] + [end.address for end in ends or ()]
        array = (ctypes.c_void_p * len(before))(*before) if before else None
        library.check(function(self.address, *arguments, array, len(before), ctypes.byref(out)))
        event = Event(library, out.value or 0, profiling=self.profiling)
        theirs = _as_dpctl(event)
        manager.add_event_pair(theirs, theirs)
        return event

    def barrier(self, ends: Sequence[Event]) -> Event:
        """Let what comes next wait for events; the event of that. Without events, it is behind all of the queue."""
        return self._submitted(self.library.pg_barrier, ends=ends or None)

    def launch(self, kernel: Any, sizes: Any) -> Event:
        """Enqueue a kernel object with the arguments that it has, and give the event."""
        extents = sizes.ndim, sizes.global_address, sizes.local_address
        return self._submitted(self.library.pg_launch_behind, kernel.address, *extents)

    def copy(self, target: int, source: int, nbytes: int) -> Event:
        """Enqueue a copy of bytes between two addresses, and give the event."""
        return self._submitted(self.library.pg_copy, target, source, nbytes)

    def fill(self, target: int, byte: int, nbytes: int) -> Event:
        """Enqueue setting bytes, and give the event."""
        return self._submitted(self.library.pg_fill, target, byte, nbytes)


def queue_of(library: Library, native: Any) -> SharedQueue:
    """The queue around one of dpctl's."""
    number = hash(native)
    found = _found.known.get(number)
    if found is None or not found.address:  # or another thread is dropping it
        found = _found.known[number] = SharedQueue(library, native)
    return found


def _as_dpctl(event: Event) -> Any:
    """An event as dpctl's, of its own."""
    from dpctl import SyclEvent

    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    # dpctl takes the object that the capsule has, and gives it back with its own destructor
    copy = event.library.made(event.library.pg_give_event(event.address))
    return SyclEvent(make(copy, _EVENT, None))


def context_of(library: Library, value: Any) -> tuple[SyclContext, Device]:
    """The context and the (first) device of a context, queue or array of dpctl's. Raises `SyclError`."""
    kind = type(value)
    if DpctlContext.knows(kind):
        context = SyclContext(library, library.made(library.pg_copy_context(value.addressof_ref())))
        first = value.get_devices()[0]
        return context, Device(library, library.made(library.pg_copy_device(first.addressof_ref())))
    if DpctlQueue.knows(kind):
        address = value.addressof_ref()
        found = queue_of(library, value).context
        return found, Device(library, library.made(library.pg_device_of(address)))
    native = interface(value)["syclobj"]
    if not isinstance(native, DpctlContext | DpctlQueue):
        raise ArgumentTypeError(
            f"{type(value).__name__} names a {type(native).__name__} as its syclobj, which is none of dpctl's here",
            hint="its library has to name a dpctl.SyclQueue or a dpctl.SyclContext",
        )
    return context_of(library, native)


def parts(library: Library, array: Any) -> ForeignArray:
    """What an array consists of.

    Raises `ArgumentTypeError` for what its interface cannot mean, `MemoryNotSharedError` for memory that is not of the
    context that it names, `SyclError`.
    """
    facts = interface(array)
    found, native = layout(array, facts), facts["syclobj"]
    queue = queue_of(library, native) if isinstance(native, DpctlQueue) else None
    if all(found.shape):
        context = context_of(library, array)[0] if queue is None else queue.context
        # two of its elements: what lies between them is the library's to know
        ends = found.address, found.address + found.size - 1
        if any(library.check(library.pg_memory_kind(end, context.address)) not in _KINDS for end in ends):
            raise MemoryNotSharedError(
                f"the memory of {type(array).__name__} is none that SYCL has allocated in the context that it names",
                hint="pass an array that still exists, with the queue that it was made on",
            )
    memory = Memory(found.address, found.size, owner=array)
    return ForeignArray(memory, found.offset, found.shape, found.strides, found.dtype, queue, found.readonly)


def identity(array: Any) -> Hashable | None:
    """What tells memory, queue and layout of an array from those of others; None for what is no array of dpctl's."""
    if not isinstance(array, UsmArray):
        return None
    facts = interface(array)
    native = facts["syclobj"]
    if not isinstance(native, DpctlQueue):
        return None
    found = facts["data"], facts["offset"], facts["shape"], facts["strides"], facts["typestr"], native
    try:
        hash(found)
    except TypeError:  # lists, which `parts` reads
        return None
    return found


class _Exported:
    """An array of ours, as dpctl and dpnp see memory of others."""

    def __init__(self, view: Strided, facts: dict[str, Any]) -> None:
        self._view = view  # whose memory lives as long
        setattr(self, INTERFACE, facts)


def interface_of(view: Strided, native: Any) -> dict[str, Any]:
    """The USM array interface of an array of ours; ``native``: the queue of dpctl's that its memory is used on."""
    size = view.dtype.itemsize
    return {
        "data": (view.buffer.address, bool(getattr(view, "readonly", False))),
        "shape": view.shape,
        "strides": tuple(step // size for step in view.strides),
        "typestr": view.dtype.str,
        "offset": view.offset // size,
        "version": 1,
        "syclobj": native,
    }


def shown(queue: Queue, view: Strided) -> dict[str, Any]:
    """The USM array interface of an array of ours whose memory is used on a queue.

    Raises `MemoryNotSharedError` for memory that SYCL did not allocate.
    """
    library, memory = queue.library, view.buffer
    if library.pg_memory_kind(memory.address, queue.context.address) not in _KINDS:
        raise MemoryNotSharedError(
            "the array's memory is NumPy's, which SYCL's libraries do not take as theirs",
            hint="copy it: cuda.to_device(x)",
        )
    return interface_of(view, queue.native if isinstance(queue, SharedQueue) else _own_queue(queue))


def empty_like(array: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """A new array on the queue of another one: a `usm_ndarray` where that is one, else a `dpnp.ndarray`."""
    library = _tensors() if type(array).__name__ == "usm_ndarray" else _dpnp()
    return library.empty(shape, dtype=dtype, sycl_queue=interface(array)["syclobj"])


def library_array(queue: Queue, view: Strided) -> Any:
    """A `dpnp.ndarray` on the memory of one of ours.

    Raises `ArgumentTypeError` where dpnp is not installed, and as `shown`.
    """
    made = _tensors().asarray(_Exported(view, shown(queue, view)))  # dpnp's own function would copy
    return _dpnp().asarray(made)


def from_dlpack(exporter: Any) -> Any:
    """A `usm_ndarray` of another library's array. Raises `MemoryNotSharedError`."""
    try:
        return _tensors().from_dlpack(exporter)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise MemoryNotSharedError(f"{type(exporter).__name__} cannot be shared: {error}") from error


def _dpnp() -> Any:
    try:
        import dpnp
    except ImportError as error:
        raise ArgumentTypeError("arrays of SYCL's libraries need dpnp", hint="pip install dpnp") from error
    return dpnp


def _tensors() -> Any:
    _dpnp()
    import dpnp.tensor

    return dpnp.tensor


def _own_queue(queue: Queue) -> Any:
    """A queue of ours as dpctl's: the same one."""
    from dpctl import SyclQueue

    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    copy = queue.library.made(queue.library.pg_give_queue(queue.address))
    return SyclQueue(make(copy, b"SyclQueueRef", None))

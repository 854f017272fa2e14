"""Objects of users' other libraries, as back ends take them: queues, memory, contexts, arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from portagpu.backends.handles import Strided
from portagpu.device.record import DeviceRecord
from portagpu.errors import ArgumentTypeError, MemoryNotSharedError


class ForeignArray(NamedTuple):
    """Elements of another library's array, and the queue that its methods use, or None.

    ``alike``: where a back end has it, one object for all arrays of one shape, strides and dtype.
    """

    buffer: Any
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    queue: Any
    readonly: bool = False
    alike: object = None


class ForeignObjects:
    """What a back end does with objects of other libraries that use its interface; as it stands, it takes none."""

    name: str

    queue_types: ClassVar[tuple[type, ...]] = ()
    """Native queues, which streams are made around."""
    array_types: ClassVar[tuple[type, ...]] = ()
    """Arrays of a library that uses this interface, which kernels take without copies."""
    memory_types: ClassVar[tuple[type, ...]] = ()
    """Native memory, which device arrays are made around."""
    context_types: ClassVar[tuple[type, ...]] = ()
    """Native contexts, which contexts are made around; a context of none of these is the chosen back end's."""
    interfaces: ClassVar[frozenset[str]] = frozenset()
    """Attributes by which its device arrays show their memory to other libraries; see `interface`."""
    dlpack_kind: ClassVar[int | None] = None
    """DLPack's code of its devices' memory."""
    leaked_types: ClassVar[tuple[type, ...]] = ()
    """Whose objects must not be freed in a forked child."""

    def natives(self, value: Any) -> tuple[Any, Any]:
        """The native context and device of a native context, or of an object of the types above."""
        raise ArgumentTypeError(f"{type(value).__name__} is no object of {self.name}")

    def shared_key(self, device: DeviceRecord) -> Hashable | None:
        """`Driver.key` of the native context that all of a process share; None where each opening makes a new one."""
        return None

    def key_of(self, native: Any, device: Any) -> Hashable:
        """`Driver.key` of a native context and device."""
        raise ArgumentTypeError(f"{self.name} takes no contexts of other libraries")

    def check_queue(self, queue: Any) -> None:
        """Raise `ArgumentTypeError` for a user's queue that does not run its commands in order."""

    def own_queue(self, queue: Any) -> Any:
        """What drivers take for a user's queue: itself, unless its library is another one than the back end's."""
        return queue

    def queue_at(self, address: Any) -> Any:
        """A user's queue from its number. Raises `ArgumentTypeError`."""
        raise ArgumentTypeError(f"{self.name} has no queues of other libraries")

    def parts(self, array: Any) -> ForeignArray:
        """What an array of `array_types` consists of."""
        raise ArgumentTypeError(f"{type(array).__name__} is no array of {self.name}")

    def library_array(self, queue: Any, view: Strided) -> Any:
        """An array of the library's on the same memory, whose methods use a queue."""
        raise ArgumentTypeError(f"no library has arrays on {self.name}")

    def parts_of(self, value: Any) -> ForeignArray | None:
        """As `parts`, for any value: None for what is no array of the back end's."""
        return self.parts(value) if isinstance(value, self.array_types) else None

    def identity(self, value: Any) -> Hashable | None:
        """What tells memory, queue and layout of an array of `array_types` from those of others, where that is known
        sooner than `parts`; None for other values, and for arrays that `parts` has to look at."""
        return None

    def identifier(self, kind: type) -> Callable[[Any], Hashable | None]:
        """`identity` of values of a type of which it knew one."""
        return self.identity

    def described(self, desc: Any, stream: int | None = None) -> ForeignArray | None:
        """What a CUDA Array Interface describes; None where its memory is none that the back end can use.

        ``stream``: the handle of the stream that its owner has the memory used in, for one that lives as long as the
        process.
        """
        return None

    def room_at(self, address: int) -> int | None:
        """Bytes from an address that `described` takes to the end of its memory; None for other addresses."""
        return None

    def empty_like(self, array: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """A new array of the library of an array of `array_types`, in the same place; None where there are none."""
        return None

    def maker(
        self, like: Any, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> Callable[[Any], tuple[Any, Hashable | None]]:
        """What makes new arrays as `empty_like` does, for arrays that are like one, again and again; with the new one's
        `identity`, or None where that is not known sooner."""
        return lambda other: (self.empty_like(other, shape, dtype), None)

    def interface(self, name: str, queue: Any, view: Strided) -> Any:
        """The value of one of `interfaces` for a device array; ``queue`` is its stream's."""
        raise AttributeError(name)

    def from_dlpack(self, exporter: Any) -> Any:
        """An array of `array_types` on memory of `dlpack_kind` that another library's array shows."""
        raise MemoryNotSharedError(f"{self.name} takes no memory of other libraries by DLPack")

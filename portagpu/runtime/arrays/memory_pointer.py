"""The memory of a device array, by the names of CUDA-Python's ``MemoryPointer``."""

from __future__ import annotations

import ctypes
from typing import Any

from portagpu.errors import UnsupportedError
from portagpu.runtime.arrays.cuda_array_interface import address


class MemoryPointer:
    """The pointer that is `gpu_data` of a device array: its first element's address, and the memory behind it.

    Equal for arrays that begin at the same byte of one memory. It keeps the memory alive. Made of numbers, it raises
    `UnsupportedError`: OpenCL's memory has no pointers.
    """

    __slots__ = ("owner",)
    owner: Any  # the array

    def __init__(self, *args: Any, **options: Any) -> None:
        raise UnsupportedError(
            f"{type(self).__name__} holds a pointer of CUDA's, and OpenCL's memory has none",
            hint="x.gpu_data is that of a device array",
        )

    @classmethod
    def of(cls, owner: Any) -> MemoryPointer:
        """The pointer to a device array's memory."""
        found = cls.__new__(cls)
        found.owner = owner
        return found

    @property
    def device_pointer(self) -> int:
        """The pointer of ``__cuda_array_interface__``, which parameters of type `CPointer` take."""
        return address(self.owner)

    @property
    def device_pointer_value(self) -> int | None:
        """The same, and None where there are no elements."""
        return self.device_pointer or None

    @property
    def device_ctypes_pointer(self) -> ctypes.c_void_p:
        """The same, as ctypes has it."""
        return ctypes.c_void_p(self.device_pointer_value)

    @property
    def size(self) -> int:
        """Bytes from the first element to the end of the memory."""
        return int(self.owner.buffer.size) - int(self.owner.offset)

    @property
    def buffer(self) -> Any:
        """PyOpenCL's buffer; ``owner.offset`` tells the first element's place in it."""
        return self.owner.buffer

    def _place(self) -> tuple[int, int]:
        return self.owner.allocation_key, self.owner.offset

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemoryPointer) and self._place() == other._place()

    def __hash__(self) -> int:
        return hash(self._place())

    def __repr__(self) -> str:
        return f"<MemoryPointer to {self.size} bytes on {self.owner.context.device.name}>"

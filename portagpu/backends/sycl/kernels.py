"""Kernel objects: arguments are written to a block of memory that the library reads at each launch."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np

from portagpu.backends.sycl.handles import Handle, Queue
from portagpu.backends.sycl.library import Library
from portagpu.backends.sycl.memory import LocalMemory


class _Kind(Enum):
    """What an argument is for the library: `portagpu::Argument` of the shim."""

    POINTER = 0
    BYTES = 1
    LOCAL = 2


class Program(Handle):
    """A compiled program."""

    __slots__ = ()
    drop = "pg_drop_program"

    def binary(self) -> bytes | None:
        """What the driver compiled; None where it does not tell."""
        library = self.library
        size = library.check(library.pg_binary(self.address, None, 0))
        if not size:
            return None
        data = ctypes.create_string_buffer(size)
        library.check(library.pg_binary(self.address, data, size))
        return data.raw


class Kernel(Handle):
    """A kernel object; ``set_args`` takes a value for each argument and is generated for what these are."""

    __slots__ = ("_block", "_fields", "_program", "_types", "set_args")
    drop = "pg_drop_kernel"

    def __init__(self, library: Library, program: Program, name: str, types: Sequence[np.dtype[Any] | None]) -> None:
        super().__init__(library, library.made(library.pg_kernel(program.address, name.encode())))
        self._program, self._types = program, types
        self._block: Any = None
        self._fields: list[tuple[int, str, str]] = []  # where each value lies, how it is packed, and from what text
        self.set_args: Callable[..., None] = self._first_args

    def set_arg(self, index: int, value: Any) -> None:
        """Set one argument, after all have been set."""
        offset, how, text = self._fields[index]
        names = {"pack": struct.Struct(how).pack_into, "block": self._block, "a": value, "as_bytes": _as_bytes}
        eval(f"pack(block, {offset}, {text.format('a')})", names)

    def _first_args(self, *values: Any) -> None:
        kinds: list[int] = []
        for type_, value in zip(self._types, values, strict=True):
            kind, size = _kind_of(type_, value)
            kinds += (kind.value, size)
        library, count = self.library, len(values)
        layout = (ctypes.c_size_t * (2 * count))(*kinds)
        address = library.made(library.pg_layout(self.address, layout, count))
        offset = 0
        names: dict[str, Any] = {"as_bytes": _as_bytes}
        for n, (type_, size) in enumerate(zip(self._types, kinds[1::2], strict=True)):
            how, text = _packing(type_, local=kinds[2 * n] == _Kind.LOCAL.value)
            self._fields.append((offset, how, text))
            offset += -(-size // 8) * 8
        self._block = (ctypes.c_char * max(8, offset)).from_address(address)
        whole = struct.Struct("<" + "".join(f"{how[1:]}{-struct.calcsize(how) % 8}x" for _, how, _ in self._fields))
        names |= {"pack": whole.pack_into, "block": self._block}
        places = [f"a{n}" for n in range(count)]
        packed = "".join(f", {text.format(a)}" for a, (_, _, text) in zip(places, self._fields, strict=True))
        made = eval(f"lambda {', '.join(places)}: pack(block, 0{packed})", names) if count else _no_args
        self.set_args = made
        made(*values)


def _no_args() -> None:
    """For kernels without arguments."""


def _kind_of(type_: np.dtype[Any] | None, value: Any) -> tuple[_Kind, int]:
    if type_ is not None:
        return _Kind.BYTES, type_.itemsize
    return (_Kind.LOCAL if isinstance(value, LocalMemory) else _Kind.POINTER), 8


def _packing(type_: np.dtype[Any] | None, *, local: bool) -> tuple[str, str]:
    """How `struct` packs an argument, and the text of what it packs."""
    if type_ is None:
        return "<Q", "{}.nbytes" if local else "{}.address"
    if type_.kind == "c":
        return f"<2{'f' if type_.itemsize == 8 else 'd'}", "{0}.real, {0}.imag"
    code = _CODES.get((type_.kind, type_.itemsize))
    if code is not None:
        return f"<{code}", "{}"
    return f"<{type_.itemsize}s", "as_bytes({}, '" + type_.str + "')"


_CODES = {
    ("b", 1): "?",
    ("i", 1): "b",
    ("i", 2): "h",
    ("i", 4): "i",
    ("i", 8): "q",
    ("u", 1): "B",
    ("u", 2): "H",
    ("u", 4): "I",
    ("u", 8): "Q",
    ("f", 2): "e",
    ("f", 4): "f",
    ("f", 8): "d",
}


def _as_bytes(value: Any, dtype: str) -> bytes:
    return np.asarray(value, dtype).tobytes()


def enqueue_on(library: Library) -> Callable[[Any, Any, Any], Any]:
    """What enqueues a kernel object on a queue: one call of the library's."""
    launch, failure = library.pg_launch, library.failure

    def enqueue(queue: Any, kernel: Kernel, sizes: Any) -> Any:
        if queue.__class__ is not Queue:  # another library's, which is to know of the launch
            return queue.launch(kernel, sizes)
        if launch(queue.address, kernel.address, sizes.ndim, sizes.global_address, sizes.local_address):
            raise failure()
        return None

    return enqueue

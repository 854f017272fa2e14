"""Programs and kernel objects: a module of CUDA's, and its functions with their arguments packed in memory.

An argument is packed when it is set, so that a launch is one call of the driver with four addresses: of the
configuration, the function, the list of the arguments' places, and nothing.
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from portagpu.backends.cuda import library as cu
from portagpu.backends.cuda.handles import Queue
from portagpu.backends.cuda.library import CudaError, LaunchAttribute, LaunchConfig
from portagpu.backends.cuda.primary import Primary
from portagpu.backends.cuda.ptx import Entry, entries
from portagpu.backends.launches import Enqueue, LaunchSizes
from portagpu.errors import BuildError

_MAX_REGISTERS, _INFO_LOG, _INFO_SIZE, _ERROR_LOG, _ERROR_SIZE, _LEVEL, _VERBOSE = 0, 3, 4, 5, 6, 7, 12  # of the JIT
_LOG_BYTES = 16 << 10
_MAX_THREADS, _LOCAL_BYTES, _REGISTERS, _DYNAMIC_BYTES = 0, 3, 4, 8  # attributes of functions
_ASKED_REGISTERS = re.compile(r"-cl-nv-maxrregcount=(\d+)")
_FREE_DYNAMIC = 48 << 10  # bytes of dynamic shared memory that functions need no permission for
_GROUP = 256  # threads of a block where nobody says how many


class LocalMemory(NamedTuple):
    """The argument that stands for dynamic shared memory."""

    nbytes: int


class Program:
    """A module of a primary context; ``text``: its PTX, ``said``: by the driver's compiler."""

    def __init__(self, primary: Primary, text: str, options: tuple[str, ...], *, verbose: bool = False) -> None:
        """Compile a text of `ptx.patched`. Raises `BuildError`, `CudaError`."""
        self.primary, self.text = primary, text
        self.entries = entries(text)
        info, error = ctypes.create_string_buffer(_LOG_BYTES), ctypes.create_string_buffer(_LOG_BYTES)
        asked: dict[int, int] = {
            _INFO_LOG: ctypes.addressof(info),
            _INFO_SIZE: _LOG_BYTES,
            _ERROR_LOG: ctypes.addressof(error),
            _ERROR_SIZE: _LOG_BYTES,
        }
        if verbose:
            asked[_VERBOSE] = 1
        registers = _ASKED_REGISTERS.search(" ".join(options))
        if registers is not None:
            asked[_MAX_REGISTERS] = int(registers.group(1))
        if "-cl-opt-disable" in options:
            asked[_LEVEL] = 0
        names = (ctypes.c_int * len(asked))(*asked)
        values = (ctypes.c_void_p * len(asked))(*asked.values())
        try:
            with primary:
                self.handle = primary.library.handle(
                    "ModuleLoadDataEx", text.encode("latin1") + b"\0", len(asked), names, values
                )
        except CudaError as problem:
            log = error.value.decode(errors="replace")
            if problem.code == cu.OUT_OF_MEMORY or not log:
                raise
            failure = BuildError("CUDA's driver refused what the OpenCL compiler made of the program")
            failure.log, failure.opencl_source = f"{problem}\n\n{log}", text
            raise failure from problem
        self.said = info.value.decode(errors="replace").strip() if verbose else None

    def __del__(self) -> None:
        if hasattr(self, "handle"):
            self.primary.leave("ModuleUnload", self.handle)


class Kernel:
    """A function with the arguments that it has, and how it was launched last."""

    def __init__(self, program: Program, name: str, types: Sequence[np.dtype[Any] | None]) -> None:
        self.program = program  # which the function lives in
        self._library = program.primary.library
        with program.primary:
            self.function = self._library.handle("ModuleGetFunction", program.handle, name.encode())
        self._entry: Entry = program.entries[name]
        self._places = _places(tuple(types))
        self._pack = _packer(self._places)
        self._packed = ctypes.create_string_buffer(max(1, self._places[-1].end if types else 1))
        first = ctypes.addressof(self._packed)
        self._pointers = (ctypes.c_void_p * max(1, len(types)))(*(first + place.begin for place in self._places))
        self.arguments = ctypes.addressof(self._pointers)
        self.config = LaunchConfig()
        self.config_address = ctypes.addressof(self.config)
        self.sizes: LaunchSizes | None = None
        self.stream = -1
        self._permitted = _FREE_DYNAMIC
        self._set_shared(0)
        self._attributes = _attributes(self._entry)
        if self._attributes is not None:
            self.config.attributes = ctypes.addressof(self._attributes)
            self.config.attribute_count = len(self._attributes)

    def set_args(self, *values: Any) -> None:
        """Set all arguments. Raises `OverflowError` for a number that its type does not hold."""
        try:
            self._pack(self._packed, *values)
        except (AttributeError, TypeError, struct.error):
            self._set_each(values)

    def _set_each(self, values: tuple[Any, ...]) -> None:
        """The same one by one: no memory, what stands for dynamic shared memory, and what is wrong."""
        if len(values) != len(self._places):
            raise TypeError(f"the kernel takes {len(self._places)} arguments, not {len(values)}")
        packed = self._packed
        try:
            for place, value in zip(self._places, values, strict=True):
                place.pack(packed, place.begin, *place.parts(value))
        except struct.error as error:
            raise OverflowError(str(error)) from error
        for value in values:
            if type(value) is LocalMemory:
                self._set_shared(value.nbytes)
                self._pack = _refuse  # next time, too

    def set_arg(self, index: int, value: Any, /) -> None:
        """Set one argument."""
        place = self._places[index]
        try:
            place.pack(self._packed, place.begin, *place.parts(value))
        except struct.error as error:
            raise OverflowError(str(error)) from error
        if type(value) is LocalMemory:
            self._set_shared(value.nbytes)

    def _set_shared(self, nbytes: int) -> None:
        needed = nbytes + self._entry.moved_bytes
        if needed > self._permitted:
            with self.program.primary:
                self._library.FuncSetAttribute(self.function, _DYNAMIC_BYTES, needed)
            self._permitted = needed
        self.config.shared_bytes = needed

    def shape(self, sizes: LaunchSizes) -> None:
        """Take the sizes of a launch."""
        local = sizes.local_size or _chosen(sizes.global_size, self.attribute(_MAX_THREADS))
        block = (*local, 1, 1)[:3]
        threads = (*sizes.global_size, 1, 1)[:3]
        config = self.config
        config.block_x, config.block_y, config.block_z = block
        config.grid_x, config.grid_y, config.grid_z = (n // b for n, b in zip(threads, block, strict=True))
        self.sizes = sizes

    def attribute(self, number: int) -> int:
        """A figure of the function."""
        with self.program.primary:
            return self._library.number("FuncGetAttribute", number, self.function)

    @property
    def max_threads(self) -> int:
        """Threads of the largest block that it runs with."""
        return self.attribute(_MAX_THREADS)

    @property
    def local_bytes(self) -> int:
        """Bytes of a thread's memory that are not registers."""
        return self.attribute(_LOCAL_BYTES)

    @property
    def registers(self) -> int:
        """Registers of a thread."""
        return self.attribute(_REGISTERS)


def _attributes(entry: Entry) -> ctypes.Array[LaunchAttribute] | None:
    """What launches of a kernel say beside their sizes."""
    found = []
    if entry.cluster is not None:
        found.append(LaunchAttribute(cu.CLUSTER_DIMENSION, 0, *entry.cluster))
    if entry.waits:
        found.append(LaunchAttribute(cu.PROGRAMMATIC_STREAM_SERIALIZATION, 0, 1))
    return (LaunchAttribute * len(found))(*found) if found else None


def enqueue_on(primary: Primary) -> Enqueue:
    """The function that launches a kernel object on a queue."""
    launch = primary.library.raw("cuLaunchKernelEx")
    watched = not primary.is_alone  # another card's context may be current

    def again(kernel: Kernel) -> None:
        with primary:
            code = launch(kernel.config_address, kernel.function, kernel.arguments, None)
        if code:
            raise CudaError(code, "cuLaunchKernelEx")

    def enqueue(queue: Queue, kernel: Kernel, sizes: LaunchSizes) -> None:
        if kernel.sizes is not sizes:
            kernel.shape(sizes)
        if kernel.stream != queue.handle:
            kernel.config.stream = kernel.stream = queue.handle
        if watched or launch(kernel.config_address, kernel.function, kernel.arguments, None):
            again(kernel)  # a thread's first launch has no context yet; what is wrong is wrong again

    return enqueue


# arguments ----------------------------------------------------------------------------------------------------------


class _Place(NamedTuple):
    """Where an argument is packed: ``pack`` writes the numbers that ``parts`` makes of it from ``begin`` on.

    ``letters``: how `struct` has them; ``text``: the same parts, as Python text with the argument's name in it.
    """

    begin: int
    end: int
    letters: str
    pack: Callable[..., None]
    parts: Callable[[Any], tuple[Any, ...]]
    text: str


_LETTERS = {"uint8": "B", "float16": "e", "float32": "f", "float64": "d"}


@lru_cache(1024)
def _places(types: tuple[np.dtype[Any] | None, ...]) -> tuple[_Place, ...]:
    found = []
    begin = 0
    for kind in types:
        if kind is None:
            letters, align, text = "Q", 8, "{0}.address"
            parts: Callable[[Any], tuple[Any, ...]] = _address
        elif kind.kind == "c":
            letters, align, text = "ff" if kind.itemsize == 8 else "dd", kind.itemsize, "{0}.real, {0}.imag"
            parts = _components
        else:
            letter = _LETTERS.get(kind.name) or {1: "b", 2: "h", 4: "i", 8: "q"}[kind.itemsize]
            letters, align, text = letter.upper() if kind.kind == "u" else letter, kind.itemsize, "{0}"
            parts = _number
        begin = -(-begin // align) * align
        layout = struct.Struct(f"<{letters}")
        found.append(_Place(begin, begin + layout.size, letters, layout.pack_into, parts, text))
        begin += layout.size
    return tuple(found)


@lru_cache(1024)
def _packer(places: tuple[_Place, ...]) -> Callable[..., None]:
    """A function of the packed bytes and the arguments, as Python text that is made of places alone: launches run it.

    Raises `AttributeError` for what is no memory, `TypeError` and `struct.error` for what is wrong.
    """
    letters, end = "<", 0
    for place in places:
        letters += f"{place.begin - end}x{place.letters}"
        end = place.end
    names = [f"a{n}" for n in range(len(places))]
    parts = "".join(f"{place.text.format(name)}, " for place, name in zip(places, names, strict=True))
    text = f"lambda packed, {', '.join(names)}: pack(packed, 0, {parts})"
    made: Callable[..., None] = eval(
        compile(text, "<portagpu arguments>", "eval"), {"pack": struct.Struct(letters).pack_into}
    )
    return made


def _refuse(*_: Any) -> None:
    raise AttributeError


def _address(value: Any) -> tuple[int]:
    """Of memory; of what stands for dynamic shared memory nothing is read."""
    return (0 if value is None or type(value) is LocalMemory else value.address,)


def _components(value: Any) -> tuple[Any, Any]:
    return value.real, value.imag


def _number(value: Any) -> tuple[Any]:
    return (value,)


def _chosen(threads: tuple[int, ...], most: int) -> tuple[int, ...]:
    """A block for a launch that names none: as many threads along the first axis as divide it."""
    first = max(n for n in range(1, min(_GROUP, most) + 1) if threads[0] % n == 0)
    return (first, *(1 for _ in threads[1:]))

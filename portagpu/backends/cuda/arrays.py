"""Arrays of other libraries in a card's memory: which they are, and what they consist of.

torch and CuPy tell quickest by their own attributes, and in which stream their next work runs; everything else tells by
the CUDA Array Interface or by DLPack. No library is imported here: whoever has an array has imported its own.

Specifications: the CUDA Array Interface, version 3, in Numba's documentation; DLPack 1.0, ``dlpack.h``.
"""

from __future__ import annotations

import ctypes
import operator
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np

from portagpu.backends.cuda import dlpack
from portagpu.backends.cuda import library as cu
from portagpu.backends.cuda.announcement import INTERFACE, OURS, has_no_arrays, never
from portagpu.backends.cuda.library import CudaError
from portagpu.backends.cuda.primary import primary
from portagpu.dtypes import BFLOAT16
from portagpu.errors import ArgumentTypeError, MaskedArrayError

_VERSION = 3  # of the interface
_ORDINAL = 9  # attribute of pointers
_MOST_ALIKE = 4096  # ways in which tensors lie that are remembered
LIVES = True  # keeps a stream that lives as long as the process, as torch's own do


class Lying:
    """How elements lie: from the first one's address the lowest byte is at ``below``, the last one before ``above``.

    Readers have one object for all arrays that lie alike, where they can tell soon.
    """

    __slots__ = ("above", "below", "dtype", "is_complex", "shape", "strides")

    def __init__(self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        reach = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
        empty = 0 in shape
        self.shape, self.strides, self.dtype = shape, strides, dtype
        self.is_complex = dtype.kind == "c"
        self.below = 0 if empty else sum(step for step in reach if step < 0)
        self.above = 0 if empty else sum(step for step in reach if step > 0) + dtype.itemsize


class Found(NamedTuple):
    """An array's elements; ``stream`` is the handle of the stream that its library works in, ``keeper`` what keeps
    stream or memory, ``ordinal`` CUDA's number of the card."""

    address: int
    lying: Lying
    ordinal: int
    stream: int
    keeper: Any = None
    readonly: bool = False


class Reader(ABC):
    """Reads the arrays of a library."""

    @abstractmethod
    def holds(self, value: Any) -> bool:
        """Whether the array is in a card's memory."""

    @abstractmethod
    def read(self, value: Any) -> Found:
        """What the array consists of. Raises `ArgumentTypeError` for one that is more than memory."""

    def identity(self, value: Any) -> Hashable | None:
        """What an array that is in a card's memory has in common with no other, where that is quickly told."""
        return None

    def empty(self, like: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """A new array of the library on the same card; None where its arrays cannot be written."""
        return None

    def maker(
        self, like: Any, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> Callable[[Any], tuple[Any, Hashable | None]] | None:
        """See `Backend.maker`; None where `empty` is as quick."""
        return None


class _Torch(Reader):
    def __init__(self) -> None:
        self._torch: Any = sys.modules["torch"]
        self._strided = self._torch.strided
        self._lying: dict[Any, Lying] = {}
        self._dtypes: dict[np.dtype[Any], Any] = {}
        # the handle alone, where this version has it: it takes a fifth of the time of the stream's object
        self._raw_stream = getattr(self._torch._C, "_cuda_getCurrentRawStream", None) or self._handle
        self._lasting = {0}  # handles of streams of torch's own

    def _handle(self, device: int) -> int:
        return int(self._torch.cuda.current_stream(device).cuda_stream)

    def holds(self, value: Any) -> bool:
        return bool(value.is_cuda)

    def read(self, value: Any) -> Found:
        if value.requires_grad:
            raise _more_than_memory("records what happens to it for gradients", "pass x.detach()")
        if value.layout is not self._strided:
            raise _more_than_memory(f"has the layout {value.layout}", "pass x.to_dense()")
        if value.is_conj() or value.is_neg():
            raise _more_than_memory("is conjugated or negated lazily", "pass x.resolve_conj().resolve_neg()")
        key = value.shape, value.stride(), value.dtype
        lying = self._lying.get(key) or self._new(key)
        device = value.get_device()
        stream = self._raw_stream(device)
        keeper = LIVES if stream in self._lasting else self._keeper(stream, device)
        return Found(value.data_ptr(), lying, device, stream, keeper)

    def _keeper(self, stream: int, device: int) -> Any:
        """`LIVES` for a stream of torch's own; None for one that another library made, which may end it.

        Numbers of torch's own streams are odd: those of others are their handles.
        """
        current = self._torch.cuda.current_stream(device)
        if current.cuda_stream != stream or not getattr(current, "stream_id", 0) & 1:
            return None
        self._lasting.add(stream)
        return LIVES

    def identity(self, value: Any) -> Hashable | None:
        if not value.is_cuda or value.requires_grad or value.layout is not self._strided or value.is_neg():
            return None
        lying = self._lying.get((value.shape, value.stride(), value.dtype))
        if lying is None or (lying.is_complex and value.is_conj()):
            return None
        device = value.get_device()
        return value.data_ptr(), lying, device, self._raw_stream(device)

    def _new(self, key: tuple[Any, Any, Any]) -> Lying:
        shape, steps, kind = key
        name = str(kind).removeprefix("torch.")
        try:
            dtype = BFLOAT16.numpy if name == BFLOAT16.name else np.dtype(name)
        except TypeError:
            raise ArgumentTypeError(f"kernels have no elements of {kind}", hint="convert it: x.float()") from None
        if len(self._lying) >= _MOST_ALIKE:
            self._lying.clear()
        made = Lying(tuple(shape), tuple(step * dtype.itemsize for step in steps), dtype)
        self._lying[key] = made
        self._dtypes[dtype] = kind
        return made

    def empty(self, like: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        kind = self._dtypes.get(dtype) or getattr(self._torch, dtype.name)
        return self._torch.empty(shape, dtype=kind, device=like.device)

    def maker(
        self, like: Any, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> Callable[[Any], tuple[Any, Hashable | None]]:
        kind, device = self._dtypes.get(dtype) or getattr(self._torch, dtype.name), like.get_device()
        first = self.empty(like, shape, dtype)
        steps = first.stride()
        lying = self.read(first).lying
        make, raw_stream = self._empty(device), self._raw_stream

        def made(_: Any) -> tuple[Any, Hashable | None]:
            found = make(shape, steps, kind)
            return found, (found.data_ptr(), lying, device, raw_stream(device))

        return made

    def _empty(self, device: int) -> Callable[[Any, Any, Any], Any]:
        """What makes a tensor of extents, steps and type on a card."""
        torch = self._torch
        where = torch.device("cuda", device)
        quick = getattr(getattr(getattr(torch._C, "_dynamo", None), "guards", None), "_empty_strided_cuda", None)
        if quick is not None and torch.cuda.device_count() == 1:  # it takes the current card
            return quick  # type: ignore[no-any-return]
        return lambda shape, steps, kind: torch.empty_strided(shape, steps, dtype=kind, device=where)


class _CuPy(Reader):
    def __init__(self) -> None:
        self._cupy: Any = sys.modules["cupy"]

    def holds(self, value: Any) -> bool:
        return True

    def read(self, value: Any) -> Found:
        device = int(value.device.id)
        stream = self._cupy.cuda.get_current_stream(device)
        lying = Lying(value.shape, value.strides, value.dtype)
        return Found(int(value.data.ptr), lying, device, int(stream.ptr), stream)

    def empty(self, like: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        with like.device:
            return self._cupy.empty(shape, dtype)


class _Own(Reader):
    """Of ours, which the runtime knows by itself."""

    def holds(self, value: Any) -> bool:
        return False

    def read(self, value: Any) -> Found:
        raise AssertionError


class _DLPack(Reader):
    """Of JAX, and of all that have this protocol alone."""

    def holds(self, value: Any) -> bool:
        try:
            return value.__dlpack_device__()[0] in dlpack.CARDS
        except Exception:  # an array without memory, or deleted: whoever takes it for a host's says so
            return False

    def read(self, value: Any) -> Found:
        try:
            capsule = value.__dlpack__(stream=cu.LEGACY_STREAM)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise ArgumentTypeError(
                f"a {type(value).__name__} cannot be shared: {error}", hint="pass a copy that its library makes"
            ) from None
        told = dlpack.read(capsule)
        # immutable, where the library says so: its own values would change with the memory
        readonly = told.readonly or type(value).__module__.partition(".")[0] in ("jax", "jaxlib")
        lying = Lying(told.shape, told.strides, told.dtype)
        return Found(told.address, lying, told.ordinal, cu.LEGACY_STREAM, capsule, readonly)


class _Interface(Reader):
    """Of all that have the CUDA Array Interface."""

    def holds(self, value: Any) -> bool:
        try:
            desc = getattr(value, INTERFACE)
        except Exception:  # the attribute is missing, or does not tell
            return False
        return ordinal_of(pointer_of(desc)) is not None

    def read(self, value: Any) -> Found:
        return described(getattr(value, INTERFACE))


def described(desc: Any) -> Found:
    """What a description of the interface tells. Raises `ArgumentTypeError` for what is none."""
    try:
        version = operator.index(desc["version"])
        shape = tuple(map(operator.index, desc["shape"]))
        pointer, readonly = desc["data"]
        descr, given, stream = desc.get("descr"), desc.get("strides"), desc.get("stream")
        plain = descr is None or len(descr) == 1
        dtype: np.dtype[Any] = np.dtype(str(desc["typestr"]) if plain else descr)
        if plain and dtype.str[1:] == "V2":  # as NumPy shows bfloat16, of which it knows nothing
            dtype = BFLOAT16.numpy
        strides = dlpack.compact_strides(shape, dtype.itemsize) if given is None else tuple(map(operator.index, given))
        address, place = operator.index(pointer), None if stream is None else operator.index(stream)
        if len(strides) != len(shape) or any(extent < 0 for extent in shape):
            raise ValueError(f"shape {shape} with strides {strides}")
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise ArgumentTypeError(
            f"not a CUDA Array Interface: {type(error).__name__}: {error}",
            hint="it is a dict with shape, typestr, data and version, and perhaps strides and stream",
        ) from error
    if not 0 <= version <= _VERSION:
        raise ArgumentTypeError(
            f"version {version} of the CUDA Array Interface is not known", hint=f"versions up to {_VERSION} are"
        )
    if dtype.hasobject:
        raise ArgumentTypeError(f"a card's memory has no elements of {dtype}", hint="convert the array")
    if desc.get("mask") is not None:
        raise MaskedArrayError("Masked arrays are not supported", hint="apply the mask, and pass it as an array")
    ordinal = ordinal_of(address)
    if ordinal is None:
        raise ArgumentTypeError(f"no memory of CUDA's is at {address:#x}", hint="pass an array that is alive")
    if place not in (None, 0, cu.LEGACY_STREAM):
        primary(ordinal).follow(place)  # which nobody keeps: what comes in the default stream is after its work
    return Found(address, Lying(shape, strides, dtype), ordinal, cu.LEGACY_STREAM, None, bool(readonly))


def pointer_of(desc: Any) -> int:
    """The address in a description; 0 for what is none."""
    try:
        return int(desc["data"][0] or 0)
    except (TypeError, ValueError, KeyError, IndexError):
        return 0


def ordinal_of(pointer: int) -> int | None:
    """CUDA's number of the card in whose memory an address is; None for other addresses."""
    if not pointer or not cu.is_there():
        return None
    try:
        return cu.library().number("PointerGetAttribute", _ORDINAL, ctypes.c_void_p(pointer))
    except CudaError:
        return None


def room_at(pointer: int) -> int | None:
    """Bytes from an address to the end of its memory on a card; None for other addresses."""
    ordinal = ordinal_of(pointer) if 0 < pointer < 1 << 64 else None
    if ordinal is None:
        return None
    card, begin, size = primary(ordinal), ctypes.c_uint64(), ctypes.c_size_t()
    with card:
        card.library.MemGetAddressRange_v2(ctypes.byref(begin), ctypes.byref(size), pointer)
    return begin.value + size.value - pointer


def _more_than_memory(what: str, hint: str) -> ArgumentTypeError:
    return ArgumentTypeError(f"a tensor that {what} cannot be shared: kernels see memory alone", hint=hint)


# which reader reads what --------------------------------------------------------------------------------------------

_OF_LIBRARIES: dict[tuple[str, str], type[Reader]] = {("torch", "Tensor"): _Torch, ("cupy", "ndarray"): _CuPy}
_interface, _dlpack = _Interface(), _DLPack()
_readers: dict[type, Reader] = {}  # of libraries' own types


def reader_of(value: Any) -> Reader | None:
    """What reads a value that is an array in a card's memory; None for all others."""
    kind = type(value)
    if kind in never:
        return None
    reader = _readers.get(kind)
    if reader is None:
        if has_no_arrays(kind):
            return None
        reader = _of_kind(kind)
        if reader is None:
            return _interface if _interface.holds(value) else None
    return reader if reader.holds(value) else None


def _of_kind(kind: type) -> Reader | None:
    for base in kind.__mro__:
        library = base.__module__.partition(".")[0]
        if library == OURS:
            _readers[kind] = found = _same(_Own)
            return found
        made = _OF_LIBRARIES.get((library, base.__name__))
        if made is not None:
            found = _readers[kind] = _same(made)
            return found
    if not cu.is_there():
        return None
    if hasattr(kind, INTERFACE) and not hasattr(kind, "__dlpack_device__"):
        return _interface
    return _dlpack if hasattr(kind, "__dlpack_device__") and hasattr(kind, "__dlpack__") else None


def _same(made: type[Reader]) -> Reader:
    """The one reader of a class."""
    return next((reader for reader in _readers.values() if type(reader) is made), None) or made()


def identity_of(value: Any) -> Hashable | None:
    """`Reader.identity` of a value of a library's own type."""
    reader = _readers.get(type(value))
    return None if reader is None else reader.identity(value)


def identifier_of(kind: type) -> Callable[[Any], Hashable | None] | None:
    """`Reader.identity` for values of a library's own type; None where no such value was read."""
    reader = _readers.get(kind)
    return None if reader is None else reader.identity


class _OnCards(type):
    """The type of `CudaArray`: whose instances are told by what they are, not by a class."""

    def __instancecheck__(cls, value: Any) -> bool:
        return reader_of(value) is not None


class CudaArray(metaclass=_OnCards):
    """Every array of another library that is in a card's memory is an instance."""

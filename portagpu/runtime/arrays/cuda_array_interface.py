"""The CUDA Array Interface, version 3, between objects of one process.

Where a back end knows addresses, they are the pointers. OpenCL does not tell where memory lies: there the "pointers"
are names. Each allocation that is asked for one gets a range of addresses that no machine maps, so that a library of
CUDA's that is handed one refuses it instead of reading something else, and an object that wraps a device array of ours
is traced back to it.

Specification: the CUDA Array Interface in the documentation of Numba for CUDA.
"""

from __future__ import annotations

import itertools
import operator
import sys
import threading
import weakref
from types import FrameType
from typing import Any

import numpy as np

from portagpu.errors import ArgumentTypeError, MaskedArrayError, MemoryNotSharedError, OutOfMemoryError
from portagpu.runtime.arrays.layout import strides_of
from portagpu.runtime.arrays.overlap import note_shown

VERSION = 3
NAME = "__cuda_array_interface__"
# whose Python code looks for the interface first, to hand the pointer to CUDA
_CUDA_LIBRARIES = frozenset(
    ("cuda", "cudf", "cuml", "cupy", "cupyx", "jax", "jaxlib", "mxnet", "numba", "numba_cuda", "nvmath")
) | {"paddle", "pycuda", "pylibraft", "raft_dask", "rmm", "tensorflow", "torch", "warp"}
_FIRST = 1 << 62  # addresses from here to 2^63 are canonical on no machine
_RANGE = 1 << 41  # bytes for each allocation, more than any device has
_SLOTS = 1 << 20
_slots: dict[int, int] = {}  # by allocation
_arrays: dict[int, list[weakref.ref[Any]]] = {}  # by slot: who asked, and keeps the memory
_hosts: weakref.WeakValueDictionary[int, np.ndarray[Any, Any]] = weakref.WeakValueDictionary()  # by address
_numbers = itertools.count()
_lock = threading.RLock()  # a collection inside may run code that asks for another


def address(array: Any) -> int:
    """What stands for the pointer to the first element of a device array; 0 for one without elements."""
    if not array.size:
        return 0
    pointer = array.context.driver.pointer(array.buffer)
    if pointer is not None:
        note_shown(array)
        array.context.unsettled.settle()  # what others write there may be read by what is put off
        return int(pointer) + int(array.offset)
    key = array.allocation_key
    offset = int(array.offset)
    while getattr(array.base, "allocation_key", None) == key:
        array = array.base  # views come and go
    with _lock:
        slot = _slots.get(key)
        if slot is None:
            slot = _slots.setdefault(key, _free_slot())
        known = _arrays.setdefault(slot, [])
        if all(r() is not array for r in known):
            known.append(weakref.ref(array, lambda r: _forget(r, key, slot)))
    return _FIRST + slot * _RANGE + offset


def _free_slot() -> int:
    """A slot that no living array has; each is used again as late as possible."""
    for _ in range(_SLOTS):
        slot = next(_numbers) % _SLOTS
        if slot not in _arrays:
            return slot
    raise OutOfMemoryError(
        f"{_SLOTS} allocations have a CUDA Array Interface at the same time, and there are no more addresses for it",
        hint="drop arrays, or take views of one larger array",
    )


def _forget(dead: weakref.ref[Any], key: int, slot: int) -> None:
    """Called when an array dies, at any time, also within the lock: single operations on dicts and lists only."""
    known = _arrays.get(slot)
    if known is None or dead not in known:
        return
    known.remove(dead)
    if not known and _slots.get(key) == slot:
        _slots.pop(key, None)
        _arrays.pop(slot, None)


def described(array: Any) -> dict[str, Any]:
    """The interface of a device array, as a new dict."""
    driver = array.context.driver
    stream = array.stream
    if driver.shares_addresses:  # the libraries' own streams wait for the one that is named
        stream = driver.handle((stream or array.context.default_stream).ready())
    return _description(array, address(array), bool(array.readonly), stream)


def described_host(array: np.ndarray[Any, Any], stream: Any) -> dict[str, Any]:
    """The interface of host memory that kernels use: as with CUDA, its pointer is the host's own.

    ``stream`` is 0, or the stream in which its maker uses it.
    """
    pointer = int(array.__array_interface__["data"][0]) if array.size else 0
    if pointer:
        _hosts[pointer] = array
    return _description(array, pointer, not array.flags.writeable, stream)


def described_by(desc: Any) -> np.ndarray[Any, Any] | None:
    """The host array that `described_host` described with ``desc``; None for other memory."""
    try:
        pointer, shape, typestr = int(desc["data"][0] or 0), tuple(desc["shape"]), desc["typestr"]
        strides = desc.get("strides")
    except (TypeError, ValueError, KeyError, AttributeError, IndexError):
        return None  # `parsed` tells what is wrong with it
    array = _hosts.get(pointer)
    if array is None or (array.shape, array.dtype.str) != (shape, typestr) or desc.get("mask") is not None:
        return None
    same = strides is None or tuple(strides) == array.strides
    return array if same else None


def _description(array: Any, pointer: int, readonly: bool, stream: Any) -> dict[str, Any]:
    contiguous = array.strides == strides_of(array.shape, array.dtype, "C")
    result = {
        "shape": array.shape,
        "strides": None if contiguous else array.strides,
        "data": (pointer, readonly),
        "typestr": array.dtype.str,
        "stream": (int(stream) or None) if stream else None,
        "version": VERSION,
    }
    if array.dtype.names is not None:
        result["descr"] = array.dtype.descr
    return result


def is_asked_for(frame: FrameType) -> bool:
    """Whether the code of a frame names the interface, and is none of a library that would take the pointer for real.

    Libraries in C have no frames: theirs is the one of the function that called them.
    """
    code = frame.f_code
    if NAME not in code.co_names and NAME not in code.co_consts:
        return False
    library = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return library not in _CUDA_LIBRARIES or _is_replaced(library)


def _is_replaced(library: str) -> bool:
    """Whether `portagpu.cuda` stands in the place of a library's ``cuda``: its pointers then come back to us."""
    module = sys.modules.get(f"{library}.cuda")
    return module is not None and module is sys.modules.get("portagpu.cuda")


def has_interface(obj: Any) -> bool:
    """Whether an object, not a class, offers the interface, and is no host memory, which kernels take as NumPy's."""
    return not isinstance(obj, type | np.ndarray) and hasattr(obj, "__cuda_array_interface__")


def parsed(desc: Any) -> tuple[Any, int, tuple[int, ...], tuple[int, ...], np.dtype[Any], bool]:
    """What a description is of: (an array of ours with its memory, offset in bytes, shape, strides, dtype, read-only).

    The array is None where there are no elements. Raises `ArgumentTypeError` for what is no description, and
    `MemoryNotSharedError` for memory of others, with `MaskedArrayError` for masks.
    """
    try:
        shape = _whole(desc["shape"])
        pointer, readonly = desc["data"]
        address = 0 if pointer is None else operator.index(pointer)
        typestr, strides, version = desc["typestr"], desc.get("strides"), operator.index(desc["version"])
        descr = desc.get("descr")
        dtype = np.dtype(str(typestr)) if descr is None or len(descr) == 1 else np.dtype(descr)
        steps = strides_of(shape, dtype, "C") if strides is None else _whole(strides)
        if len(steps) != len(shape) or any(n < 0 for n in shape):
            raise ValueError(f"shape {shape} with strides {steps}")
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise ArgumentTypeError(
            f"not a CUDA Array Interface: {type(error).__name__}: {error}",
            hint="it is a dict with shape, typestr, data and version, and perhaps strides",
        ) from error
    if not 0 <= version <= VERSION:
        raise ArgumentTypeError(
            f"version {version} of the CUDA Array Interface is not known", hint=f"versions up to {VERSION} are"
        )
    if desc.get("mask") is not None:
        raise MaskedArrayError("Masked arrays are not supported", hint="apply the mask, and pass it as an array")
    if 0 in shape:
        return None, 0, shape, steps, dtype, bool(readonly)
    slot, offset = divmod(address - _FIRST, _RANGE)
    with _lock:
        keepers = [array for r in _arrays.get(slot, ()) if (array := r()) is not None]
    if not keepers:
        raise MemoryNotSharedError(
            "memory of CUDA libraries cannot be used by kernels here",
            hint="copy it through the host: cuda.to_device(host_array)",
        )
    kept = keepers[0].dtype
    if kept.names is None and typestr == kept.str:  # bfloat16, which its text does not tell from any two bytes
        dtype = kept
    return keepers[0], offset, shape, steps, dtype, bool(readonly)


def _whole(numbers: Any) -> tuple[int, ...]:
    return tuple(map(operator.index, numbers))

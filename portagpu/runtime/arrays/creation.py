"""Device arrays from host arrays and from PyOpenCL's."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from portagpu import config
from portagpu.backends.handles import Memory
from portagpu.backends.registry import described, foreign, of_dlpack, room_at
from portagpu.device import record_of
from portagpu.errors import ArgumentTypeError, MemoryNotSharedError, ShapeError
from portagpu.runtime.arrays import numpy_dispatch
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.checks import host_array
from portagpu.runtime.arrays.cuda_array_interface import described_by, has_interface, parsed
from portagpu.runtime.arrays.dlpack import HOST_KINDS, shares_with_host
from portagpu.runtime.arrays.foreign import dlpack_kind, is_foreign, shared_view
from portagpu.runtime.arrays.foreign_views import foreign_view, view_of_parts
from portagpu.runtime.arrays.host_memory import adopt_host, is_shareable
from portagpu.runtime.arrays.layout import checked_dtype, checked_shape, extent_of, strides_like, strides_of
from portagpu.runtime.arrays.overlap import unknown_key
from portagpu.runtime.execution.context import Context, current_context
from portagpu.runtime.execution.stream import Stream
from portagpu.settings import interface_sync_wanted

_OWN_MEMORY = frozenset({np.ndarray, bool, int, float, complex, list, tuple})  # types of what is on no device


def device_array_like(ary: Any, stream: Stream | int = 0) -> DeviceNDArray:
    """An uninitialised device array of the shape, dtype and order of ``ary``, a host or device array.

    Like a transposed matrix that is a view of a device array in C order, it is in C order. It is on the device of
    ``stream``. Raises `ArgumentTypeError` for what is no array, `OutOfMemoryError`.
    """
    if is_foreign(ary):
        ary = host_array(ary)
    strides = strides_of_one_like("device_array_like", ary)
    return device_array(ary.shape, ary.dtype, strides=strides, stream=stream)


def strides_of_one_like(caller: str, ary: Any) -> tuple[int, ...]:
    """Strides of a new array like a host or device array, in the order of its axes.

    Transposed matrices of a device array in C order get that: in CUDA-Python, which transposes nothing but matrices,
    they are copies in C order. Raises `ArgumentTypeError` for what is no array.
    """
    if isinstance(ary, type) or not all(hasattr(ary, name) for name in ("shape", "strides", "dtype")):
        raise ArgumentTypeError(f"{caller} takes an array, not {type(ary).__name__}", hint="use np.asarray(...)")
    whole = getattr(ary, "base", None)
    if isinstance(whole, DeviceNDArray) and whole.ndim == len(ary.shape) == 2 and whole.is_c_contiguous():
        return strides_of(ary.shape, ary.dtype, "C")
    return strides_like(ary.shape, ary.strides, ary.dtype.itemsize)


def to_device(
    obj: Any,
    stream: Stream | int = 0,
    copy: bool = True,
    to: DeviceNDArray | None = None,
    *,
    context: Context | None = None,
) -> DeviceNDArray:
    """Copy ``obj``, a host array or anything `numpy.asarray` takes, to the device; device arrays stay as they are.

    ``to`` names an existing device array of the same shape and dtype as the target. With ``copy=False`` the memory is
    allocated but not filled. The copy is made on ``stream``: with one other than 0, and page-locked memory, it is under
    way when the call returns. The array is on the stream's device, or in ``context``.

    Arrays in Fortran order keep it; others, with gaps or permuted axes, become C order.

    Raises `DTypeError` for dtypes that no device has, `ShapeError` where ``to`` has another shape, `OutOfMemoryError`.
    """
    if to is not None:
        if not isinstance(to, DeviceNDArray):
            raise ArgumentTypeError(
                f"to= is a device array, not {type(to).__name__}", hint="make one with cuda.device_array_like(x)"
            )
        there = operand_array(obj)
        to.copy_to_device(obj if there is None else there, stream)
        return to
    there = operand_array(obj)
    if there is not None:
        return there
    host = host_array(obj)
    strides = None if host.size else host.strides  # nothing lies there, and they are what the program gave
    order = order_of(host)
    result = device_array(host.shape, host.dtype, strides, order, stream=stream, context=context)
    if copy:
        with result.context.unsettled:  # nobody else has that memory
            result.copy_to_device(host, stream)
    return result


def order_of(host: np.ndarray[Any, Any]) -> str:
    """The order in which a device array holds what a host array has: without gaps, and as there where that has none."""
    return "F" if host.flags.f_contiguous and not host.flags.c_contiguous else "C"


def is_device_like(obj: Any) -> bool:
    """Whether an object can be wrapped without copies: a PyOpenCL array, or what offers the CUDA Array Interface."""
    return type(obj) not in _OWN_MEMORY and (isinstance(obj, foreign.arrays) or has_interface(obj))


def view_of(value: Any, what: str) -> Any:
    """An array of ours in the memory of PyOpenCL's, or a NumPy array in that of another library's; None for others.

    ``what`` names it in errors. Raises `ArgumentTypeError` as `as_device_array` and `shared_view`.
    """
    if is_device_like(value):
        return as_device_array(value)
    return shared_view(value, what) if is_foreign(value) else None


def as_device_array(
    obj: Any, *, dtype: Any = None, shape: Any = None, context: Context | None = None, readonly: bool = False
) -> DeviceNDArray:
    """Wrap a `pyopencl.array.Array`, or a `pyopencl.Buffer` with a ``dtype``, without copying.

    Or an object that offers the CUDA Array Interface of a device array of ours. Raises `ArgumentTypeError` for anything
    else.
    """
    if isinstance(obj, DeviceNDArray):
        return obj
    if isinstance(obj, foreign.arrays):
        return foreign_view(obj, readonly=readonly)
    if has_interface(obj) or (isinstance(obj, np.ndarray) and hasattr(obj, "__cuda_array_interface__")):
        return from_interface(obj.__cuda_array_interface__, obj)
    if isinstance(obj, foreign.memories) and dtype is not None:
        memory: Memory = obj  # type: ignore[assignment]
        kind = checked_dtype(dtype)
        where = context or Context.wrap(obj)
        extents = (memory.size // kind.itemsize,) if shape is None else checked_shape(shape)
        result = DeviceNDArray(
            extents,
            kind,
            strides_of(extents, kind, "C"),
            obj,
            where,
            base=obj,
            allocation_key=_foreign_key(where, obj),
            readonly=readonly,
        )
        if result.nbytes > memory.size:
            raise ShapeError(f"shape {extents} of {kind} needs {result.nbytes} bytes; the buffer has {memory.size}")
        return result
    raise ArgumentTypeError(
        f"{type(obj).__name__} cannot be wrapped as a device array",
        hint="pass a pyopencl.array.Array, or a pyopencl.Buffer with dtype=",
    )


def from_dlpack(obj: Any, *, context: Context | None = None, copy: bool | None = None) -> DeviceNDArray:
    """A device array of what has ``__dlpack__``; of host memory in ``context``, or the current one.

    It shares the memory where the device uses it, else, unless ``copy`` is False, it is a copy. Raises
    `MemoryNotSharedError`, and `ArgumentTypeError` for what has no ``__dlpack__``.
    """
    if isinstance(obj, DeviceNDArray):
        return obj
    if isinstance(obj, foreign.arrays):
        return as_device_array(obj)
    if not hasattr(obj, "__dlpack__") or not hasattr(obj, "__dlpack_device__"):
        raise ArgumentTypeError(f"{type(obj).__name__} has no __dlpack__", hint="use cuda.to_device(np.asarray(x))")
    try:
        backend = of_dlpack(dlpack_kind(obj, "the array"))
        if backend is not None:
            return as_device_array(backend.from_dlpack(obj))
        host = shared_view(obj, "the array")
    except ArgumentTypeError as error:
        raise MemoryNotSharedError(error.message, hint=error.hint) from None
    where = context or current_context()
    if not host.size and copy is False:  # no memory, which nobody could tell from shared one
        return to_device(host, context=where)
    if copy is not True and host.size and shares_with_host(where.capabilities) and is_shareable(host):
        return adopt_host(where, host)
    if copy is False:
        raise MemoryNotSharedError(
            f"memory of the host becomes an array of {where.device.name} only by a copy",
            hint="leave copy=False away",
        )
    return to_device(host, context=where)


def operand_array(obj: Any) -> DeviceNDArray | None:
    """A device array of a device's memory that an operand of any library has, without a copy; None for other operands.

    Raises `ArgumentTypeError`, or `MemoryNotSharedError`, for memory of a device that kernels cannot use.
    """
    if isinstance(obj, DeviceNDArray):
        return obj
    if is_device_like(obj):
        return as_device_array(obj)
    if is_foreign(obj) and dlpack_kind(obj, "the array") not in HOST_KINDS:
        return from_dlpack(obj)
    return None


def from_interface(desc: Any, owner: Any = None, *, sync: bool = True) -> DeviceNDArray:
    """The device array that a CUDA Array Interface describes; see `cuda.from_cuda_array_interface`."""
    host = described_by(desc)
    if host is not None:
        return adopt_host(current_context(), host)
    theirs = described(desc)
    if theirs is not None:
        return view_of_parts(theirs, desc if owner is None else owner)
    keeper, offset, shape, strides, dtype, readonly = parsed(desc)
    if keeper is None:
        return device_array(shape, dtype)
    stream = _named_stream(keeper, desc.get("stream"))
    if sync and stream and config.CUDA_ARRAY_INTERFACE_SYNC and interface_sync_wanted():
        stream.synchronize()
    return view_at(keeper, shape, strides, dtype, offset, stream=stream, readonly=readonly)


def view_at(
    memory: DeviceNDArray,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: Any,
    offset: int | None = None,
    *,
    stream: Stream | Literal[0] = 0,
    readonly: bool = False,
) -> DeviceNDArray:
    """Elements of any dtype from a byte of an array's memory on, by default its first element's.

    Raises `ShapeError` where they reach out of it, `DTypeError`.
    """
    kind = checked_dtype(dtype)
    first = memory.offset if offset is None else offset
    nbytes, before = extent_of(shape, strides, kind.itemsize)
    if not before <= first <= memory.buffer.size - (nbytes - before):
        raise ShapeError(
            f"shape {shape} with strides {strides} reaches out of the array's {memory.buffer.size} bytes",
            hint="shape counts elements of the dtype, and strides bytes",
        )
    return DeviceNDArray(
        shape,
        kind,
        strides,
        memory.buffer,
        memory.context,
        offset=first,
        base=memory,
        stream=stream,
        readonly=readonly or memory.readonly,
        allocation_key=memory.allocation_key,
    )


def _named_stream(keeper: DeviceNDArray, handle: Any) -> Stream | Literal[0]:
    """The stream that a description names by its number: also one that only a view of the array was bound to."""
    if not handle:
        return 0
    return next((s for s in keeper.context.streams if s.is_named(handle)), keeper.stream)


def at_address(address: int, dtype: np.dtype[Any]) -> DeviceNDArray:
    """The elements from an address of ``__cuda_array_interface__`` to the end of its memory, as an array of one axis.

    On back ends that share addresses with other libraries, of any memory of theirs. Raises `MemoryNotSharedError` where
    no array of ours has the address.
    """
    room = room_at(address)
    desc: dict[str, Any] = {"shape": (1,), "data": (address, False), "typestr": dtype.str, "version": 1}
    try:
        theirs = None if room is None else described(desc | {"shape": (room // dtype.itemsize,)})
        if theirs is not None:
            return view_of_parts(theirs, None)
        keeper, offset, *_ = parsed(desc)
    except MemoryNotSharedError:
        raise MemoryNotSharedError(
            f"no device array has the address {address:#x}",
            hint='pass x.__cuda_array_interface__["data"][0] of a device array that is alive',
        ) from None
    count = max(keeper.buffer.size - offset, 0) // dtype.itemsize
    return DeviceNDArray(
        (count,),
        dtype,
        (dtype.itemsize,),
        keeper.buffer,
        keeper.context,
        offset=offset,
        base=keeper,
        readonly=keeper.readonly,
        allocation_key=keeper.allocation_key,
    )


def _empty_like(
    prototype: DeviceNDArray,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> DeviceNDArray:
    """`numpy.empty_like`: on the same device, in the same order."""
    kind = prototype.dtype if dtype is None else checked_dtype(dtype)
    if device is not None:
        context = Context.for_device(record_of(device))
        return device_array(prototype.shape if shape is None else shape, kind, context=context)
    if order in ("C", "F"):
        extents = prototype.shape if shape is None else shape
        return device_array(extents, kind, order=order, context=prototype.context)
    if shape is None:
        strides = strides_like(prototype.shape, prototype.strides, prototype.itemsize)
        steps = tuple(step // prototype.itemsize * kind.itemsize for step in strides)
        return device_array(prototype.shape, kind, strides=steps, context=prototype.context)
    return device_array(shape, kind, context=prototype.context)


numpy_dispatch.register("empty_like", _empty_like, frozenset({"dtype", "order", "subok", "shape", "device"}))


def _foreign_key(context: Context, buffer: Any) -> int:
    """A key that two wrappers of one buffer share (sub-buffers share their parent's)."""
    driver = context.driver
    return unknown_key() if driver.knows_addresses else -driver.handle(driver.whole_of(buffer))

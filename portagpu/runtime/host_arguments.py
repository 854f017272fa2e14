"""Host arrays as kernel arguments: `In`, `Out`, `InOut`, and plain NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from portagpu.errors import ArgumentTypeError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.checks import writable_view
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.arrays.host_memory import SharedSpans, can_share, is_lent, map_back, share_host, wrap_host
from portagpu.runtime.arrays.overlap import host_range
from portagpu.runtime.arrays.regions import HostOperand, Place, Region, bounds_of, place_of, regions_of
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.stream import Stream


def like_tuple(original: tuple[Any, ...], items: Iterable[Any]) -> tuple[Any, ...]:
    """A tuple of other items; a namedtuple of the same class where the original is one."""
    make = getattr(original, "_make", tuple)
    made: tuple[Any, ...] = make(items)
    return made


class HostWork:
    """Host arrays among the arguments of one launch: what they share with the device, and what follows the launch."""

    __slots__ = ("_args", "_copies", "_fixed", "_operands", "_placed", "_regions", "_spans", "after")

    def __init__(self, args: tuple[Any, ...]) -> None:
        self.after: list[Callable[[], None]] = []
        self._copies: list[Callable[[], None]] = []
        self._args = args
        self._fixed: list[tuple[int, int]] | None = None
        self._operands: list[HostOperand] | None = None
        self._regions: dict[Place, Region] | None = None
        self._placed: dict[tuple[int, bool], DeviceNDArray] = {}
        self._spans: SharedSpans | None = None

    @property
    def operands(self) -> list[HostOperand]:
        """All host arrays of the launch but those that it gets copies of."""
        if self._operands is None:
            self._operands = list(_operands(self._args).values())
        return self._operands

    @property
    def spans(self) -> SharedSpans:
        """The memory of all arrays that the launch writes, and of those that share it."""
        if self._spans is None:
            written = [o.array for o in self.operands if o.written]
            shared = [
                o.array
                for o in self.operands
                if not o.written
                and (self.region(o.array) is not None or self.on_device_already(o.array) or is_lent(o.array))
            ]
            self._spans = SharedSpans(written, shared)
        return self._spans

    def region(self, array: np.ndarray[Any, Any]) -> Region | None:
        """What an array shares with others; None for one that is alone."""
        if self._regions is None:
            self._regions = regions_of(self.operands)
        return self._regions.get(place_of(array)) if self._regions else None

    def on_device_already(self, array: np.ndarray[Any, Any]) -> bool:
        """Whether a device array among the arguments is made of an array's memory, as `cuda.from_dlpack` makes them."""
        if self._fixed is None:
            self._fixed = [found for item in _device_arrays(self._args) if (found := host_range(item)) is not None]
        if not self._fixed:
            return False
        low, high = bounds_of(array)
        return any(low < end and begin < high for begin, end in self._fixed)

    def once(self, key: tuple[int, bool], place: Callable[[], DeviceNDArray]) -> DeviceNDArray:
        """What ``place`` gives, once for each key: an array that is passed twice is one array on the device, too."""
        if key not in self._placed:
            self._placed[key] = place()
        return self._placed[key]

    @property
    def pending(self) -> bool:
        """Whether anything follows the launch."""
        return bool(self.after or self._copies)

    def follow(self, action: Callable[[], None]) -> None:
        """Note a copy to the host: it follows what makes memory that is used in place, and may lie beside, current."""
        self._copies.append(action)

    def finish(self) -> None:
        """What follows the launch."""
        for action in (*self.after, *self._copies):
            action()


def _operands(args: tuple[Any, ...]) -> dict[tuple[int, bool], HostOperand]:
    """One for each array object and way to pass it: `HostWork.once` gives these one place on the device."""
    found: dict[tuple[int, bool], HostOperand] = {}
    for value in args:
        copies_in, item = True, value
        if isinstance(value, ArgumentWrapper):
            if not value.copies_out:
                continue
            copies_in, item = value.copies_in, value.value
        item = writable_view(item)
        if isinstance(item, np.ndarray):
            found[id(item), copies_in] = HostOperand(item, bool(item.flags.writeable))
        elif isinstance(item, tuple):
            found.update(_operands(item))
    return found


def _device_arrays(args: tuple[Any, ...]) -> Iterator[DeviceNDArray]:
    for value in args:
        item = value.value if isinstance(value, ArgumentWrapper) else value
        if isinstance(item, DeviceNDArray):
            yield item
        elif isinstance(item, tuple):
            yield from _device_arrays(item)


class ArgumentWrapper:
    """A host array for one launch: copied to the device before, back after, or both. Also accepts device arrays."""

    copies_in = True
    copies_out = True

    def __init__(self, value: Any) -> None:
        value = writable_view(value)
        if not isinstance(value, np.ndarray | DeviceNDArray):
            raise ArgumentTypeError(
                f"cuda.{type(self).__name__} wraps a NumPy array, not {type(value).__name__}",
                hint="use np.asarray(...)",
            )
        self.value = value

    @staticmethod
    def for_host_array(value: np.ndarray[Any, Any]) -> ArgumentWrapper:
        """The wrapper of a plain NumPy argument: in and back, or only in when it is read-only."""
        return InOut(value) if value.flags.writeable else _ReadOnly(value)

    def to_device(self, context: Context, stream: Stream, work: HostWork) -> DeviceNDArray:
        """The argument on the device; what copies it back is added to ``work``."""
        host = self.value
        if isinstance(host, DeviceNDArray):
            return host
        if self.copies_out and not host.flags.writeable:
            raise ArgumentTypeError(
                "the array is read-only and cannot take results", hint="wrap it in cuda.In(...) or pass a copy"
            )
        if self.copies_out or isinstance(self, _ReadOnly):
            return work.once((id(host), self.copies_in), lambda: self._place(host, context, stream, work))
        device = to_device(host, stream=stream, copy=False, context=context)
        device.copy_to_device(host)  # in the launch's stream, and done when the caller may change the array again
        return device

    def _place(self, host: np.ndarray[Any, Any], context: Context, stream: Stream, work: HostWork) -> DeviceNDArray:
        """The array as the kernel sees it: with other arguments' elements where it shares them."""
        region = work.region(host)
        if region is not None or work.on_device_already(host):
            return _place_shared(region, host, context, stream, work)
        if self.copies_out:  # what is read only is copied: drivers' buffers over memory ask for a writable one
            shared = wrap_host(context, host, spans=work.spans)
            if shared is not None:
                work.after.append(partial(map_back, shared, stream))
                return shared
        elif is_lent(host):
            shared = wrap_host(context, host, spans=work.spans, readonly=True)
            if shared is not None:
                if stream.synchronize not in work.after:  # its owner takes it back
                    work.after.append(stream.synchronize)
                return shared
        device = to_device(host, stream=stream, copy=False, context=context)
        if self.copies_in:
            device.copy_to_device(host)
        if self.copies_out:
            work.follow(lambda: _copy_back(device, host))
        return device


def _place_shared(
    region: Region | None, host: np.ndarray[Any, Any], context: Context, stream: Stream, work: HostWork
) -> DeviceNDArray:
    """An array that shares elements with others, beside them on the device: all in place, or all in one copy.

    Raises `ArgumentTypeError` where others are device arrays of this very memory, which cannot be used in place.
    """
    arrays = [host] if region is None else region.arrays
    readonly = not host.flags.writeable
    on_device = any(map(work.on_device_already, arrays))
    if region is None or not region.on_device:
        nbytes = host.nbytes if region is None else region.nbytes
        if can_share(context, arrays, nbytes, spans=work.spans, of_any_size=on_device):
            shared = share_host(context, host, spans=work.spans, readonly=readonly, instead_of=arrays[0])
            work.after.append(lambda: map_back(shared, stream))
            return shared
        if region is None or on_device:
            raise ArgumentTypeError(
                "a NumPy array shares memory with a device array among the arguments, and cannot be used where it is",
                hint="pass both as NumPy arrays, or both as device arrays",
            )
        region.copy_in(context, stream)
        work.follow(region.copy_out)
    return region.view(host, readonly=readonly)


def _copy_back(device: DeviceNDArray, host: np.ndarray[Any, Any]) -> None:
    device.copy_to_host(host)


class In(ArgumentWrapper):
    """A host array that the kernel only reads: copied to the device, not back."""

    copies_out = False


class _ReadOnly(In):
    """A plain NumPy argument that is read-only: kernels that write it do not compile, where `In` lets them scribble."""

    def to_device(self, context: Context, stream: Stream, work: HostWork) -> DeviceNDArray:
        """The argument on the device, read-only."""
        return super().to_device(context, stream, work).as_readonly()


class Out(ArgumentWrapper):
    """A host array that the kernel only writes: not copied to the device, only back."""

    copies_in = False


class InOut(ArgumentWrapper):
    """A host array that the kernel reads and writes: copied both ways."""

"""Histograms of device arrays: bins of one width, bins between given edges, and of whole numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu.dispatch import ready
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.errors import DTypeError, SettingsError, ShapeError
from portagpu.primitives.bins import histogram_kernels as kernels
from portagpu.primitives.extremes import extremes
from portagpu.primitives.flat import stream_for
from portagpu.primitives.shares import threads_of
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.checks import host_array
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.stream import Stream
from portagpu.ufuncs.kernel_source import launch

_MOST_SHARED = 32768  # bytes of a block's bins: several blocks fit a unit
_MOST_COPIES = 8
_MOST_NEAR = 2048  # edges that blocks keep in shared memory
_BLOCKS_PER_UNIT = 8
_PIECE = 2**31 - 2**16  # values whose counts fit 32 bits
_ERRORS = 8  # roundings of a quotient, generously: a value's, an edge's, those of the differences and the product


class _Bins(NamedTuple):
    """How many bins there are, and what tells a value's: a device function and what it takes."""

    number: int
    place: Dispatcher
    edges: DeviceNDArray
    first: Any
    last: Any
    scale: Any
    margin: Any
    is_searched: bool = False


def histogram(
    x: DeviceNDArray,
    bins: Any = 10,
    range: tuple[float, float] | None = None,
    *,
    weights: DeviceNDArray | None = None,
    density: bool = False,
    stream: Stream | int = 0,
) -> tuple[DeviceNDArray, DeviceNDArray]:
    """How many elements, or what sum of weights, lies between neighbouring edges; and the edges. See `numpy.histogram`.

    ``bins``: how many of one width, from the smallest to the largest element or over ``range``, or their ascending
    edges, an array. Counts are int64, and exact. Sums of weights are float64 (float32 where the device has no more);
    on GPUs they are added in an order that changes, so that digits beyond some ``len(x) * 2**-53`` of the sum of
    magnitudes do, too. The host waits for the elements' range where that is not given.
    Raises `SettingsError` for other bins, `ShapeError`, `DTypeError`.
    """
    with stream_for(x, stream):
        flat = _flat(x)
        if weights is not None and weights.shape != x.shape:
            raise ShapeError(f"weights of shape {weights.shape} are not those of elements of shape {x.shape}")
        if flat.dtype.kind == "b":
            flat = flat.view(np.uint8)
        if flat.dtype.kind not in "iuf":
            raise DTypeError(
                f"a histogram is of real numbers, not of {flat.dtype}", hint="convert it: x.astype(np.float32)"
            )
        chosen, edges = _bins_of(flat, bins, range)
        found = _counted(flat, chosen, None if weights is None else _flat(weights))
        if density:
            widths = to_device(np.diff(edges.copy_to_host()).astype(np.float64), context=x.context)
            found = found / widths / float(found.copy_to_host().sum())
        elif weights is not None and found.dtype != weights.dtype and weights.dtype.kind in "iuf":
            if weights.dtype.kind in "iu" and weights.dtype.itemsize < 8:
                found = found.astype(np.int64)  # from which sums wrap around, as NumPy's; of floats C does not say
            found = found.astype(weights.dtype)
        return found, edges


def bincount(
    x: DeviceNDArray, weights: DeviceNDArray | None = None, minlength: int = 0, *, stream: Stream | int = 0
) -> DeviceNDArray:
    """How often each whole number from 0 to the largest occurs, or the sum of its weights. See `numpy.bincount`.

    The host waits for the largest. Of no numbers there are counts also with weights, as NumPy has it. Raises
    `ShapeError` for numbers below 0 and arrays of several axes, `DTypeError`.
    """
    with stream_for(x, stream):
        if x.ndim != 1:
            raise ShapeError(f"bincount takes an array of one axis, not of {x.ndim}", hint="x.ravel()")
        if x.dtype.kind not in "biu":
            raise DTypeError(f"bincount takes whole numbers, not {x.dtype}", hint="convert them: x.astype(np.int64)")
        if minlength < 0:
            raise ShapeError(f"minlength= is not negative, as {minlength} is")
        if weights is not None and weights.shape != x.shape:
            raise ShapeError(f"weights of shape {weights.shape} are not those of {x.shape} elements")
        flat = _flat(x)
        if flat.dtype.kind == "b":
            flat = flat.view(np.uint8)
        low, high = (int(n) for n in extremes(flat)) if flat.size else (0, -1)
        if low < 0:
            raise ShapeError(f"bincount takes numbers from 0 on, not {low}")
        count = max(high + 1, minlength)
        zero = np.int32(0)
        bins = _Bins(count, kernels.place_itself, flat, zero, zero, zero, zero)
        return _counted(flat, bins, None if weights is None or not flat.size else _flat(weights))


def _bins_of(x: DeviceNDArray, bins: Any, limits: Any) -> tuple[_Bins, DeviceNDArray]:
    context = x.context
    if isinstance(bins, DeviceNDArray):
        bins = bins.copy_to_host()
    if isinstance(bins, str):
        raise SettingsError(f"bins={bins!r} is missing for device arrays", hint="give how many, or their edges")
    kind = np.dtype(np.float32 if x.dtype.itemsize < 8 and x.dtype.kind == "f" else np.float64)
    if np.ndim(bins):
        host = host_array(bins)
        if host.ndim != 1 or host.size < 2 or np.any(host[:-1] > host[1:]):
            raise SettingsError("the edges of bins are an ascending array of one axis", hint="sort them")
        edges = to_device(host, context=context)
        compared = to_device(host.astype(np.result_type(host, x.dtype)), context=context)
        width = float(host[-1]) - float(host[0])
        scale = (host.size - 1) / width if width > 0 and np.isfinite(width) else 0
        return _searched(host, compared, kind, scale), edges
    if isinstance(bins, bool) or not hasattr(bins, "__index__") or bins < 1:
        raise SettingsError(f"bins= is a positive number of bins, or their edges, not {bins!r}")
    count = int(bins)
    first, last = _limits(x, limits)
    stored = np.result_type(first, last, x.dtype)
    stored = np.result_type(stored, float) if stored.kind in "iu" else stored
    with np.errstate(all="ignore"):
        host = np.linspace(first, last, count + 1, endpoint=True, dtype=stored)
    if not np.all(host[:-1] < host[1:]):
        raise SettingsError(f"too many bins for the data's range: {first} to {last} has no {count} of finite size")
    edges = to_device(host, context=context)
    with np.errstate(all="ignore"):
        low, high = kind.type(host[0]), kind.type(host[-1])
        scale = kind.type(count) / (high - low)
    if not 0 < scale < np.inf:  # the range is subnormal, or wider than the largest number
        return _searched(host, edges, kind, 0), edges
    margin = kind.type(min(0.5, _ERRORS * count * float(np.finfo(kind).eps)))
    return _Bins(count, kernels.place_uniform(kind), edges, low, high, scale, margin), edges


def _searched(host: np.ndarray[Any, Any], edges: DeviceNDArray, kind: np.dtype[Any], scale: float) -> _Bins:
    """Bins between edges that are searched; ``scale``: bins for each unit, where they are about as wide; else 0."""
    count = host.size - 1
    half = np.int32(1 << (count.bit_length() - 1))
    with np.errstate(all="ignore"):
        first, step = kind.type(host[0]), kind.type(scale)
    near = np.isfinite(first) and np.isfinite(step)
    first, step = (first, step) if near else (kind.type(0), kind.type(0))
    return _Bins(count, kernels.place_between(kind), edges, first, half, step, kind.type(0), is_searched=True)


def _limits(x: DeviceNDArray, limits: Any) -> tuple[Any, Any]:
    if limits is not None:
        first, last = limits
        if first > last:
            raise SettingsError(f"range= goes from a smaller number to a larger, not from {first} to {last}")
    elif x.size:
        first, last = extremes(x)
    else:
        first, last = 0, 1
    if not (np.isfinite(first) and np.isfinite(last)):
        raise SettingsError(f"the range [{first}, {last}] is not finite", hint="give range=")
    return (first - 0.5, last + 0.5) if first == last else (first, last)


def _counted(x: DeviceNDArray, bins: _Bins, weights: DeviceNDArray | None) -> DeviceNDArray:
    """Counts, int64, or sums of weights."""
    context = x.context
    total: np.dtype[Any] = np.dtype(np.int32)
    if weights is not None:
        if weights.dtype.kind == "c":
            raise DTypeError("complex weights are missing", hint="call it for weights.real and for weights.imag")
        total = np.dtype(np.float64 if context.capabilities.fp64 else np.float32)
    found = None
    for start in range(0, max(x.size, 1), _PIECE):
        piece = slice(start, start + _PIECE)
        part = _piece(x._view(piece), bins, None if weights is None else weights._view(piece), total, context)
        part = part if weights is not None else part.astype(np.int64)
        found = part if found is None else found + part
    assert found is not None
    return found


def _piece(
    x: DeviceNDArray, bins: _Bins, weights: DeviceNDArray | None, total: np.dtype[Any], context: Context
) -> DeviceNDArray:
    amount = kernels.one if weights is None else kernels.weight
    amounts = x if weights is None else weights
    caps = context.capabilities
    numbers = (bins.edges, bins.number, bins.first, bins.last, bins.scale, bins.margin)
    with context.unsettled:
        out = device_array(bins.number, total, context=context)
        if not out.size:
            return out
        if not x.size:
            launch(kernels.clear, out.size, None, 0, (out,), context)
            return out
        if caps.is_serial:
            rows = max(1, min(caps.compute_units, x.size // max(bins.number, 1024)))
            parts = device_array((rows, bins.number), total, context=context)
            kernel = kernels.serial_kernel(bins.place, amount, total)
            ready.launch(kernel, rows, 1, (x, amounts, *numbers, -(-x.size // rows), parts))
            launch(kernels.add_rows, out.size, None, 0, (parts, out), context)
            return out
        launch(kernels.clear, out.size, None, 0, (out,), context)
        threads = threads_of(caps)
        tile = threads * kernels.ITEMS
        blocks = max(1, min(caps.compute_units * _BLOCKS_PER_UNIT, -(-x.size // tile)))
        share = -(-x.size // (blocks * tile)) * tile
        capacity = max(64, 1 << (bins.number - 1).bit_length())
        most = min(_MOST_SHARED, caps.local_memory_static) // total.itemsize
        if capacity <= most:
            copies = max(1, min(_MOST_COPIES, most // 2 // capacity))
            table = bins.edges.size if bins.is_searched and bins.edges.size <= _MOST_NEAR else 0
            types = x.dtype, total, bins.edges.dtype
            plan = kernels.SharedPlan(bins.place, amount, threads, capacity, copies, *types, table)
            kernel = kernels.shared_kernel(plan)
        else:
            kernel = kernels.atomic_kernel(bins.place, amount, threads, total)
        ready.launch(kernel, blocks, threads, (x, amounts, *numbers, share, out))
    return out


def _flat(x: DeviceNDArray) -> DeviceNDArray:
    return x.ravel()

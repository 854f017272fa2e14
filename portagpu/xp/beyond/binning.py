"""NumPy's histograms of device arrays: of one axis and of several, and the edges of their bins."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.errors import ArgumentTypeError, SettingsError, ShapeError
from portagpu.expressions.apply import apply
from portagpu.expressions.reductions import functions
from portagpu.expressions.writing import chosen
from portagpu.primitives.bins.histograms import bincount, histogram
from portagpu.primitives.sorts.searching import searchsorted
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.numpy_dispatch import call, register
from portagpu.xp.conversion import array_of, context_of_any
from portagpu.xp.products import alike

_RULES = ("auto", "doane", "fd", "rice", "scott", "sqrt", "sturges")


def _count(x: DeviceNDArray, rule: str, limits: Any) -> int:
    """How many bins of one width a rule takes, see `numpy.histogram_bin_edges`; the host waits for what it looks at."""
    if rule not in _RULES:
        raise SettingsError(f"bins={rule!r} is no rule for device arrays", hint=f"one of {', '.join(_RULES)}")
    if limits is not None:
        inside = apply(np.logical_and, apply(np.greater_equal, x, limits[0]), apply(np.less_equal, x, limits[1]))
        x = x[inside]
    if not x.size:
        return 1
    low, high = (float(functions.reduce(f, x, None).item()) for f in (np.minimum, np.maximum))
    first, last = limits if limits is not None else (low, high) if low < high else (low - 0.5, high + 0.5)
    size, extent = x.size, high - low
    width = _width(x, rule, size, extent)
    if x.dtype.kind in "iub" and 0 < width < 1:
        width = 1
    return int(np.ceil((last - first) / width)) if width else 1


def _width(x: DeviceNDArray, rule: str, size: int, extent: float) -> float:
    by_count = {"sqrt": np.sqrt(size), "sturges": np.log2(size) + 1.0, "rice": 2.0 * size ** (1.0 / 3)}
    if rule in by_count:
        return float(extent / by_count[rule])
    if rule == "scott":
        return float((24.0 * np.pi**0.5 / size) ** (1.0 / 3.0) * float(functions.variance(x, root=True).item()))
    if rule == "doane":
        deviation = float(functions.variance(x, root=True).item())
        if size <= 2 or not deviation > 0:
            return 0.0
        cubes = apply(np.power, apply(np.divide, apply(np.subtract, x, functions.mean(x)), deviation), 3)
        skewed = abs(float(functions.mean(cubes).item())) / np.sqrt(6.0 * (size - 2) / ((size + 1.0) * (size + 3)))
        return float(extent / (1.0 + np.log2(size) + np.log2(1.0 + skewed)))
    high, low = call("percentile", x, [75, 25]).copy_to_host()
    freedman = float(2.0 * (high - low) * size ** (-1.0 / 3.0))
    if rule == "fd":
        return freedman
    sturges = _width(x, "sturges", size, extent)
    half = _width(x, "sqrt", size, extent) / 2  # so that a few far elements do not make millions of bins
    return min(max(freedman, half) if freedman else sturges, sturges)


def _bins(x: DeviceNDArray, bins: Any, limits: Any) -> Any:
    return _count(x.ravel(), bins, limits) if isinstance(bins, str) else bins


def _histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    x = array_of(a, context_of_any(bins, weights))
    amounts = None if weights is None else array_of(weights, x.context)
    if amounts is not None and isinstance(bins, str):
        raise ArgumentTypeError("a rule for the number of bins takes no weights=", hint="give how many, or their edges")
    number = _bins(x, bins, range)
    if amounts is None or amounts.dtype.kind != "c":
        return histogram(x, number, range, weights=amounts, density=bool(density))
    real, edges = histogram(x, number, range, weights=amounts.real.copy())
    found = device_array(real.shape, np.result_type(real.dtype, np.complex64), context=x.context)
    found.real[...], found.imag[...] = real, histogram(x, number, range, weights=amounts.imag.copy())[0]
    if density:
        widths = apply(np.subtract, edges[1:], edges[:-1])
        found = apply(np.divide, apply(np.divide, found, widths), functions.reduce(np.add, found, None))
    return found.astype(amounts.dtype, copy=False), edges


def _edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> DeviceNDArray:
    x = array_of(a, context_of_any(bins, weights))
    if range is None and not isinstance(bins, str) and np.ndim(bins):
        return array_of(bins, x.context)
    looked_at = x.ravel()[:0] if range is not None and not isinstance(bins, str) else x
    return histogram(looked_at, _bins(x, bins, range), range)[1]


def _histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """A column of the sample for each axis, or an array for each in a sequence."""
    if isinstance(sample, DeviceNDArray | np.ndarray) and getattr(sample, "ndim", 0) == 2:
        matrix = array_of(sample, context_of_any(weights))
        columns = [matrix._view((slice(None), n)) for n in np.arange(matrix.shape[1]).tolist()]
    else:
        context = context_of_any(*sample, weights) if not isinstance(sample, DeviceNDArray) else sample.context
        columns = [x.ravel() for x in alike(*(array_of(x, context) for x in sample))]
    count = len(columns)
    each = [bins] * count if hasattr(bins, "__index__") else list(bins)
    if len(each) != count:
        raise ShapeError(f"bins are given for {len(each)} axes, and the sample has {count}")
    limits = [None] * count if range is None else list(range)
    if len(limits) != count:
        raise ShapeError(f"ranges are given for {len(limits)} axes, and the sample has {count}")
    edges, places, extents = [], [], []
    for x, number, limit in zip(columns, each, limits, strict=True):
        border = _edges(x, number, limit)
        if not np.ndim(number):
            border = border.astype(x.dtype if limit is None and x.dtype.kind == "f" else np.float64, copy=False)
        kind = np.result_type(x.dtype, border.dtype)
        values = x.astype(kind, copy=False).copy()
        at = searchsorted(border.astype(kind, copy=False), values, side="right")
        at = chosen(apply(np.equal, values, border[-1:]), border.size - 1, at)  # the last edge is in the last bin
        places.append(at)
        extents.append(border.size + 1)
        edges.append(border)
    flat: Any = 0
    for at, extent in zip(places, extents, strict=True):
        flat = apply(np.add, apply(np.multiply, flat, extent), at)
    total = int(np.prod(extents))
    amounts = None if weights is None else array_of(weights, flat.context)
    found = bincount(flat, amounts, total).astype(np.float64, copy=False).reshape(tuple(extents))
    found = found._view(tuple(slice(1, -1) for _ in extents)).copy()
    if density:
        whole = functions.reduce(np.add, found, None)
        for n, border in enumerate(edges):
            shape = [1] * count
            shape[n] = -1
            widths = apply(np.subtract, border[1:], border[:-1]).reshape(*shape)
            found = apply(np.divide, found, widths)
        found = apply(np.divide, found, whole)
    return found, tuple(edges)


def _histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    context = context_of_any(x, y, weights)
    first, second = array_of(x, context), array_of(y, context)
    if first.shape != second.shape or first.ndim != 1:
        raise ShapeError(f"x of shape {first.shape} and y of shape {second.shape}: both are of one axis and length")
    both = bins if hasattr(bins, "__index__") or len(bins) == 2 else [bins, bins]
    found, edges = _histogramdd([first, second], both, range, density, weights)
    return found, *edges


_OPTIONS = frozenset({"bins", "range", "density", "weights"})
register("histogram", _histogram, _OPTIONS)
register("histogram_bin_edges", _edges, _OPTIONS - {"density"})
register("histogramdd", _histogramdd, _OPTIONS)
register("histogram2d", _histogram2d, _OPTIONS)

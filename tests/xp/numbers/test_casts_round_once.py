"""Casts of numbers at and beside the midpoints of two of the target's: two roundings in a row get them wrong."""

import numpy as np

from portagpu import cuda

# whose numbers a target may not hold
SOURCES = {
    np.float16: [np.float32, np.float64, np.int32, np.int64, np.uint64],
    np.float32: [np.float64, np.int32, np.int64, np.uint32, np.uint64],
    np.float64: [np.int64, np.uint64],
}


def _halfway(target, random):
    """Exact midpoints of numbers of a dtype side by side, as Python's fractions of float64 or integers."""
    info = np.finfo(target)
    bits = f"u{info.dtype.itemsize}"
    top = int(np.asarray(info.max).view(bits))
    low = random.integers(0, top, 500, dtype=bits) if target is not np.float16 else np.arange(top, dtype=bits)
    low, high = low.view(target).astype(np.longdouble), (low + 1).astype(bits).view(target).astype(np.longdouble)
    return (low + high) / 2


def _operand(source, target):
    random = np.random.default_rng(0)
    if np.dtype(source).kind == "f":
        with np.errstate(over="ignore"):
            middle = _halfway(target, random).astype(source)
        middle = middle[np.isfinite(middle)]
        near = [middle, np.nextafter(middle, source(np.inf)), np.nextafter(middle, source(-np.inf))]
        return np.concatenate([*near, *(-n for n in near)])
    # integers: a number with as many leading bits as the target has, a half of its last one, and one more or less
    digits, bits = np.finfo(target).nmant + 1, np.iinfo(source).bits - (np.dtype(source).kind == "i")
    numbers = [int(n) for n in random.integers(2 ** (digits - 1), 2**digits, 300)] if digits < bits else [1]
    found = [
        ((n << shift) + (1 << shift >> 1)) + step
        for n in numbers
        for shift in range(max(bits - digits, 1))
        for step in (-1, 0, 1)
    ]
    return np.array([n for n in found if n <= np.iinfo(source).max], source)


def test_casts_round_once(device):
    pairs = [(source, target) for target, sources in SOURCES.items() for source in sources]
    for source, target in pairs:
        if np.float64 in (source, target) and not device.capabilities.fp64:
            continue
        host = _operand(source, target)
        x = cuda.to_device(host)
        with np.errstate(over="ignore"):
            expected = host.astype(target)
        assigned = cuda.to_device(np.zeros_like(expected))
        assigned[...] = x
        bits = f"u{expected.itemsize}"
        for result in (x.astype(target), assigned):
            message = f"{source.__name__} to {target.__name__}"
            np.testing.assert_array_equal(result.copy_to_host().view(bits), expected.view(bits), message)

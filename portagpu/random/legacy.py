"""Functions of one generator for the whole program, under names of `numpy.random`."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from portagpu.random.generator import Generator, default_rng
from portagpu.runtime.arrays.array import DeviceNDArray

_lock = threading.Lock()
_generator: Generator | None = None


def get_generator() -> Generator:
    """The generator of these functions: seeded by the operating system, until `seed` is called."""
    global _generator
    with _lock:
        if _generator is None:
            _generator = default_rng()
        return _generator


def seed(value: Any = None) -> None:
    """Begin anew with a seed, see `default_rng`. Raises `ArgumentTypeError`, `ArgumentValueError`."""
    global _generator
    made = default_rng(value)
    with _lock:
        _generator = made


def rand(*shape: int) -> DeviceNDArray:
    """Uniform in [0, 1), of a shape. Raises `ShapeError`."""
    return get_generator().random(shape or None)


def randn(*shape: int) -> DeviceNDArray:
    """Normally distributed with mean 0 and deviation 1, of a shape. Raises `ShapeError`."""
    return get_generator().standard_normal(shape or None)


def randint(low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64) -> DeviceNDArray:
    """Integers from ``low`` on, below ``high``; below ``low`` where that is alone. See `Generator.integers`."""
    return get_generator().integers(low, high, size, dtype)


def random(size: Any = None) -> DeviceNDArray:
    """Uniform in [0, 1). Raises `ShapeError`."""
    return get_generator().random(size)


def uniform(low: Any = 0.0, high: Any = 1.0, size: Any = None) -> DeviceNDArray:
    """Uniform from ``low`` to ``high``. See `Generator.uniform`."""
    return get_generator().uniform(low, high, size)


def normal(loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> DeviceNDArray:
    """Normally distributed. See `Generator.normal`."""
    return get_generator().normal(loc, scale, size)


def choice(a: Any, size: Any = None, replace: bool = True, p: Any = None) -> DeviceNDArray:
    """Elements chosen at random. See `Generator.choice`."""
    return get_generator().choice(a, size, replace, p)


def permutation(x: Any) -> DeviceNDArray:
    """A random order. See `Generator.permutation`."""
    return get_generator().permutation(x)


def shuffle(x: DeviceNDArray) -> None:
    """Put slices along the first axis into random order, in place. See `Generator.shuffle`."""
    get_generator().shuffle(x)

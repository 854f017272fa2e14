"""Random numbers: generators under NumPy's names, and Philox for kernels.

::

    rng = portagpu.random.default_rng(1)
    x = rng.standard_normal((1000, 1000), dtype=np.float32)  # a device array

Numbers are a function of seed, call and element: the same on all devices, however many threads make them.
"""

from __future__ import annotations

from portagpu.random.bit_generator import Philox
from portagpu.random.conversions import (
    exponential_float32,
    exponential_float64,
    normal_float32,
    normal_float64,
    uniform_float32,
    uniform_float64,
)
from portagpu.random.generator import Generator, default_rng
from portagpu.random.legacy import (
    choice,
    get_generator,
    normal,
    permutation,
    rand,
    randint,
    randn,
    random,
    seed,
    shuffle,
    uniform,
)
from portagpu.random.philox import philox4x32, philox4x64
from portagpu.random.reference_stream import Philox4x64

__all__ = [
    "Generator",
    "Philox",
    "Philox4x64",
    "choice",
    "default_rng",
    "exponential_float32",
    "exponential_float64",
    "get_generator",
    "normal",
    "normal_float32",
    "normal_float64",
    "permutation",
    "philox4x32",
    "philox4x64",
    "rand",
    "randint",
    "randn",
    "random",
    "seed",
    "shuffle",
    "uniform",
    "uniform_float32",
    "uniform_float64",
]

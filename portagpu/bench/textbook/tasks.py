"""What the textbook kernels are run on: sizes, arrays, launches, and how a result is checked against NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu.bench.textbook import kernels
from portagpu.cuda.random import init_xoroshiro128p_states_cpu, xoroshiro128p_dtype

Array = np.ndarray[Any, Any]
Found = Mapping[str, Array]
EPS = float(np.finfo(np.float32).eps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One kernel and all that a launch of it needs.

    ``arguments`` are names of arrays and numbers; CUDA C gets ``sizes`` behind them. ``error`` tells of the arrays
    after one launch on fresh ones how far the result is off, relative to what is allowed: at most 1 if it is right.

    ``flops`` of a launch are counted as `portagpu.dispatch.counting.work.Work` does: sums, differences, products and
    quotients of floats are one each; roots and transcendental functions are none. ``nbytes``: each element that the
    kernel must read or write, once for reading and once for writing: what a perfect cache would move. None where that
    depends on the values.
    """

    name: str
    size: str
    kernel: Any
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arrays: dict[str, Array]
    arguments: tuple[Any, ...]
    sizes: tuple[int, ...]
    error: Callable[[Found], float]
    flops: float | None = None
    nbytes: float | None = None


def random(shape: Any, dtype: Any = np.float32, low: float = 0.0, high: float = 1.0) -> Array:
    """Random numbers; of large arrays a part repeats, since what is added or sorted costs the same."""
    size = math.prod(shape) if isinstance(shape, tuple) else shape
    part = np.random.default_rng(0).uniform(low, high, min(size, 1 << 22)).astype(dtype)
    return np.resize(part, shape)


def off(found: Array, expected: Array, tolerance: Any) -> float:
    """The largest error relative to the tolerance; infinite where there is no number."""
    ratios = np.abs(found.astype(np.float64) - expected) / tolerance
    return float(np.max(ratios)) if np.all(np.isfinite(ratios)) else math.inf


def blocks_of(n: int, threads: int) -> int:
    """Blocks of so many threads for ``n`` elements."""
    return -(-n // threads)


# one thread for each element ----------------------------------------------------------------------------------------


def saxpy(n: int) -> Task:
    """``y = a * x + y``, a thread for each element."""
    return _saxpy("saxpy", kernels.saxpy, n, blocks_of(n, 256))


def saxpy_strided(n: int) -> Task:
    """The same with a grid-stride loop."""
    return _saxpy("grid-stride saxpy", kernels.saxpy_strided, n, min(1056, blocks_of(n, 256)))


def _saxpy(name: str, kernel: Any, n: int, blocks: int) -> Task:
    x, y, a = random(n), random(n)[::-1].copy(), np.float32(2.5)
    return Task(
        name=name,
        size=f"{n} float32",
        kernel=kernel,
        grid=(blocks,),
        block=(256,),
        arrays={"x": x, "y": y},
        arguments=(a, "x", "y"),
        sizes=(n,),
        error=lambda found: off(found["y"], 2.5 * x.astype(np.float64) + y, 4 * EPS * 3.5),
        flops=2 * n,  # a product and a sum for each element
        nbytes=12 * n,  # x and y are read, y is written
    )


def stencil(n: int) -> Task:
    """A five-point stencil on a square."""
    old = random((n, n))

    def error(found: Found) -> float:
        rows = np.unique(np.linspace(1, n - 2, min(n - 2, 257)).astype(int))
        wide = old.astype(np.float64)
        around = wide[rows - 1, 1:-1] + wide[rows + 1, 1:-1] + wide[rows, :-2] + wide[rows, 2:]
        border = np.concatenate([found["new"][[0, -1]].ravel(), found["new"][:, [0, -1]].ravel()])
        return max(off(found["new"][rows, 1:-1], 0.5 * wide[rows, 1:-1] + 0.125 * around, 4 * EPS), float(border.max()))

    return Task(
        name="five-point stencil",
        size=f"{n} x {n} float32",
        kernel=kernels.stencil,
        grid=(blocks_of(n, 32), blocks_of(n, 8)),
        block=(32, 8),
        arrays={"old": old, "new": np.zeros((n, n), np.float32)},
        arguments=("old", "new"),
        sizes=(n, n),
        error=error,
        flops=6 * (n - 2) ** 2,  # three sums around, two products, one sum more; the border has none
        nbytes=4 * (n * n - 4) + 4 * (n - 2) ** 2,  # all but the corners are read; the border is not written
    )


def transpose(n: int) -> Task:
    """A transpose through shared memory."""
    rows, columns = n, n + 32
    source = random((rows, columns))
    return Task(
        name="transpose",
        size=f"{rows} x {columns} float32",
        kernel=kernels.transpose,
        grid=(blocks_of(columns, 32), blocks_of(rows, 32)),
        block=(32, 8),
        arrays={"source": source, "target": np.zeros((columns, rows), np.float32)},
        arguments=("source", "target"),
        sizes=(rows, columns),
        error=lambda found: 0.0 if np.array_equal(found["target"], source.T) else math.inf,
        flops=0,
        nbytes=8 * rows * columns,
    )


def black_scholes(n: int) -> Task:
    """Option prices."""
    price, strike, years = random(n, low=5, high=30), random(n, low=1, high=100)[::-1].copy(), random(n, low=0.25)
    rate, volatility = 0.02, 0.30
    erfc = np.vectorize(math.erfc)

    def error(found: Found) -> float:
        some = slice(0, n, max(1, n // 20_000))
        s, x, t = (v[some].astype(np.float64) for v in (price, strike, years))
        spread = volatility * np.sqrt(t)
        d1 = (np.log(s / x) + (rate + 0.5 * volatility**2) * t) / spread
        discounted = x * np.exp(-rate * t)
        cdf = [0.5 * erfc(-v * math.sqrt(0.5)) for v in (d1, d1 - spread, spread - d1, -d1)]
        # d1 is off by some 16 roundings of values up to 5, over the spread; a price moves by 0.4 * strike of that
        tolerance = 100 * (0.4 * 16 * 5 / 0.15 + 16) * EPS
        return max(
            off(found["call"][some], s * cdf[0] - discounted * cdf[1], tolerance),
            off(found["put"][some], discounted * cdf[2] - s * cdf[3], tolerance),
        )

    arrays = {"price": price, "strike": strike, "years": years}
    return Task(
        name="Black-Scholes",
        size=f"{n} options, float32",
        kernel=kernels.black_scholes,
        grid=(min(1056, blocks_of(n, 256)),),
        block=(256,),
        arrays={**arrays, "call": np.zeros_like(price), "put": np.zeros_like(price)},
        arguments=(*arrays, np.float32(rate), np.float32(volatility), "call", "put"),
        sizes=(n,),
        error=error,
        flops=25 * n,  # spread 1, d1 7, d2 1, discount 2, four times 2 beside the error function, 3 for each price
        nbytes=20 * n,  # three numbers are read, two are written
    )


def mandelbrot(n: int) -> Task:
    """The Mandelbrot set, 256 iterations at most."""
    rows, columns, most = n, 3 * n // 2, 256
    left, top, step = np.float32(-2), np.float32(-1), np.float32(2 / n)

    def error(found: Found) -> float:
        some = np.arange(0, rows, max(1, rows // 32))
        c = (left + np.arange(columns, dtype=np.float32) * step) + 1j * (top + some[:, None].astype(np.float32) * step)
        z, expected = np.zeros_like(c), np.full(c.shape, most, np.int32)
        for i in range(most):
            z = np.where(expected == most, z * z + c, 0)
            expected[(expected == most) & (z.real**2 + z.imag**2 >= 4)] = i
        # fused multiplications move single pixels of the fractal's edge
        return float(np.mean(found["image"][some] != expected)) / 0.02

    return Task(
        name="Mandelbrot",
        size=f"{columns} x {rows}, {most} iterations",
        kernel=kernels.mandelbrot,
        grid=(blocks_of(columns, 16), blocks_of(rows, 16)),
        block=(16, 16),
        arrays={"image": np.zeros((rows, columns), np.int32)},
        arguments=(left, top, step, "image", np.int32(most)),
        sizes=(rows, columns),
        error=error,
        nbytes=4 * rows * columns,  # the image is written; how many iterations there are, the fractal says
    )


def chain(n: int) -> Task:
    """A chain of dependent float64 operations in each thread."""
    x = random(n, np.float64, 0.5, 2.0)

    def error(found: Found) -> float:
        some = slice(0, n, max(1, n // 8192))
        v = x[some].copy()
        for _ in range(kernels.STEPS):
            v = v * 0.999 + 0.001
        return off(found["y"][some], v, 4 * kernels.STEPS * float(np.finfo(np.float64).eps))

    return Task(
        name="float64 chain",
        size=f"{n} threads, {kernels.STEPS} steps",
        kernel=kernels.chain,
        grid=(blocks_of(n, 256),),
        block=(256,),
        arrays={"x": x, "y": np.zeros_like(x)},
        arguments=("x", "y"),
        sizes=(n,),
        error=error,
        flops=2 * kernels.STEPS * n,  # a product and a sum for each step
        nbytes=16 * n,  # float64: x is read, y is written
    )


def pi(n: int) -> Task:
    """Random points in a square, by xoroshiro128+."""
    samples = 256
    states = np.empty(n, xoroshiro128p_dtype)
    init_xoroshiro128p_states_cpu(states, seed=7)

    def error(found: Found) -> float:
        s0, s1 = states["s0"].copy(), states["s1"].copy()

        def uniform() -> Array:
            nonlocal s0, s1
            result, mixed = s0 + s1, s1 ^ s0
            s0 = (s0 << np.uint64(55) | s0 >> np.uint64(9)) ^ mixed ^ (mixed << np.uint64(14))
            s1 = mixed << np.uint64(36) | mixed >> np.uint64(28)
            scaled: Array = (result >> np.uint64(11)).astype(np.float32) * np.float32(2.0**-53)
            return scaled

        hits = np.zeros(n, np.int64)
        for _ in range(samples):
            x, y = uniform(), uniform()
            hits += x * x + y * y <= 1
        # a fused multiplication may move a point over the circle: some in 2^24
        return float(np.abs(found["inside"] - hits).sum()) / max(2.0, n * samples * 2.0**-20)

    return Task(
        name="pi by xoroshiro128+",
        size=f"{n} threads, {samples} points",
        kernel=kernels.count_inside,
        grid=(blocks_of(n, 128),),
        block=(128,),
        arrays={"states": states, "inside": np.zeros(n, np.int32)},
        arguments=("states", "inside", np.int32(samples)),
        sizes=(n,),
        error=error,
        flops=5 * samples * n,  # of a point: two products that scale it, two squares, their sum
        nbytes=36 * n,  # states of 16 bytes are read and written, a count is written
    )


__all__ = ["EPS", "Array", "Found", "Task", "black_scholes", "blocks_of", "chain", "mandelbrot", "off", "pi", "random"]
__all__ += ["saxpy", "saxpy_strided", "stencil", "transpose"]

"""Vectors as rows of chunks, which kernels load at once: how wide these can be, and where they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from portagpu.blas.gemm.core.operands import with_strides
from portagpu.blas.gemm.core.vector_types import vector_type
from portagpu.blas.level1.problem import VectorProblem
from portagpu.device.capabilities import Capabilities
from portagpu.errors import LayoutError
from portagpu.runtime.arrays.array import DeviceNDArray

MOST_LANES = 16  # of the dialect's vectors
LARGE = 2**31  # numbers, from which on their indices need 64 bits


class Chunked(NamedTuple):
    """Chunk i of vector b begins at ``memory[first + i * step + b * next]``; ``memory`` is one of numbers.

    All are of one unsigned type, in which indices wrap around to what is right where steps are negative.
    """

    memory: Any
    first: Any
    step: Any
    next: Any


@dataclass(frozen=True, slots=True)
class Cut:
    """How vectors of n elements are cut into ``chunks`` of ``lanes`` numbers and ``rest`` elements.

    Elements have ``parts`` numbers. ``aligned``: chunks begin at multiples of their size. ``index``: the unsigned type
    of all indices.
    """

    lanes: int
    parts: int
    aligned: bool
    index: Any
    chunks: int
    rest: int


class Step(NamedTuple):
    """Bytes from one element to the next one, and from one vector of a batch to the next one."""

    element: int
    vector: int


def steps_of(x: DeviceNDArray) -> Step:
    """The steps of a vector (n), or of a batch of them (batch, n)."""
    element = x.strides[-1] if x.shape[-1] > 1 else x.itemsize
    return Step(element, x.strides[0] if x.ndim == 2 and x.shape[0] > 1 else 0)


def forwards(*arrays: DeviceNDArray) -> tuple[DeviceNDArray, ...]:
    """The same vectors from their other ends, where no step of theirs is positive: the order is the same for all."""
    if all(steps_of(x).element <= 0 for x in arrays):
        return tuple(x[..., ::-1] for x in arrays)
    return arrays


def check_places(*arrays: DeviceNDArray) -> None:
    """Raise `LayoutError` for elements, such as fields of packed records, that lie between the places of their size."""
    for x in arrays:
        size = x.itemsize // (2 if x.dtype.kind == "c" else 1)
        if x.offset % size or any(step % size for n, step in zip(x.shape, x.strides, strict=True) if n > 1):
            raise LayoutError(
                f"elements of a vector of {x.dtype} begin at places that are no multiples of {size} bytes",
                hint="pass a copy of it: x.copy()",
            )


def is_contiguous(*arrays: DeviceNDArray) -> bool:
    """Whether the elements of each vector lie side by side."""
    return all(steps_of(x).element == x.itemsize for x in arrays)


def cut(problem: VectorProblem, width: int, arrays: tuple[DeviceNDArray, ...], caps: Capabilities) -> Cut:
    """Chunks of ``width`` bytes, or of an element where vectors have gaps or, on GPUs, are not aligned."""
    parts, size = problem.parts, problem.number_size
    lanes = min(MOST_LANES, max(parts, width // size))
    index = np.uint64 if any(_reaches(x, parts) >= LARGE for x in arrays) else np.uint32
    wide_loads = caps.local_memory_dedicated  # that must be aligned; CPUs have one kernel, wherever arrays lie
    aligned = wide_loads and all(_is_aligned(x, lanes * size) for x in arrays)
    if not problem.contiguous or (wide_loads and not aligned):
        lanes = parts
        aligned = wide_loads and all(_is_aligned(x, lanes * size) for x in arrays)
    numbers = problem.n * parts
    return Cut(lanes, parts, aligned, index, numbers // lanes, numbers % lanes // parts)


def chunked(x: DeviceNDArray, found: Cut, *, readonly: bool = False) -> Chunked:
    """A vector (n), or a batch of them (batch, n), as kernels take it."""
    size = x.itemsize // found.parts
    below, span = _reach(x)
    number = np.dtype(f"f{size}") if found.parts == 2 else x.dtype
    memory = with_strides(
        x, (span * found.parts,), (size,), number, first=-below * x.itemsize, readonly=readonly, shifted=x.shifted
    )
    step, kind = steps_of(x), found.index
    whole = found.lanes if step.element == x.itemsize else step.element // size
    mask = int(np.iinfo(kind).max)
    return Chunked(memory, kind(below * found.parts), kind(whole & mask), kind((step.vector // size) & mask))


def unread(found: Cut) -> Chunked:
    """What a kernel takes in place of a vector that it neither reads nor writes; an array would be named twice."""
    zero = found.index(0)
    return Chunked(np.int32(0), zero, zero, zero)


def _reach(x: DeviceNDArray) -> tuple[int, int]:
    """Elements from the lowest one in memory to the first, and from the lowest to the highest."""
    steps = [(n - 1) * s // x.itemsize for n, s in zip(x.shape, x.strides, strict=True) if n > 1]
    below = -sum(s for s in steps if s < 0)
    return below, below + sum(s for s in steps if s > 0) + 1 if x.size else 0


def _reaches(x: DeviceNDArray, parts: int) -> int:
    return _reach(x)[1] * parts


def _is_aligned(x: DeviceNDArray, size: int) -> bool:
    """Whether chunks of a size begin at its multiples."""
    step = steps_of(x)
    return x.offset % size == 0 and step.vector % size == 0 and (step.element == x.itemsize or step.element % size == 0)


@lru_cache(maxsize=64)
def kind_of(dtype: str, lanes: int) -> Any:
    """The type of so many numbers in kernels: a vector type, or NumPy's of one number."""
    return np.dtype(dtype).type if lanes == 1 else vector_type(dtype, lanes)


@lru_cache(maxsize=64)
def stored_kind(dtype: str, lanes: int) -> Any:
    """As `kind_of`, of numbers that are stored: vectors of bfloat16 are float32 in kernels."""
    return kind_of("float32" if dtype == "bfloat16" else dtype, lanes)

"""Textbook kernels whose threads share memory: products, bodies, counts, sums, sorting."""

from __future__ import annotations

import math

import numpy as np

from portagpu.bench.textbook import kernels
from portagpu.bench.textbook.tasks import EPS, Found, Task, blocks_of, off, random

_SUM_BLOCKS = 1056  # a multiple of the multiprocessors of today's large GPUs, and enough for any


def matmul_naive(n: int) -> Task:
    """A product, each thread one element."""
    return _matmul("naive matmul", kernels.matmul_naive, n)


def matmul_tiled(n: int) -> Task:
    """A product with tiles in shared memory."""
    return _matmul("tiled matmul", kernels.matmul_tiled, n)


def _matmul(name: str, kernel: object, n: int) -> Task:
    m, depth = n, n + 8  # the last tile is not full
    a, b = random((m, depth)), random((depth, n))

    def error(found: Found) -> float:
        some = np.unique(np.linspace(0, m - 1, min(m, 128)).astype(int))
        expected = a[some].astype(np.float64) @ b.astype(np.float64)
        return off(found["c"][some], expected, depth * EPS * expected)

    return Task(
        name=name,
        size=f"{m} x {n} x {depth} float32",
        kernel=kernel,
        grid=(blocks_of(n, kernels.TILE), blocks_of(m, kernels.TILE)),
        block=(kernels.TILE, kernels.TILE),
        arrays={"a": a, "b": b, "c": np.zeros((m, n), np.float32)},
        arguments=("a", "b", "c"),
        sizes=(m, n, depth),
        error=error,
        flops=2 * m * n * depth,  # a product and a sum for each term
        nbytes=4 * (m * depth + depth * n + m * n),
    )


def n_body(n: int) -> Task:
    """Forces between all pairs of bodies."""
    bodies = np.concatenate([random((n, 3), low=-1), np.full((n, 1), 1 / n, np.float32)], axis=1)

    def error(found: Found) -> float:
        some = np.unique(np.linspace(0, n - 1, min(n, 100)).astype(int))
        place, mass = bodies[:, :3].astype(np.float64), bodies[:, 3].astype(np.float64)
        apart = place[None] - place[some, None]
        squared = np.einsum("ijk,ijk->ij", apart, apart) + kernels.SOFTENING
        strength = mass / (squared * np.sqrt(squared))
        expected = np.einsum("ij,ijk->ik", strength, apart)
        most = (strength * np.sqrt(squared)).sum(axis=1).max()
        return off(found["acceleration"][some], expected, (math.sqrt(n) + 32) * 4 * EPS * most)

    return Task(
        name="n-body",
        size=f"{n} bodies, float32",
        kernel=kernels.n_body,
        grid=(blocks_of(n, kernels.BODIES),),
        block=(kernels.BODIES,),
        arrays={"bodies": bodies, "acceleration": np.zeros((n, 3), np.float32)},
        arguments=("bodies", "acceleration"),
        sizes=(n,),
        error=error,
        # of a pair: 3 differences, 3 squares and 3 sums, a product and a quotient (the root is none), 3 products and
        # sums; threads and bodies that fill the last block compute, too
        flops=17 * (blocks_of(n, kernels.BODIES) * kernels.BODIES) ** 2,
        nbytes=28 * n,  # four numbers of a body are read, three are written
    )


def histogram(n: int) -> Task:
    """Counts by atomics, first in shared memory."""
    values, bins = random(n), kernels.BINS

    def error(found: Found) -> float:
        expected = np.bincount(np.minimum((values * np.float32(bins)).astype(int), bins - 1), minlength=bins)
        return 0.0 if np.array_equal(found["counts"], expected) else math.inf

    return Task(
        name="shared-atomics histogram",
        size=f"{n} float32, {bins} bins",
        kernel=kernels.histogram,
        grid=(min(_SUM_BLOCKS, blocks_of(n, 256)),),
        block=(256,),
        arrays={"values": values, "counts": np.zeros(bins, np.int32)},
        arguments=("values", "counts"),
        sizes=(n,),
        error=error,
        flops=n,  # the product that finds an element's bin; counts are integers
        nbytes=4 * n + 8 * bins,  # values are read, counts are read and written
    )


def sum_blocks(n: int) -> Task:
    """Partial sums of blocks, by a tree in shared memory."""
    return _sum("block reduction", kernels.sum_blocks, n, 1, kernels.THREADS - 1)


def sum_warps(n: int) -> Task:
    """Partial sums of warps, by shuffles."""
    return _sum("warp reduction", kernels.sum_warps, n, kernels.THREADS // 32, 5 * kernels.THREADS)


def _sum(name: str, kernel: object, n: int, sums: int, tree: int) -> Task:
    """``sums`` of a block, and how many additions of threads' sums there are in one."""
    values = random(n)
    blocks = min(_SUM_BLOCKS, blocks_of(n, kernels.THREADS))

    def error(found: Found) -> float:
        threads = blocks * kernels.THREADS
        padded = np.resize(values, blocks_of(n, threads) * threads).astype(np.float64)
        padded[n:] = 0
        expected = padded.reshape(-1, blocks * sums, kernels.THREADS // sums).sum(axis=(0, 2))
        return off(found["partial"], expected, (n // threads + 12) * EPS * np.maximum(expected, EPS))

    return Task(
        name=name,
        size=f"{n} float32",
        kernel=kernel,
        grid=(blocks,),
        block=(kernels.THREADS,),
        arrays={"values": values, "partial": np.zeros(blocks * sums, np.float32)},
        arguments=("values", "partial"),
        sizes=(n,),
        error=error,
        flops=n + blocks * tree,  # each element is added to a thread's sum, then threads' sums to each other
        nbytes=4 * n + 4 * blocks * sums,
    )


def bitonic_blocks(n: int) -> Task:
    """Each block sorts its elements by a bitonic network."""
    n = blocks_of(n, kernels.CHUNK) * kernels.CHUNK
    source = random(n, low=-1)

    def error(found: Found) -> float:
        expected = np.sort(source.reshape(-1, kernels.CHUNK), axis=1).ravel()
        return 0.0 if np.array_equal(found["target"], expected) else math.inf

    return Task(
        name="bitonic blocks",
        size=f"{n} float32, blocks of {kernels.CHUNK}",
        kernel=kernels.bitonic_blocks,
        grid=(n // kernels.CHUNK,),
        block=(kernels.THREADS,),
        arrays={"source": source, "target": np.zeros(n, np.float32)},
        arguments=("source", "target"),
        sizes=(),
        error=error,
        flops=0,  # comparisons are none
        nbytes=8 * n,
    )


__all__ = ["bitonic_blocks", "histogram", "matmul_naive", "matmul_tiled", "n_body", "sum_blocks", "sum_warps"]

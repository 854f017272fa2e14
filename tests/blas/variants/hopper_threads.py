"""Kernels of warp groups run by Python's threads, with the instructions as the PTX ISA describes them.

What is asynchronous happens as late as it may: products and stores of bulk copies read registers and shared memory only
when they are waited for. Loads and stores of vectors note which banks of shared memory they touch.
"""

from __future__ import annotations

import threading
import types
from collections import defaultdict
from typing import Any

import numpy as np

from portagpu.dispatch.dispatcher import Dispatcher

_WAIT = 60  # seconds until a barrier that nobody reaches is an error
_WARPGROUP = 128


class _Barrier:
    """An mbarrier: arrivals and bytes that its phase still waits for."""

    def __init__(self, count: int) -> None:
        self.count = self.left = count
        self.bytes = self.phase = 0
        self.changed = threading.Condition()

    def update(self, arrivals: int, size: int) -> None:
        with self.changed:
            self.left -= arrivals
            self.bytes += size
            assert self.left >= 0
            if self.left == 0 and self.bytes == 0:
                self.left, self.phase = self.count, self.phase ^ 1
                self.changed.notify_all()

    def wait(self, parity: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.phase != parity, _WAIT), "a barrier that nobody reaches"


class _Own(threading.local):
    """What each thread has for itself: its number, counts of what it did, and groups that are under way."""

    def __init__(self) -> None:
        self.number = self.arrays = self.accesses = 0
        self.groups: list[list[Any]] = []
        self.group: list[Any] = []
        self.stores: list[list[Any]] = []
        self.store: list[Any] = []


def swizzled(offset: Any) -> Any:
    """Places of bytes in the 128-byte pattern: four bits of an address are changed by those of its line."""
    return offset ^ (offset >> 7 & 7) << 4


class _Vector:
    """A vector type."""

    def __init__(self, lanes: int, dtype: Any) -> None:
        self.lanes, self.dtype = lanes, dtype

    def __call__(self, *values: Any) -> np.ndarray:
        return np.array(values, self.dtype)


def _local(shape: Any, dtype: Any) -> np.ndarray:
    """An array of NaN (0 of integers); of vectors, with an axis for the lanes."""
    if isinstance(dtype, _Vector):
        shape, dtype = (*shape, dtype.lanes), dtype.dtype
    return np.full(shape, np.nan if np.dtype(dtype).kind == "f" else 0, dtype)


class _Alone:
    """The cluster of one block."""

    def __init__(self, sync: Any) -> None:
        self.sync = sync

    def block_rank(self) -> np.int32:
        return np.int32(0)

    def map_shared_rank(self, array: np.ndarray, rank: Any) -> np.ndarray:
        assert rank == 0
        return array


class Cuda:
    """The functions and names of ``cuda`` for the threads of one block."""

    def __init__(self, block: int, grid: int, threads: int, banks: dict[Any, dict[int, int]]) -> None:
        self.blockIdx, self.gridDim = types.SimpleNamespace(x=block), types.SimpleNamespace(x=grid)
        self.own = _Own()
        self.threads, self.banks = threads, banks
        self.lock = threading.RLock()
        self.shared_arrays: dict[int, np.ndarray] = {}
        self.starts: dict[int, int] = {}
        self.meetings: dict[tuple[int, int], threading.Barrier] = {}
        self.barriers: dict[int, _Barrier] = {}
        self.deposits: dict[int, Any] = {}
        self.shared = types.SimpleNamespace(array=self._shared)
        self.local = types.SimpleNamespace(array=_local)
        self.atomic = types.SimpleNamespace(add=self._add)
        self.unroll = iter
        self.float32x2, self.float32x4 = _Vector(2, np.float32), _Vector(4, np.float32)
        self.int32x4 = _Vector(4, np.int32)
        self.cg = types.SimpleNamespace(this_cluster=lambda: _Alone(self.syncthreads))
        fences = ("fence_proxy_async", "tensor_map_acquire", "wgmma_fence", "threadfence")
        for name in ("setmaxnreg", *fences, "griddepcontrol_launch_dependents", "griddepcontrol_wait"):
            setattr(self, name, lambda *_: None)

    @property
    def threadIdx(self) -> Any:
        return types.SimpleNamespace(x=self.own.number)

    def _shared(self, shape: Any, dtype: Any, alignment: int = 16) -> np.ndarray:
        with self.lock:
            number = self.own.arrays
            self.own.arrays += 1
            if number not in self.shared_arrays:
                made = np.zeros(shape, dtype)
                if made.dtype.kind == "f":
                    made[...] = np.nan
                start = max(self.starts.values(), default=0) + (1 << 16)
                self.shared_arrays[number], self.starts[id(made)] = made, start
            return self.shared_arrays[number]

    def _add(self, array: np.ndarray, index: Any, value: Any) -> Any:
        with self.lock:
            before = array[index].copy()
            array[index] += value
            return before

    def _place(self, array: np.ndarray, index: Any) -> int:
        place = 0
        for i, extent in zip(index if isinstance(index, tuple) else (index,), array.shape, strict=True):
            assert 0 <= i < extent
            place = place * extent + int(i)
        return place * array.itemsize

    def shared_address(self, array: np.ndarray, index: Any) -> np.uint32:
        return np.uint32(self.starts[id(array)] + self._place(array, index))

    # barriers

    def syncthreads(self) -> None:
        self.barrier_sync(0, self.threads)

    def barrier_sync(self, number: Any, threads: Any) -> None:
        with self.lock:
            meeting = self.meetings.setdefault((int(number), int(threads)), threading.Barrier(int(threads)))
        meeting.wait(_WAIT)

    def syncwarp(self) -> None:
        self.barrier_sync(200 + self.own.number // 32, 32)

    def mbarrier_init(self, bars: np.ndarray, index: Any, count: int) -> None:
        self.barriers[int(index)] = _Barrier(count)

    def mbarrier_arrive(self, bars: np.ndarray, index: Any, relaxed: bool = False) -> None:
        self.barriers[int(index)].update(1, 0)

    def mbarrier_arrive_expect_tx(self, bars: np.ndarray, index: Any, size: int) -> None:
        self.barriers[int(index)].update(1, size)

    def mbarrier_wait_parity(self, bars: np.ndarray, index: Any, parity: Any, relaxed: bool = False) -> None:
        self.barriers[int(index)].wait(int(parity))

    # vectors, with the banks that they touch

    def _note(self, array: np.ndarray, index: Any) -> None:
        if id(array) not in self.starts:  # global memory
            return
        own = self.own
        word = (self.starts[id(array)] + self._place(array, index)) // 4
        assert word % 2 == 0
        with self.lock:
            self.banks[int(self.blockIdx.x), own.number // 16, own.accesses][own.number] = word
        own.accesses += 1

    def vload(self, array: np.ndarray, index: Any, width: int, aligned: bool) -> np.ndarray:
        self._note(array, index)
        place = self._place(array, index) // array.itemsize
        return array.reshape(-1)[place : place + width].copy()

    def vstore(self, value: np.ndarray, array: np.ndarray, index: Any, aligned: bool) -> None:
        self._note(array, index)
        place = self._place(array, index) // array.itemsize
        array.reshape(-1)[place : place + len(value)] = value

    # bulk copies; a map is an array (batch, rows, columns) and the extents of a box

    def _box(self, array: np.ndarray, index: Any, box: Any) -> tuple[np.ndarray, np.ndarray]:
        """Shared memory of a box, and the places of its elements there: swizzled if its rows have 128 bytes."""
        start = self._place(array, index)
        assert start % 1024 == 0
        if box[1] * array.itemsize != 128:
            return array.reshape(-1), start // array.itemsize + np.arange(box[0] * box[1])
        places = swizzled(start + np.arange(box[0] * box[1]) * array.itemsize) // array.itemsize
        return array.reshape(-1), places

    def tma_load(
        self, target: Any, index: Any, maps: Any, number: int, at: Any, bars: Any, bar: Any, multicast: Any = None
    ) -> None:
        assert multicast is None
        source, box = maps[number]
        flat, places = self._box(target, index, box)
        found = np.zeros(box, source.dtype)
        batch, row, column = map(int, at)
        part = source[batch, row : row + box[0], column : column + box[1]]
        found[: part.shape[0], : part.shape[1]] = part
        flat[places] = found.reshape(-1)
        self.barriers[int(bar)].update(0, -found.nbytes)

    def tma_store(self, maps: Any, number: int, at: Any, source: Any, index: Any) -> None:
        target, box = maps[number]
        flat, places = self._box(source, index, box)
        batch, row, column = map(int, at)

        def copy() -> None:
            part = target[batch, row : row + box[0], column : column + box[1]]
            part[...] = flat[places].reshape(box)[: part.shape[0], : part.shape[1]]

        self.own.store.append(copy)

    def tma_store_commit(self) -> None:
        self.own.stores.append(self.own.store)
        self.own.store = []

    def tma_store_wait(self, left: int) -> None:
        while len(self.own.stores) > left:
            for copy in self.own.stores.pop(0):
                copy()

    # matrix units

    def wgmma(
        self,
        n: int,
        kind: str,
        acc: Any,
        a: Any,
        b: Any,
        accumulate: Any,
        transpose_a: bool = False,
        transpose_b: bool = False,
    ) -> None:
        assert kind == "tfloat32" and acc.shape == (n // 2,) and not (transpose_a or transpose_b)
        if isinstance(a, np.ndarray):
            assert a.shape == (4,) and a.base is not None  # a view: its registers are read later
        self.own.group.append((n, acc, a, int(b), bool(accumulate)))

    def wgmma_commit_group(self) -> None:
        self.own.groups.append(self.own.group)
        self.own.group = []

    def wgmma_wait_group(self, left: int) -> None:
        while len(self.own.groups) > left:
            for product in self.own.groups.pop(0):
                self._multiply(*product)

    def _tile(self, descriptor: int, rows: int) -> np.ndarray:
        """The (rows, 8) tile along k that a descriptor names."""
        assert descriptor >> 62 == 1 and descriptor >> 32 & 0x3FFF == 64
        address = (descriptor & 0x3FFF) << 4
        array, start = next(
            (x, s) for x in self.shared_arrays.values() if (s := self.starts[id(x)]) <= address < s + x.nbytes
        )
        row, k = np.meshgrid(np.arange(rows), np.arange(8), indexing="ij")
        return array.reshape(-1)[swizzled(address - start + row // 8 * 1024 + row % 8 * 128 + k * 4) // 4]

    def _multiply(self, n: int, acc: np.ndarray, a: Any, b: int, accumulate: bool) -> None:
        """One product: a thread's part of it, from the fragments of its warp or the tiles that descriptors name."""
        number = self.own.number
        team, lane = number // _WARPGROUP, number % 32
        if isinstance(a, np.ndarray):
            self.deposits[number] = a.copy()
            self.barrier_sync(100 + team, _WARPGROUP)
            lanes = [self.deposits[number - lane % 4 + t] for t in range(4)]
            rows = np.array([[lanes[k % 4][half + k // 4 * 2] for k in range(8)] for half in range(2)])
        else:
            first = number // 32 % 4 * 16 + lane // 4
            rows = self._tile(int(a), 64)[[first, first + 8]]
        found = rows @ self._tile(b, n).T  # (2, n)
        own = np.array([8 * (i // 4) + lane % 4 * 2 + i % 2 for i in range(n // 2)])
        part = found[np.arange(n // 2) // 2 % 2, own]
        acc[...] = acc + part if accumulate else part
        self.barrier_sync(100 + team, _WARPGROUP)


def launch(
    kernel: Any, grid: int, threads: int, *args: Any, order: Any = None, instead: dict[str, Any] | None = None
) -> dict[Any, dict[int, int]]:
    """Run a kernel's text, block after block. Returns the words that each half of a warp touched, access by access.

    order: that of the blocks, by default by number; instead: host functions in place of device functions, by name.
    """
    banks: dict[Any, dict[int, int]] = defaultdict(dict)
    for block in range(grid) if order is None else order:
        cuda = Cuda(block, grid, threads, banks)
        function = _with(kernel, cuda, instead or {})
        errors: list[BaseException] = []

        def run(number: int, cuda: Cuda = cuda, function: Any = function, errors: Any = errors) -> None:
            cuda.own.number = number
            try:
                function(*args)
            except BaseException as error:
                errors.append(error)

        running = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        if errors:
            raise errors[0]
    return banks


def _with(kernel: Any, cuda: Cuda, instead: dict[str, Any]) -> Any:
    """A kernel's function, and those that it calls, with these names in ``cuda``."""
    function = kernel.py_func
    names = {**function.__globals__, "cuda": cuda}
    for name, value in function.__globals__.items():
        if isinstance(value, Dispatcher) and name in function.__code__.co_names:
            names[name] = instead[name] if name in instead else _with(value, cuda, instead)
    return types.FunctionType(function.__code__, names, function.__name__, function.__defaults__)

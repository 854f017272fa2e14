"""Runs a kernel with bulk copies and their barriers on the host: a Python thread for each of a block's threads.

The kernel's own text is run, with stand-ins for what it uses of `cuda`. Bulk copies are made at once. Barriers wait for
exactly those who must arrive, so that a kernel that would hang on a device ends here with an error.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from portagpu.cuda.dispatcher import Dispatcher

_PATIENCE_S = 60.0


class Matrix:
    """What a tensor map says: an array (batch, rows, columns), rows and columns of a tile, whether it is swizzled."""

    def __init__(self, array: np.ndarray, box: tuple[int, int], swizzled: bool) -> None:
        self.array, self.box, self.swizzled = array, box, swizzled

    def tile(self, batch: int, row: int, column: int) -> np.ndarray:
        """A tile as it lies in shared memory; zeros outside of the matrix."""
        found = np.zeros(self.box, self.array.dtype)
        inside = self.array[batch, row : row + self.box[0], column : column + self.box[1]]
        found[: inside.shape[0], : inside.shape[1]] = inside
        if self.swizzled:
            parts = found.reshape(self.box[0], 8, 4)
            found = np.stack([parts[r, np.arange(8) ^ r % 8] for r in range(self.box[0])])
        return found.ravel()


class Barrier:
    """A barrier in shared memory: it waits for arrivals and for bytes."""

    def __init__(self, count: int) -> None:
        self.count = self.pending = count
        self.bytes = self.phase = 0
        self.changed = threading.Condition()

    def add(self, arrivals: int, expected: int) -> None:
        with self.changed:
            self.pending -= arrivals
            self.bytes += expected
            assert self.pending >= 0, "more arrivals than the barrier waits for"
            if self.pending == 0 and self.bytes == 0:
                self.phase ^= 1
                self.pending = self.count
                self.changed.notify_all()

    def wait(self, parity: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.phase != parity, _PATIENCE_S), "nobody arrives"


class Vectors:
    """The type of four floats."""

    dtype = np.dtype(np.float32)

    def __call__(self, *values: Any) -> np.ndarray:
        return np.array(values, self.dtype)


class Block:
    """What the threads of a block share."""

    def __init__(self, number: int, threads: int) -> None:
        self.number, self.threads = number, threads
        self.arrays: list[np.ndarray] = []
        self.bars: dict[int, Barrier] = {}
        self.meetings: dict[Any, threading.Barrier] = {}
        self.lock = threading.Lock()

    def meet(self, key: Any, count: int) -> None:
        with self.lock:
            barrier = self.meetings.setdefault(key, threading.Barrier(count))
        barrier.wait(_PATIENCE_S)


class Cuda:
    """The stand-in for `portagpu.cuda` of one thread."""

    def __init__(self, block: Block, thread: int, grid: int) -> None:
        self.block, self.thread, self.made = block, thread, 0
        self.threadIdx, self.blockIdx = SimpleNamespace(x=thread), SimpleNamespace(x=block.number)
        self.gridDim = SimpleNamespace(x=grid)
        self.shared = SimpleNamespace(array=self._shared)
        self.local = SimpleNamespace(array=self._local)
        self.atomic = SimpleNamespace(add=self._add)

    def _shared(self, shape: Any, dtype: Any, alignment: int = 0) -> np.ndarray:
        with self.block.lock:
            if self.made == len(self.block.arrays):
                found = np.zeros(shape, dtype)
                if found.dtype.kind == "f":
                    found[...] = np.nan  # memory holds anything
                self.block.arrays.append(found)
        self.made += 1
        return self.block.arrays[self.made - 1]

    def _local(self, shape: Any, kind: Any) -> np.ndarray:
        return np.empty(shape, object) if isinstance(kind, Vectors) else np.empty(shape, kind)

    def _add(self, array: np.ndarray, at: int, value: int) -> int:
        with self.block.lock:
            old = int(array[at])
            array[at] += value
        return old

    @staticmethod
    def unroll(values: Iterable[int]) -> Iterable[int]:
        return values

    @staticmethod
    def _line(array: np.ndarray, at: Any) -> tuple[np.ndarray, int]:
        line, first = (array[at[0]], at[1]) if isinstance(at, tuple) else (array, at)
        assert first % 4 == 0 and 0 <= first <= len(line) - 4
        return line, first

    def vload(self, array: np.ndarray, at: Any, lanes: int, aligned: bool) -> np.ndarray:
        line, first = self._line(array, at)
        return line[first : first + lanes].copy()

    def vstore(self, value: np.ndarray, array: np.ndarray, at: Any, aligned: bool) -> None:
        line, first = self._line(array, at)
        line[first : first + 4] = value

    def tma_load(
        self, target: np.ndarray, at: Any, maps: dict[int, Matrix], which: int, where: Any, bars: Any, bar: int
    ) -> None:
        line, first = self._line(target, at)
        tile = maps[which].tile(*where)
        line[first : first + tile.size] = tile
        self.block.bars[bar].add(0, -tile.nbytes)

    def mbarrier_init(self, bars: Any, at: int, count: int) -> None:
        self.block.bars[at] = Barrier(count)

    def mbarrier_arrive(self, bars: Any, at: int) -> None:
        self.block.bars[at].add(1, 0)

    def mbarrier_arrive_expect_tx(self, bars: Any, at: int, size: int) -> None:
        self.block.bars[at].add(1, size)

    def mbarrier_wait_parity(self, bars: Any, at: int, parity: int) -> None:
        self.block.bars[at].wait(parity)

    def syncthreads(self) -> None:
        self.block.meet("all", self.block.threads)

    def barrier_sync(self, number: int, threads: int) -> None:
        self.block.meet(number, threads)

    def syncwarp(self) -> None:
        self.block.meet(("warp", self.thread // 32), 32)

    def _nothing(self, *_: Any) -> None:
        pass

    setmaxnreg = fence_proxy_async = tensor_map_acquire = threadfence = _nothing


def run_blocks(
    kernel: Dispatcher,
    modules: tuple[ModuleType, ...],
    order: Iterable[int],
    threads: int,
    arguments: tuple[Any, ...],
    **own: Any,
) -> None:
    """Run the blocks of a launch one after the other, in some order: they must not wait for each other.

    ``own``: host functions in place of device functions of the modules.
    """
    order = list(order)
    for number in order:
        block = Block(number, threads)
        errors: list[BaseException] = []

        def body(thread: int, block: Block = block, errors: list[BaseException] = errors) -> None:
            try:
                _bound(kernel, modules, Cuda(block, thread, len(order)), own)(*arguments)
            except BaseException as error:
                errors.append(error)
                for meeting in list(block.meetings.values()):
                    meeting.abort()

        running = [threading.Thread(target=body, args=(thread,)) for thread in range(threads)]
        for one in running:
            one.start()
        for one in running:
            one.join()
        if errors:
            raise errors[0]


def _bound(kernel: Dispatcher, modules: tuple[ModuleType, ...], stand_in: Cuda, own: dict[str, Any]) -> FunctionType:
    """The kernel as a host function whose `cuda` is the stand-in, and so are those that it calls."""
    names = {name: value for module in modules for name, value in vars(module).items()}
    names.update(cuda=stand_in, np=SimpleNamespace(int32=int, uint32=int, uint64=np.uint64))
    for name, value in list(names.items()):
        if isinstance(value, Dispatcher):
            names[name] = FunctionType(value.py_func.__code__, names)
    names.update(own)
    return FunctionType(kernel.py_func.__code__, names)

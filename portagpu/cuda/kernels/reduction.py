"""`cuda.reduce`: a reduction made of a function of two values."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN202

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.cuda.host import DeviceNDArray, as_cuda_array, is_cuda_array, to_device
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.dispatch.pickling import Pickled
from portagpu.errors import ArgumentTypeError, KernelTypeError, ShapeError
from portagpu.runtime.arrays.creation import as_device_array
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.stream import Stream
from portagpu.ufuncs.operands import number

_MAX_BLOCK = 256
_BLOCKS_PER_UNIT = 8
_ITEMS_PER_THREAD = 4


class Reduce(Pickled):
    """Reduces an array to one value; also the decorator `cuda.reduce`.

    ::

        @cuda.reduce
        def total(a, b):
            return a + b

        total(array)

    ``functor`` takes two values and gives one. It must be associative and commutative: the order of the elements is not
    kept.
    """

    def __init__(self, functor: Callable[[Any, Any], Any]) -> None:
        function = functor if isinstance(functor, Dispatcher) else None
        if function is None and not callable(functor):
            raise KernelTypeError(
                f"cuda.reduce takes a function of two values, not {type(functor).__name__}", hint="use @cuda.reduce"
            )
        self._functor = cuda.jit(functor, device=True) if function is None else function
        self._kernels: dict[tuple[str, int], Dispatcher] = {}
        self._lock = threading.RLock()
        functools.update_wrapper(self, self._functor.py_func)

    def _parts(self) -> tuple[Any, ...]:
        return (self._functor,)

    def __call__(
        self, arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: Stream | int = 0
    ) -> Any:
        """Reduce a 1-D host or device array, or its first ``size`` elements, and ``init`` to one value.

        ``init`` is one of the values, as in CUDA-Python: give 1 for products, an element for maxima and minima.

        The value is returned; or, with a device array ``res``, it becomes the first element of that, nothing is
        copied to the host and None is returned. Raises `ArgumentTypeError` for other than 1-D arrays.
        """
        array = as_cuda_array(arr) if is_cuda_array(arr) else np.asarray(arr)
        if array.ndim != 1:
            raise ArgumentTypeError(f"cuda.reduce takes a 1-D array, not {array.ndim}-D", hint="use x.ravel()")
        target = None if res is None else _checked_result(res)
        if size is not None:
            array = array[: _checked_size(size, array.shape[0])]
        start = number(init, array.dtype)
        if array.size == 0:
            if target is None:
                return start
            target[:1].copy_to_device(np.array([start], target.dtype), stream)
            return None
        if not isinstance(array, DeviceNDArray):
            array = to_device(np.ascontiguousarray(array), stream=stream)
        elif array.readonly:
            array = array.copy()
        if target is not None:
            self._run(array, target, start, stream)
            return None
        result = cuda.device_array(1, array.dtype, stream=stream if isinstance(stream, Stream) else 0)
        self._run(array, result, start, stream)
        return result.copy_to_host()[0]

    def _run(self, array: DeviceNDArray, target: DeviceNDArray, init: Any, stream: Stream | int) -> None:
        context = array.context
        block = _block(context)
        kernel = self._kernel(array.dtype, block)
        blocks = min(
            -(-array.size // (block * _ITEMS_PER_THREAD)), context.capabilities.compute_units * _BLOCKS_PER_UNIT
        )
        if blocks > 1:
            partial = cuda.device_array(blocks, array.dtype, stream=stream if isinstance(stream, Stream) else 0)
            kernel[blocks, block, stream](array, partial, init, False)
            array = partial
        kernel[1, block, stream](array, target, init, True)

    def _kernel(self, dtype: np.dtype[Any], block: int) -> Dispatcher:
        with self._lock:
            found = self._kernels.get((dtype.str, block))
            if found is None:
                found = self._kernels[dtype.str, block] = reduction_kernel(self._functor, dtype, block)
            return found


def _checked_result(res: Any) -> DeviceNDArray:
    if not is_cuda_array(res):
        raise ArgumentTypeError(
            f"res= is a device array, not {type(res).__name__}", hint="make one: cuda.device_array(1, x.dtype)"
        )
    target = as_device_array(res)
    if target.ndim != 1 or target.size < 1:
        raise ShapeError(f"res= needs a 1-D array of at least one element, not shape {target.shape}")
    return target


def _checked_size(size: Any, length: int) -> int:
    if isinstance(size, bool) or not isinstance(size, int | np.integer):
        raise ArgumentTypeError(f"size= is a number of elements, not {size!r}")
    if not 0 <= size <= length:
        raise ShapeError(f"size={size} is not within the {length} elements of the array")
    return int(size)


def _block(context: Context) -> int:
    caps = context.capabilities
    limit = min(_MAX_BLOCK, caps.max_work_group_size, caps.max_work_item_sizes[0])
    return 1 << (limit.bit_length() - 1)


def reduction_kernel(functor: Dispatcher, dtype: np.dtype[Any], block: int) -> Dispatcher:
    """The kernel: each block of ``block`` threads, a power of two, reduces its share to one element of ``target``."""
    half = block // 2

    def reduction(source, target, init, with_init):
        shared = cuda.shared.array(block, dtype)
        mine = cuda.local.array(1, dtype)
        thread = cuda.threadIdx.x
        first = cuda.grid(1)
        count = source.size
        if first < count:
            mine[0] = source[first]
            for item in range(first + cuda.gridsize(1), count, cuda.gridsize(1)):
                mine[0] = functor(mine[0], source[item])
            shared[thread] = mine[0]
        cuda.syncthreads()
        live = min(block, count - cuda.blockIdx.x * block)
        step = half
        while step > 0:
            if thread < step and thread + step < live:
                shared[thread] = functor(shared[thread], shared[thread + step])
            cuda.syncthreads()
            step //= 2
        if thread == 0:
            if with_init:
                target[0] = functor(init, shared[0])
            else:
                target[cuda.blockIdx.x] = shared[0]

    kernel: Dispatcher = cuda.jit(reduction)
    return kernel


reduce = Reduce

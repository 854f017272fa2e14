"""The libraries that are compared, each as one value: PortaGPU, NumPy and CuPy, with NumPy's names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from portagpu import cuda, xp
from portagpu.bench.peers.cupy_kernels import cupy_for
from portagpu.bench.records.cell import Role
from portagpu.device import DeviceRecord, DeviceType
from portagpu.random.generator import default_rng
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.context import Context

_SEED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """What an operation needs of a library.

    ``names`` has NumPy's functions. ``normals(count, dtype)`` draws; ``put`` and ``get`` copy from and to the host;
    ``compute`` has what a call returned be computed, if the library puts it off; ``wait`` waits for all work.
    """

    label: str
    role: Role
    names: Any
    normals: Callable[[int, str], Any]
    put: Callable[[np.ndarray[Any, Any]], Any] = np.copy
    get: Callable[[Any], Any] = np.asarray
    compute: Callable[[Any], None] = lambda found: None
    wait: Callable[[], Any] = lambda: None


def own(context: Context) -> Library:
    """PortaGPU, in a context that is the current one.

    There is no clock of the device, which takes a second stream: freed memory would not be kept for the next results.
    """
    names = SimpleNamespace(
        **{name: getattr(xp, name) for name in ("sqrt", "sort", "argsort", "where", "repeat", "tile", "roll", "zeros")},
        concatenate=xp.concat,
        histogram=np.histogram,
        unique=xp.unique_values,
    )
    generator = default_rng(_SEED)
    return Library(
        label="PortaGPU",
        role=Role.OURS,
        names=names,
        normals=lambda count, dtype: generator.standard_normal(count, dtype=np.dtype(dtype)),
        put=cuda.to_device,
        get=lambda array: array.copy_to_host(),
        compute=_compute,
        wait=context.synchronize,
    )


def _compute(found: Any) -> None:
    """What is put off gets its memory: nobody else asks for the results of a benchmark."""
    for one in found if isinstance(found, tuple) else (found,):
        if isinstance(one, DeviceNDArray) and one.deferred is not None:
            one.deferred.evaluate()


def peer(device: DeviceRecord) -> Library:
    """CuPy where the device is a GPU that it uses, else NumPy."""
    cupy = cupy_for(device) if device.device_type is DeviceType.GPU else None
    return numpy() if cupy is None else _cupy(cupy)


def numpy() -> Library:
    """NumPy, on the host's memory."""
    generator = np.random.default_rng(_SEED)  # PCG64, which is faster than its Philox
    return Library(
        label=f"NumPy {np.__version__}",
        role=Role.VENDOR,
        names=np,
        normals=lambda count, dtype: generator.standard_normal(count, dtype=np.dtype(dtype).type),
    )


def _cupy(cupy: Any) -> Library:
    generator = cupy.random.Generator(cupy.random.Philox4x3210(_SEED))
    return Library(
        label=f"CuPy {cupy.__version__}",
        role=Role.VENDOR,
        names=cupy,
        normals=lambda count, dtype: generator.standard_normal(count, dtype=np.dtype(dtype)),
        put=cupy.asarray,
        get=cupy.asnumpy,
        wait=cupy.cuda.get_current_stream().synchronize,
    )


__all__ = ["Library", "numpy", "own", "peer"]

"""The kernels of the launch figures as CuPy's `RawKernel`: CUDA C from the vendor's run-time compiler."""

from __future__ import annotations

import importlib.util
import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from portagpu.device import DeviceRecord


def cupy_for(device: DeviceRecord) -> Any:
    """CuPy, if it is installed and its current device is this one (compared by name); else None."""
    if importlib.util.find_spec("cupy") is None:
        return None
    try:
        with warnings.catch_warnings():  # what it says of versions and paths is no reason to leave it out
            warnings.simplefilter("ignore")
            import cupy  # type: ignore[import-not-found,unused-ignore]

        name = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode()
    except Exception:  # without a usable GPU it raises anything
        return None
    return cupy if name == device.name else None


def launch_of_vectors(cupy: Any, sets: Sequence[Sequence[Any]]) -> tuple[Callable[[], None], Any]:
    """A call that launches a kernel of float32 vectors, with sets of them in turns, and the first vector of all.

    The first vector becomes the sum of the others, or twice itself.
    """
    count, size = len(sets[0]), len(sets[0][0])
    names = [f"a{n}" for n in range(count)]
    parameters = ", ".join(f"float* {name}" for name in names)
    result = " + ".join(f"{name}[t]" for name in names[1:]) or "2 * a0[t]"
    kernel = cupy.RawKernel(
        f'extern "C" __global__ void vectors({parameters}, int n) {{'
        f" int t = blockIdx.x * blockDim.x + threadIdx.x; if (t < n) a0[t] = {result}; }}",
        "vectors",
    )
    kernel.compile()
    given = [(*map(cupy.asarray, one), cupy.int32(size)) for one in sets]
    following = itertools.cycle(given)

    def call() -> None:
        kernel((1,), (size,), next(following))

    return call, given[0][0]


__all__ = ["cupy_for", "launch_of_vectors"]

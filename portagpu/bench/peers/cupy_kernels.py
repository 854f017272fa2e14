"""The kernels of the launch and compile figures as CuPy's `RawKernel`: CUDA C from the vendor's run-time compiler."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from typing import Any

from portagpu.device import DeviceRecord


def cupy_for(device: DeviceRecord) -> Any:
    """CuPy, if it is installed and its current device is this one (compared by name); else None."""
    if importlib.util.find_spec("cupy") is None:
        return None
    try:
        import cupy  # type: ignore[import-not-found,unused-ignore]

        name = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode()
    except Exception:  # without a usable GPU it raises anything
        return None
    return cupy if name == device.name else None


def launch_of_vectors(cupy: Any, count: int, turns: int) -> Callable[[], None]:
    """A call that launches a kernel of that many float32 vectors, with sets of arguments in turns."""
    names = [f"a{n}" for n in range(count)]
    parameters = ", ".join(f"float* {name}" for name in names)
    result = " + ".join(f"{name}[t]" for name in names[1:]) or "2 * a0[t]"
    kernel = cupy.RawKernel(
        f'extern "C" __global__ void vectors({parameters}, int n) {{'
        f" int t = blockIdx.x * blockDim.x + threadIdx.x; if (t < n) a0[t] = {result}; }}",
        "vectors",
    )
    sets = [(*(cupy.zeros(64, cupy.float32) for _ in names), cupy.int32(64)) for _ in range(turns)]
    state = {"next": 0}

    def call() -> None:
        n = state["next"]
        state["next"] = (n + 1) % turns
        kernel((1,), (64,), sets[n])

    return call


def compile_seconds(cupy: Any, source: str, name: str) -> float:
    """Seconds of compiling CUDA C; the source must be new to CuPy's caches."""
    begin = time.perf_counter()
    cupy.RawKernel(source, name).compile()
    return time.perf_counter() - begin

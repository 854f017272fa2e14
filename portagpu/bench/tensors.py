"""Products of PyTorch's tensors beside torch's own.

Run it as ``python -m portagpu.bench.tensors [--size N]... [--dtype NAME]...``.

Tensors are on the card that torch uses, if it has one, else on the CPU. `portagpu.matmul` with ``out=`` and for a new
result takes turns with `torch.matmul`, on a card also with `portagpu.matmul` of OpenCL's arrays there. A turn is as
many calls as take some milliseconds, without a wait between them; what is told is medians, in TFLOP/s, and shares of
torch's. Each result is compared with torch's in float32.
"""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable
from typing import Any

import click
import numpy as np

import portagpu
from portagpu import cuda
from portagpu.bench.program import Program
from portagpu.device import DeviceRecord, all_devices
from portagpu.errors import MissingPackageError, PortaGPUError

try:
    import torch
except ImportError:
    torch = None

_TURNS = 15
_TURN_SECONDS = 3e-3
_TOLERANCE = {"float16": 4e-3, "bfloat16": 2e-2, "float32": 2e-5}  # of the largest element of the result
Call = Callable[[], Any]


def measured(size: int, dtype: str) -> dict[str, float]:
    """Seconds of a product of square matrices by each way. Raises `PortaGPUError` where a result is wrong."""
    on_card = torch.cuda.is_available()
    kind, place = getattr(torch, dtype), "cuda" if on_card else "cpu"
    a, b = (torch.randn(size, size, device=place).to(kind) for _ in range(2))
    c = torch.empty_like(a)
    wanted = torch.matmul(a.float(), b.float())
    calls: dict[str, Call] = {
        "torch": lambda: torch.matmul(a, b, out=c),
        "portagpu, out=": lambda: portagpu.matmul(a, b, out=c),
        "portagpu, new": lambda: portagpu.matmul(a, b),
    }
    waits = dict.fromkeys(calls, torch.cuda.synchronize if on_card else _nothing)
    for name, call in calls.items():
        call()
        found = call()
        waits[name]()
        _check(name, torch.as_tensor(found), wanted, dtype)
    opencl = _same_card(torch.cuda.get_device_name()) if on_card else None
    if opencl is not None:
        calls["portagpu, OpenCL"], waits["portagpu, OpenCL"] = _through_opencl(opencl, a, b)
    return _in_turns(calls, waits)


def _in_turns(calls: dict[str, Call], waits: dict[str, Call]) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in calls}
    counts = {name: max(1, int(_TURN_SECONDS / _seconds(call, waits[name], 1))) for name, call in calls.items()}
    for _ in range(_TURNS):
        for name, call in calls.items():
            times[name].append(_seconds(call, waits[name], counts[name]))
    return {name: statistics.median(found) for name, found in times.items()}


def _seconds(call: Call, wait: Call, count: int) -> float:
    wait()
    begin = time.perf_counter()
    for _ in range(count):
        call()
    wait()
    return (time.perf_counter() - begin) / count


def _nothing() -> None:
    """Calls on the CPU are done when they return."""


def _check(name: str, found: Any, wanted: Any, dtype: str) -> None:
    error = float((found.float() - wanted).abs().max() / wanted.abs().max())
    if not error <= _TOLERANCE[dtype]:
        raise PortaGPUError(
            f"the product of {dtype} by {name} is wrong: an error of {error:.2g} of the largest element"
        )


def _same_card(name: str) -> DeviceRecord | None:
    """The OpenCL device that torch's card is."""
    return next((one for one in all_devices() if one.backend == "opencl" and one.works and one.name == name), None)


def _through_opencl(device: DeviceRecord, a: Any, b: Any) -> tuple[Call, Call]:
    """The same product of device arrays of OpenCL's, and the wait for it."""
    if a.dtype is torch.bfloat16:
        kind: Any = importlib.import_module("ml_dtypes").bfloat16
    else:
        kind = np.dtype(str(a.dtype).removeprefix("torch."))
    with cuda.select_device(device) as context:
        left, right = (cuda.to_device(x.float().cpu().numpy().astype(kind)) for x in (a, b))
        result = cuda.device_array(tuple(a.shape), kind)
    for _ in range(2):
        portagpu.matmul(left, right, out=result)
    return lambda: portagpu.matmul(left, right, out=result), context.synchronize


@click.command(cls=Program)
@click.option("--size", "sizes", type=click.IntRange(1, 32768), multiple=True, default=(2048, 4096, 8192))
@click.option("--dtype", "dtypes", type=click.Choice(tuple(_TOLERANCE)), multiple=True, default=("float16", "bfloat16"))
def main(sizes: tuple[int, ...], dtypes: tuple[str, ...]) -> None:
    """Measure and print."""
    if torch is None:
        raise MissingPackageError("torch is not installed", hint="pip install 'portagpu[torch]'")
    where = torch.cuda.get_device_name() if torch.cuda.is_available() else "the CPU"
    click.echo(f"torch {torch.__version__} on {where}")
    for size in sizes:
        for dtype in dtypes:
            times = measured(size, dtype)
            flop = 2.0 * size**3
            told = (f"{n} {flop / s / 1e12:.4g} TFLOP/s ({times['torch'] / s:.3f})" for n, s in times.items())
            click.echo(f"{size} {dtype}: {'; '.join(told)}")


if __name__ == "__main__":
    main()

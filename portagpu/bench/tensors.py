"""Products of PyTorch's tensors beside torch's own.

Run it as ``python -m portagpu.bench.tensors [--size N]... [--dtype NAME]...``.

Tensors are on the card that torch uses, if it has one, else on the CPU. `portagpu.matmul` and `torch.matmul` take
turns, each for a new result and with ``out=``, on a card also `portagpu.matmul` of OpenCL's arrays there. Calls are
made back to back (`portagpu.bench.method.turns.BackToBack`); what is told is medians, in TFLOP/s and microseconds, and
shares of what torch reaches in the same form. Each result is compared with torch's, in float32 or better.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import click
import numpy as np

import portagpu
from portagpu import cuda
from portagpu.bench.method.plan import Method
from portagpu.bench.method.rounds import play
from portagpu.bench.method.statistics import median
from portagpu.bench.method.turns import BackToBack, Call
from portagpu.bench.program import Program
from portagpu.device import DeviceRecord, all_devices
from portagpu.errors import MissingPackageError, PortaGPUError

try:
    import torch
except ImportError:
    torch = None

_METHOD = Method(least_rounds=11, limit_seconds=1.5, round_seconds=0.012, sample_seconds=0.003, warm_up_seconds=0.3)
_TOLERANCE = {"float16": 4e-3, "bfloat16": 2e-2, "float32": 2e-5, "float64": 1e-12}  # of the result's largest element
_TORCH_NEW, _TORCH_OUT = "torch, new", "torch, out="
_PEERS = {"portagpu, new": _TORCH_NEW, "portagpu, out=": _TORCH_OUT, "portagpu, OpenCL": _TORCH_OUT}


def measured(size: int, dtype: str) -> dict[str, float]:
    """Seconds of a product of square matrices by each way. Raises `PortaGPUError` where a result is wrong."""
    on_card = torch.cuda.is_available()
    kind, place = getattr(torch, dtype), "cuda" if on_card else "cpu"
    a, b = (torch.randn(size, size, device=place).to(kind) for _ in range(2))
    c = torch.empty_like(a)
    better = torch.float64 if dtype == "float64" else torch.float32
    wanted = torch.matmul(a.to(better), b.to(better))
    wait = torch.cuda.synchronize if on_card else _nothing
    products: dict[str, Callable[[], Any]] = {
        _TORCH_NEW: lambda: torch.matmul(a, b),
        _TORCH_OUT: lambda: torch.matmul(a, b, out=c),
        "portagpu, new": lambda: portagpu.matmul(a, b),
        "portagpu, out=": lambda: portagpu.matmul(a, b, out=c),
    }
    for name, product in products.items():
        product()
        found = product()
        wait()
        _check(name, torch.as_tensor(found), wanted, dtype)
    calls = {name: Call(enqueue=product, wait=wait) for name, product in products.items()}
    opencl = _same_card(torch.cuda.get_device_name()) if on_card else None
    if opencl is not None:
        calls["portagpu, OpenCL"] = _through_opencl(opencl, a, b)
    times = {}
    for name, timed in zip(calls, play([BackToBack(call, _METHOD) for call in calls.values()], _METHOD), strict=True):
        if timed.failure is not None:
            raise timed.failure
        times[name] = median(timed.samples) or math.nan
    return times


def _nothing() -> None:
    """Calls on the CPU are done when they return."""


def _check(name: str, found: Any, wanted: Any, dtype: str) -> None:
    error = float((found.to(wanted.dtype) - wanted).abs().max() / wanted.abs().max())
    if not error <= _TOLERANCE[dtype]:
        raise PortaGPUError(
            f"the product of {dtype} by {name} is wrong: an error of {error:.2g} of the largest element"
        )


def _same_card(name: str) -> DeviceRecord | None:
    """The OpenCL device that torch's card is."""
    return next((one for one in all_devices() if one.backend == "opencl" and one.works and one.name == name), None)


def _through_opencl(device: DeviceRecord, a: Any, b: Any) -> Call:
    """The same product of device arrays of OpenCL's."""
    if a.dtype is torch.bfloat16:
        kind: Any = importlib.import_module("ml_dtypes").bfloat16
    else:
        kind = np.dtype(str(a.dtype).removeprefix("torch."))
    with cuda.select_device(device) as context:
        left, right = (cuda.to_device(x.float().cpu().numpy().astype(kind)) for x in (a, b))
        result = cuda.device_array(tuple(a.shape), kind)
    for _ in range(2):
        portagpu.matmul(left, right, out=result)
    return Call(enqueue=lambda: portagpu.matmul(left, right, out=result), wait=context.synchronize)


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
            figures = (_figures(name, times, 2.0 * size**3) for name in times)
            click.echo(f"{size} {dtype}: {'; '.join(figures)}")


def _figures(name: str, times: dict[str, float], flop: float) -> str:
    """A way's figures, with the share of what torch reaches."""
    seconds, peer = times[name], times[_PEERS.get(name, name)]
    return f"{name} {flop / seconds / 1e12:.4g} TFLOP/s, {seconds * 1e6:.4g} us ({peer / seconds:.3f})"


if __name__ == "__main__":
    main()

"""Fourier transforms and decompositions beside CuPy on a card, beside NumPy elsewhere.

Run it as ``python -m portagpu.bench.transforms [DEVICE]``.

Each operation takes turns with the peer's. What is told is the median of the turns, in milliseconds, and the peer's
time over ours. Transforms are compared with NumPy's.
"""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from portagpu import cuda, xp
from portagpu.bench.program import Program, chosen, device_argument
from portagpu.bench.sorting import Call, in_turns, peer_of
from portagpu.errors import PortaGPUError

_SHAPES = ((2**20,), (1024, 1024), (64, 4096), (100_000, 16), (1_000_003,))
_MATRICES = ((1, 100), (1, 300), (2000, 8))


def transforms(shape: tuple[int, ...], dtype: str, peer: Any) -> tuple[float, float]:
    """Seconds by the peer and by PortaGPU of a transform along the last axis. Raises `PortaGPUError` if it is wrong."""
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    ours, theirs = cuda.to_device(x), peer.asarray(x)
    expected = np.fft.fft(x.astype(np.complex128))
    error = np.linalg.norm(xp.fft.fft(ours).copy_to_host() - expected) / np.linalg.norm(expected)
    if error > 4 * np.finfo(x.dtype).eps * np.log2(shape[-1]):
        raise PortaGPUError(f"the transform of {shape} elements of {dtype} is wrong by {error:.1e}")
    return _beside(peer, lambda: peer.fft.fft(theirs), lambda: xp.fft.fft(ours))


def decompositions(count: int, n: int, dtype: str, peer: Any) -> dict[str, tuple[float, float]]:
    """Seconds by the peer and by PortaGPU for eigenvalues and singular values with vectors."""
    x = np.random.default_rng(0).standard_normal((count, n, n)).astype(dtype)
    x += x.swapaxes(-1, -2)
    ours, theirs = cuda.to_device(x), peer.asarray(x)
    return {
        "eigh": _beside(peer, lambda: peer.linalg.eigh(theirs), lambda: xp.linalg.eigh(ours)),
        "svd": _beside(peer, lambda: peer.linalg.svd(theirs), lambda: xp.linalg.svd(ours)),
    }


def _beside(peer: Any, their: Call, own: Call) -> tuple[float, float]:
    done = cuda.synchronize if peer is np else peer.cuda.get_current_stream().synchronize
    return in_turns((their, done), (own, cuda.synchronize))


@click.command(cls=Program)
@device_argument
def main(selector: str | None) -> None:
    """Measure and print."""
    device = chosen(selector)
    peer = peer_of(device.device_type)
    click.echo(f"{device.name}, beside {peer.__name__} {peer.__version__}")
    with cuda.select_device(device):
        for dtype in ("complex64", "complex128"):
            for shape in _SHAPES:
                their, own = transforms(shape, dtype, peer)
                click.echo(f"fft {shape} {dtype}: {own * 1e3:.4g} ms ({their / own:.3f})")
        for dtype in ("float32", "float64"):
            for count, n in _MATRICES:
                found = decompositions(count, n, dtype, peer)
                told = (f"{name} {own * 1e3:.4g} ms ({their / own:.3f})" for name, (their, own) in found.items())
                click.echo(f"{count} x {n} x {n} {dtype}: {'; '.join(told)}")


if __name__ == "__main__":
    main()

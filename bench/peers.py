"""The libraries that PortaGPU is compared with: what is importable and fits the device."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu.bench.cells import Memory
from portagpu.device import DeviceRecord, DeviceType

Product = Callable[[], None]  # computes the product once and waits for it


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A library: its name and a way to make a product that can be timed."""

    name: str
    memory: Memory
    prepare: Callable[[np.ndarray[Any, Any], np.ndarray[Any, Any]], Product]


def peers_for(device: DeviceRecord) -> tuple[Peer, ...]:
    """Peers on a device: the GPU's vendor library through torch or CuPy, NumPy for CPUs."""
    if device.device_type is DeviceType.CPU:
        return (Peer(name=f"NumPy {np.__version__} ({numpy_blas()})", memory=Memory.HOST, prepare=_numpy),)
    for module, prepare in (("torch", _torch), ("cupy", _cupy)):
        if importlib.util.find_spec(module) is not None:
            peer = _gpu_peer(module, prepare, device)
            if peer is not None:
                return (peer,)
    return (Peer(name=f"NumPy {np.__version__} ({numpy_blas()})", memory=Memory.HOST, prepare=_numpy),)


def numpy_blas() -> str:
    """Name and version of the BLAS that NumPy was built with."""
    try:
        details: Any = np.show_config(mode="dicts")
        blas = details["Build Dependencies"]["blas"]
        return f"{blas['name']} {blas['version']}"
    except (KeyError, TypeError):
        return "unknown BLAS"


def _numpy(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> Product:
    def product() -> None:
        np.matmul(a, b)

    return product


def _gpu_peer(module: str, prepare: Any, device: DeviceRecord) -> Peer | None:
    """The peer, if it can use this very device (compared by name)."""
    try:
        name, version = _gpu_name(module)
    except Exception:  # a library without a usable GPU raises anything
        return None
    if name not in device.name and device.name not in name:  # one of them may add the maker's name
        return None
    return Peer(name=f"{module} {version}", memory=Memory.DEVICE, prepare=prepare)


def _gpu_name(module: str) -> tuple[str, str]:
    if module == "torch":
        import torch

        return str(torch.cuda.get_device_name(0)), str(torch.__version__)
    import cupy

    return cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(), str(cupy.__version__)


def _torch(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> Product:
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    left, right = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()
    result = torch.empty((a.shape[0], b.shape[1]), dtype=left.dtype, device="cuda")

    def product() -> None:
        torch.matmul(left, right, out=result)
        torch.cuda.synchronize()

    return product


def _cupy(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> Product:
    import cupy

    left, right = cupy.asarray(a), cupy.asarray(b)

    def product() -> None:
        cupy.matmul(left, right)
        cupy.cuda.get_current_stream().synchronize()

    return product

"""Factorisations by `torch.linalg`: the solvers of the GPU's maker, as torch chooses them."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from portagpu.bench.method.turns import Call
from portagpu.bench.peers import torch_products
from portagpu.bench.peers.torch_products import Place
from portagpu.bench.routines.task import Task
from portagpu.device import DeviceRecord

ROUTINES = ("potrf", "getrf", "potrf-batch", "getrf-batch")
"""Those whose results are LAPACK's; torch makes arrays for them in each call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solvers:
    """A place, and torch's version."""

    place: Place
    version: str


def places(device: DeviceRecord) -> list[Solvers]:
    """Where torch uses this very device (compared by name)."""
    if importlib.util.find_spec(torch_products.MODULE) is None:
        return []
    try:
        found = torch_products.gpu_places()
    except Exception:  # without a usable GPU it raises anything
        return []
    version = importlib.import_module(torch_products.MODULE).__version__
    return [Solvers(place=p, version=version) for p in found if p.device in device.name or device.name in p.device]


def prepare(solvers: Solvers, task: Task) -> Call:
    """A task on torch's tensors."""
    linalg = importlib.import_module(f"{torch_products.MODULE}.linalg")
    place = solvers.place
    a = torch_products.tensor_of(task.arrays["a"], task.dtype, place.kind)
    makers: dict[str, Callable[[Any], Any]] = {"potrf": linalg.cholesky_ex, "getrf": linalg.lu_factor_ex}
    factorise = makers[task.name.partition("-")[0]]
    held: dict[str, Any] = {}

    def enqueue() -> None:
        held["found"] = factorise(a)

    def fetch() -> Any:
        factor, *others = (tensor.cpu().numpy() for tensor in held["found"])
        if task.name.startswith("getrf"):
            others[0] = others[0] - 1  # LAPACK counts from 1
        return (factor, *others)

    return Call(enqueue=enqueue, wait=place.wait, fetch=fetch)


__all__ = ["ROUTINES", "Solvers", "places", "prepare"]

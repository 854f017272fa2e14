"""Products by torch: the library of the GPU's maker that it calls, or the CPU's."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from portagpu.bench.method.turns import Call
from portagpu.bench.peers.own_runtime import with_torch
from portagpu.blas.gemm.core.problem import Problem
from portagpu.errors import UnsupportedError

MODULE = "torch"
_LEAST_ROWS = 17  # of integer products
_WHOLE = 8  # their k and n are multiples of it
_BLAS = ("float32", "float64", "complex64", "complex128")
Matrix = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where torch computes: its name for the kind of device, the device's name, and the library that it calls there."""

    kind: str
    device: str
    library: str

    @property
    def label(self) -> str:
        """The implementation's name in tables."""
        return f"{self.library} of {MODULE} {_torch().__version__}"

    @property
    def wait(self) -> Callable[[], Any]:
        """What waits for the device."""
        return (lambda: None) if self.kind == "cpu" else getattr(_torch(), self.kind).synchronize


def gpu_places() -> list[Place]:
    """The first GPU of each kind that torch can use. Raises anything where it cannot be imported."""
    torch = _torch()
    found = []
    if torch.cuda.is_available():
        library = "rocBLAS" if getattr(torch.version, "hip", None) else "cuBLAS"
        found.append(Place(kind="cuda", device=str(torch.cuda.get_device_name(0)), library=library))
    xpu = getattr(torch, "xpu", None)
    if xpu is not None and xpu.is_available():  # its products are oneDNN's, whatever else is in that build
        found.append(Place(kind="xpu", device=str(xpu.get_device_name(0)), library="oneDNN"))
    return found


def cpu_place() -> Place:
    """The CPU, with the BLAS that this build of torch has. Raises anything where it cannot be imported."""
    torch = _torch()
    told = str(torch.__config__.show())
    if torch.backends.mkl.is_available():
        version = re.search(r"Math Kernel Library Version ([\w.]+)", told)
        return Place(kind="cpu", device="", library=f"oneMKL {version[1]}" if version else "oneMKL")
    blas = re.search(r"BLAS_INFO=(\w+)", told)
    return Place(kind="cpu", device="", library={"open": "OpenBLAS"}.get(blas[1], blas[1]) if blas else "the BLAS")


def serves(problem: Problem) -> Problem:
    """The arithmetic that torch uses on GPUs: precisions other than TF32 become SGEMM, unsigned bytes signed ones."""
    dtype = "int8" if problem.dtype == "uint8" else problem.dtype
    out = "" if dtype == "int8" else problem.out
    precision = problem.precision if problem.precision == "tf32" else ""
    return replace(problem, dtype=dtype, out=out, precision=precision)


def prepare(place: Place, problem: Problem, a: Matrix, b: Matrix) -> Call:
    """A product at a place. Raises `UnsupportedError` and RuntimeError for what torch cannot do."""
    torch = _torch()
    if place.kind == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = problem.precision == "tf32"
    elif problem.precision or problem.out or problem.dtype not in (*_BLAS, "float16", "bfloat16"):
        raise UnsupportedError(f"torch has no {problem.arithmetic} products on this device")
    left, right = tensor_of(a, problem.dtype, place.kind), tensor_of(b, problem.dtype, place.kind)
    held: dict[str, Any] = {}
    if problem.dtype == "int8":
        _check_integers(problem)
        columns = right.t().contiguous().t()  # the library wants B in columns

        def enqueue() -> None:
            held["c"] = torch._int_mm(left, columns)
    elif problem.out:
        kind = getattr(torch, problem.out)
        multiply = torch.bmm if problem.batch > 1 else torch.mm

        def enqueue() -> None:
            held["c"] = multiply(left, right, out_dtype=kind)
    else:
        held["c"] = torch.empty((*left.shape[:-1], right.shape[-1]), dtype=left.dtype, device=place.kind)

        def enqueue() -> None:
            torch.matmul(left, right, out=held["c"])

    call = Call(enqueue=enqueue, wait=place.wait, fetch=lambda: _on_host(torch, held["c"]))
    return with_torch(torch, place.kind, call)


def _check_integers(problem: Problem) -> None:
    if problem.batch > 1:
        raise UnsupportedError("torch has no integer products of batches")
    if problem.m < _LEAST_ROWS or problem.n % _WHOLE or problem.k % _WHOLE:
        raise UnsupportedError(f"torch's integer products need m >= {_LEAST_ROWS}, n and k multiples of {_WHOLE}")


def tensor_of(array: Matrix, dtype: str, kind: str) -> Any:
    """An array as a tensor of a dtype, in the memory of a kind of device."""
    torch = _torch()
    if dtype == "bfloat16":  # torch does not know NumPy's
        return torch.from_numpy(array.view(np.int16)).to(kind).view(torch.bfloat16)
    if dtype == "int8":
        array = array.view(np.int8)
    return torch.from_numpy(array.astype(dtype, copy=False)).to(kind)


def _on_host(torch: Any, tensor: Any) -> Matrix:
    if tensor.dtype == torch.bfloat16:  # exact
        tensor = tensor.float()
    found: Matrix = tensor.cpu().numpy()
    return found


def _torch() -> Any:
    return importlib.import_module(MODULE)


__all__ = ["MODULE", "Place", "cpu_place", "gpu_places", "prepare", "serves", "tensor_of"]

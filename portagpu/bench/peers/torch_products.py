"""The vendor's library through torch: cuBLAS or rocBLAS, as torch calls them."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

import numpy as np

from portagpu.bench.method.turns import Call
from portagpu.blas.gemm.core.problem import Problem

MODULE = "torch"
_LEAST_ROWS = 17  # of integer products
_WHOLE = 8  # their k and n are multiples of it
Matrix = np.ndarray[Any, Any]


def device_and_version() -> tuple[str, str]:
    """Name of the first GPU, and torch's version. Raises anything where there is none."""
    torch = _torch()
    return str(torch.cuda.get_device_name(0)), str(torch.__version__)


def serves(problem: Problem) -> Problem:
    """The arithmetic that torch uses: precisions other than TF32 become SGEMM, unsigned bytes signed ones."""
    dtype = "int8" if problem.dtype == "uint8" else problem.dtype
    out = "" if dtype == "int8" else problem.out
    precision = problem.precision if problem.precision == "tf32" else ""
    return replace(problem, dtype=dtype, out=out, precision=precision)


def prepare(problem: Problem, a: Matrix, b: Matrix) -> Call:
    """A product on the current GPU. Raises RuntimeError for what torch cannot do."""
    torch = _torch()
    torch.backends.cuda.matmul.allow_tf32 = problem.precision == "tf32"
    left, right = _on_device(torch, a, problem.dtype), _on_device(torch, b, problem.dtype)
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
        held["c"] = torch.empty((*left.shape[:-1], right.shape[-1]), dtype=left.dtype, device="cuda")

        def enqueue() -> None:
            torch.matmul(left, right, out=held["c"])

    return Call(enqueue=enqueue, wait=torch.cuda.synchronize, fetch=lambda: _on_host(torch, held["c"]))


def _check_integers(problem: Problem) -> None:
    if problem.batch > 1:
        raise RuntimeError("torch has no integer products of batches")
    if problem.m < _LEAST_ROWS or problem.n % _WHOLE or problem.k % _WHOLE:
        raise RuntimeError(f"torch's integer products need m >= {_LEAST_ROWS}, n and k multiples of {_WHOLE}")


def _on_device(torch: Any, array: Matrix, dtype: str) -> Any:
    if dtype == "bfloat16":  # torch does not know NumPy's
        return torch.from_numpy(array.view(np.int16)).cuda().view(torch.bfloat16)
    if dtype == "int8":
        array = array.view(np.int8)
    return torch.from_numpy(array).cuda()


def _on_host(torch: Any, tensor: Any) -> Matrix:
    if tensor.dtype == torch.bfloat16:  # exact
        tensor = tensor.float()
    found: Matrix = tensor.cpu().numpy()
    return found


def _torch() -> Any:
    return importlib.import_module(MODULE)


__all__ = ["MODULE", "device_and_version", "prepare", "serves"]

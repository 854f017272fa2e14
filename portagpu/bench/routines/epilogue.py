"""A product with an epilogue: bias, GELU and residual, beside the plain product, and beside separate calls.

The separate calls are what is done without an epilogue: the product, an elementwise pass with bias and GELU, one that
adds the residual. CuPy's elementwise pass is one kernel; torch adds the bias with the product. NumPy works in place.
"""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np

from portagpu.bench.method.turns import Call
from portagpu.bench.peers.own_runtime import with_cupy, with_torch
from portagpu.bench.peers.torch_products import MODULE, Place, tensor_of
from portagpu.bench.routines.task import Array, Arrays, Task, copies, largest, rounding
from portagpu.blas.matmul import matmul
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import Context

_SCALE, _CUBE = 0.7978845608028654, 0.044715


def gelu(value: Any, row: Any, column: Any, bias: Any, residual: Any) -> Any:
    """The epilogue, a device function: GELU in its form with tanh."""
    x = value + bias[column]
    return 0.5 * x * (1 + math.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))) + residual[row, column]


def flops(n: int) -> float:
    """Those of the product."""
    return 2.0 * n**3


def epilogue(n: int, dtype: str, seed: int = 0) -> Task:
    """``gelu(A B + bias) + residual``."""
    generator = np.random.default_rng([seed, 5])
    shapes = {"a": (n, n), "b": (n, n), "bias": (n,), "residual": (n, n)}
    arrays = {name: generator.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    arrays["a"] /= np.float32(math.sqrt(n))
    arrays = {name: x.astype(dtype) for name, x in arrays.items()}
    wide = {name: x.astype(np.float32) for name, x in arrays.items()}
    x = np.matmul(wide["a"], wide["b"]) + wide["bias"]  # in float32, whose errors the tolerance has room for
    wanted = 0.5 * x * (1 + np.tanh(_SCALE * (x + _CUBE * x**3))) + wide["residual"]
    size = np.abs(x) + np.abs(wide["residual"]) + 1
    tolerance = rounding(dtype) * size + rounding("float32") * math.sqrt(n)
    arrays["out"] = np.zeros((n, n), dtype)
    return Task(
        name="epilogue",
        dtype=dtype,
        n=n,
        size=str(n),
        library="blas.matmul",
        arrays=arrays,
        call=_fused,
        error=lambda result: largest(result, wanted, tolerance),
        work=flops(n),
        unit="GFLOP/s",
        own="matmul",
    )


def _fused(function: Any, v: Arrays) -> Any:
    return function(v["a"], v["b"], v["out"], epilogue=gelu, epilogue_args=(v["bias"], v["residual"]))


def plain_on_host(task: Task, context: Context) -> Call:
    """Our product without the epilogue, of NumPy arrays."""
    return _plain(copies(task), lambda: None)


def plain_on_device(task: Task, context: Context) -> Call:
    """Our product without the epilogue, of device arrays."""
    return _plain({name: to_device(x, context=context) for name, x in task.arrays.items()}, context.synchronize)


def _plain(v: Arrays, wait: Any) -> Call:
    def fetch() -> Array:
        """What the product becomes with the epilogue, by NumPy: the check is the same one."""
        c, bias, residual = (np.asarray(_on_host(v[name]), np.float32) for name in ("out", "bias", "residual"))
        return _finished(c, bias, residual)

    return Call(enqueue=lambda: matmul(v["a"], v["b"], v["out"]), wait=wait, fetch=fetch)


def _on_host(x: Any) -> Array:
    found: Array = x if isinstance(x, np.ndarray) else x.copy_to_host()
    return found


def _finished(c: Array, bias: Array, residual: Array) -> Array:
    """GELU of c and bias, with the residual: each pass in place, as NumPy is fastest."""
    c += bias
    inner = c * c
    inner *= _CUBE
    inner += 1
    inner *= c
    inner *= _SCALE
    np.tanh(inner, out=inner)
    inner += 1
    inner *= c
    inner *= 0.5
    inner += residual
    return inner


def calls_of_numpy(task: Task) -> Call:
    """NumPy's product, and passes in place."""
    v, held = copies(task), {}

    def enqueue() -> None:
        np.matmul(v["a"], v["b"], out=v["out"])
        held["result"] = _finished(v["out"], v["bias"], v["residual"])

    return Call(enqueue=enqueue, fetch=lambda: held["result"])


def calls_of_torch(place: Place, task: Task) -> Call:
    """torch's product with bias, GELU, and the residual in place."""
    torch = importlib.import_module(MODULE)
    v = {name: tensor_of(x, task.dtype, place.kind) for name, x in task.arrays.items()}
    if place.kind == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = False
    held: dict[str, Any] = {}

    def enqueue() -> None:
        c = torch.addmm(v["bias"], v["a"], v["b"], out=v["out"])
        held["result"] = torch.nn.functional.gelu(c, approximate="tanh").add_(v["residual"])

    call = Call(enqueue=enqueue, wait=place.wait, fetch=lambda: held["result"].cpu().numpy())
    return with_torch(torch, place.kind, call)


def calls_of_cupy(cupy: Any, task: Task) -> Call:
    """CuPy's product, which is the vendor's, and two kernels of CuPy."""
    v = {name: cupy.array(x) for name, x in task.arrays.items()}
    pass_over = cupy.ElementwiseKernel(
        "T c, T bias",
        "T y",
        f"float x = (float)c + (float)bias; y = 0.5f * x * (1 + tanhf({_SCALE}f * (x + {_CUBE}f * x * x * x)))",
        "portagpu_bench_gelu",
    )

    def enqueue() -> None:
        cupy.matmul(v["a"], v["b"], out=v["out"])
        pass_over(v["out"], v["bias"], v["out"])
        cupy.add(v["out"], v["residual"], out=v["out"])

    call = Call(enqueue=enqueue, wait=cupy.cuda.get_current_stream().synchronize, fetch=v["out"].get)
    return with_cupy(cupy, call)

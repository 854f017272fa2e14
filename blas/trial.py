"""One GEMM trial: runs in the tuner's child process."""

from __future__ import annotations

import statistics
import time
from functools import lru_cache
from typing import Any

import numpy as np

from portagpu.blas.gemm import gemm
from portagpu.blas.problem import Problem
from portagpu.blas.registry import from_json
from portagpu.blas.variant import Config
from portagpu.blas.verification import ProductCheck
from portagpu.errors import BuildError, KernelError, LaunchConfigError, PortaGPUError
from portagpu.runtime.array import DeviceNDArray, device_array
from portagpu.runtime.context import Context, select_device
from portagpu.runtime.creation import to_device
from portagpu.tuning import outcomes
from portagpu.tuning.outcomes import CompileFailed, LaunchFailed, Measured, Outcome, WrongResult

_REPEAT_SECONDS = 0.12
_MIN_REPEATS = 3
_MAX_REPEATS = 25


@lru_cache(maxsize=1)
def _operands(device: str, problem: Problem) -> tuple[DeviceNDArray, DeviceNDArray, DeviceNDArray, ProductCheck]:
    context = _context(device)
    generator = np.random.default_rng(0)
    a = generator.standard_normal((problem.m, problem.k)).astype(problem.dtype)
    b = generator.standard_normal((problem.k, problem.n)).astype(problem.dtype)
    c = device_array((problem.m, problem.n), np.dtype(problem.dtype), context=context)
    return to_device(a, context=context), to_device(b, context=context), c, ProductCheck(a, b)


@lru_cache(maxsize=4)
def _context(device: str) -> Context:
    return select_device(int(device))


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Measure or verify a configuration; the answer is JSON (an outcome, or ``{"problem": ...}``)."""
    config = from_json(request["point"])
    device = str(request["device"])
    if request["action"] == "verify":
        return {"problem": verify(config, device, request["dtype"])}
    problem = Problem(**request["problem"])
    return outcomes.to_json(_measure(config, device, problem))


def _measure(config: Config, device: str, problem: Problem) -> Outcome:
    a, b, c, check = _operands(device, problem)
    context = c.context
    stream = context.default_stream
    try:
        c[...] = np.nan
        gemm(a, b, c, stream, config)
        stream.synchronize()
    except (BuildError, KernelError, LaunchConfigError) as error:
        return CompileFailed(error.message)
    except PortaGPUError as error:
        return LaunchFailed(error.message)
    wrong = check.error(c.copy_to_host())
    if not wrong <= 1:
        return WrongResult(f"error {wrong:.3g} times the tolerance")
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) < _MIN_REPEATS or (time.perf_counter() - begin < _REPEAT_SECONDS and len(times) < _MAX_REPEATS):
        started = time.perf_counter()
        gemm(a, b, c, stream, config)
        stream.synchronize()
        times.append(time.perf_counter() - started)
    return Measured(statistics.median(times))


def verify(config: Config, device: str, dtype: str) -> str | None:
    """Odd shapes, transposes, strided results, NaN and infinity against NumPy in float64; None, or what is wrong."""
    context = _context(device)
    stream = context.default_stream
    generator = np.random.default_rng(1)
    eps = np.finfo(dtype).eps
    for m, n, k in ((1, 1, 1), (127, 65, 33), (130, 259, 17), (256, 256, 256)):
        for transpose, strided in ((False, False), (True, False), (False, True)):
            a = generator.standard_normal((k, m) if transpose else (m, k)).astype(dtype)
            b = generator.standard_normal((n, k) if transpose else (k, n)).astype(dtype)
            if m > 1:
                a[0, 0], b[-1, -1] = np.nan, np.inf
            left, right = (a.T, b.T) if transpose else (a, b)
            da, db = to_device(a, context=context), to_device(b, context=context)
            # what is in c must not matter, whatever its layout, and nothing beside it may be written
            around = to_device(np.full((m, n, 2) if strided else (2, m, n), np.nan, dtype), context=context)
            c = around[:, :, 0] if strided else around[0]
            gemm(da.T if transpose else da, db.T if transpose else db, c, stream, config)
            whole = around.copy_to_host()
            found, beside = (whole[:, :, 0], whole[:, :, 1]) if strided else whole
            with np.errstate(invalid="ignore"):
                wanted = left.astype(np.float64) @ right.astype(np.float64)
                bound = (k + 2) * eps * (np.abs(left).astype(np.float64) @ np.abs(right).astype(np.float64))
                finite = np.isfinite(wanted)
                right_numbers = np.abs(found - wanted)[finite] <= bound[finite]
            same = np.array_equal(np.isnan(found), np.isnan(wanted)) and np.array_equal(
                np.isinf(found), np.isinf(wanted)
            )
            if not same or not right_numbers.all() or not np.isnan(beside).all():
                return f"wrong result for m={m} n={n} k={k}{' transposed' * transpose}{' strided' * strided}"
    return None

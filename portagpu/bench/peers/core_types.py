"""NumPy with OpenBLAS's kernels for each core type that the library has, in child processes.

OpenBLAS chooses its kernels by the processor's model, which it may not know; ``OPENBLAS_CORETYPE`` sets them by hand,
once for a process. What a library does not have becomes something else, so each child tells what it really uses; of
names that come to the same only the first stays. A child whose kernels the processor cannot run dies, and is left out.
The children make random operands of their own, and compute and time products when they are told to, so that turns are
taken with this process.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib
import logging
import math
import platform
import statistics
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from portagpu.bench.method.turns import Call, take_turn
from portagpu.bench.product_check import checker
from portagpu.blas.gemm.core.problem import Problem
from portagpu.tuning.trials.worker import Worker, WorkerDied

CORE_TYPES = {
    "x86_64": ("Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids"),
    "AMD64": ("Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids"),
    "aarch64": ("ARMV8", "CORTEXA57", "NEOVERSEN1", "NEOVERSEV1", "NEOVERSEN2", "ARMV8SVE"),
    "arm64": ("ARMV8", "CORTEXA57", "NEOVERSEN1", "VORTEX"),
}
"""Names that are tried, by machine; those of small and old cores are never the best."""

_LIMIT = 120.0  # seconds of an answer: at the start, NumPy is imported and operands are made
_HOPELESS = 1.5  # a core type that takes so much longer than the best one in its first turn gets no other
_NAME_FUNCTIONS = tuple(
    f"{first}openblas_get_corename{last}" for first in ("", "scipy_") for last in ("", "64_", "_64")
)
_FAR = 1e300  # an error that is no number
_log = logging.getLogger(__name__)


class CoreTypePlayer:
    """A child, once it has a product to compute; ``error``: of its result, relative to the tolerance."""

    def __init__(self, core_type: str, worker: Worker, error: float) -> None:
        self.core_type, self.error = core_type, error
        self._worker = worker

    def turn(self) -> list[float]:
        """Seconds of each product. Raises RuntimeError where the child fails."""
        try:
            times: list[float] = self._worker.ask({"action": "turn"}, _LIMIT)["seconds"]
        except (TimeoutError, WorkerDied) as error:
            raise RuntimeError(f"OpenBLAS as {self.core_type} failed: {error}") from error
        return times


class CoreTypes:
    """The children; a context manager. They start at the first product and serve all that follow."""

    def __init__(self, names: tuple[str, ...] | None = None) -> None:
        self._names = CORE_TYPES.get(platform.machine(), ()) if names is None else names
        self._workers: dict[str, Worker] | None = None

    def __enter__(self) -> CoreTypes:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in (self._workers or {}).values():
            worker.close()
        self._workers = None

    @property
    def found(self) -> tuple[str, ...]:
        """What the library has, as it names it."""
        return tuple(self._started())

    def players(self, problem: Problem) -> list[CoreTypePlayer]:
        """Those core types that could be the fastest for a problem, by one turn of each."""
        sizes = {"m": problem.m, "n": problem.n, "k": problem.k, "batch": problem.batch}
        return self._fastest({"action": "prepare", "dtype": problem.dtype, **sizes})

    def players_of(self, maker: str, *arguments: int | str) -> list[CoreTypePlayer]:
        """As `players`, for the `Call` and its check that a function makes of these; ``maker``: "module:function"."""
        return self._fastest({"action": "make", "maker": maker, "arguments": arguments})

    def _fastest(self, request: dict[str, Any]) -> list[CoreTypePlayer]:
        first: list[tuple[float, CoreTypePlayer]] = []
        for core_type, worker in list(self._started().items()):
            try:
                error = float(worker.ask(request, _LIMIT)["error"])
                player = CoreTypePlayer(core_type, worker, error)
                first.append((statistics.median(player.turn()), player))
            except (RuntimeError, TimeoutError, WorkerDied) as error:  # an instruction that the processor does not have
                _log.info("OpenBLAS as %s: %s", core_type, error)
                worker.close()
                self._started().pop(core_type)
        best = min((seconds for seconds, _ in first), default=0.0)
        return [player for seconds, player in first if seconds <= _HOPELESS * best]

    def _started(self) -> dict[str, Worker]:
        if self._workers is None:
            self._workers = {}
            for name in self._names:
                worker = Worker(__name__, "answer", {"OPENBLAS_CORETYPE": name})
                try:
                    real = worker.ask({"action": "name"}, _LIMIT)["name"]
                except (TimeoutError, WorkerDied) as error:
                    _log.info("OpenBLAS as %s: %s", name, error)
                    continue
                if real is None or real in self._workers:  # not OpenBLAS, or one that is there
                    worker.close()
                else:
                    self._workers[real] = worker
        return self._workers


@cache
def shared() -> CoreTypes:
    """This process's children, which end with it."""
    found = CoreTypes()
    atexit.register(found.__exit__)
    return found


# in the child --------------------------------------------------------------------------------------------------------

_held: dict[str, Call] = {}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """What a child answers: its core type's name, the error of a product that is ready, or the seconds of a turn."""
    if request["action"] == "name":
        return {"name": core_name()}
    if request["action"] == "turn":
        return {"seconds": take_turn(_held["call"].product)}
    if request["action"] == "make":
        module, _, name = request["maker"].partition(":")
        return _first(*getattr(importlib.import_module(module), name)(*request["arguments"]))
    generator = np.random.default_rng(0)
    batch = (request["batch"],) if request["batch"] > 1 else ()
    a, b = (
        _random(generator, (*batch, request[rows], request[columns]), request["dtype"])
        for rows, columns in ("mk", "kn")
    )
    problem = Problem(**{name: request[name] for name in ("m", "n", "k", "batch", "dtype")})
    product: dict[str, Any] = {}

    def multiply() -> None:
        product["c"] = np.matmul(a, b)

    return _first(Call(enqueue=multiply, fetch=lambda: product["c"]), checker(problem, a, b))


def _first(call: Call, check: Callable[[Any], float]) -> dict[str, Any]:
    """The error of a first call, which is held for the turns that follow."""
    _held["call"] = call
    call.product()
    assert call.fetch is not None
    error = check(call.fetch())
    return {"error": error if math.isfinite(error) else _FAR}


def _random(generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    made = generator.standard_normal(shape, np.float64 if dtype in ("float64", "complex128") else np.float32)
    return (made + 1j * made[::-1]).astype(dtype) if dtype.startswith("complex") else made


def core_name() -> str | None:
    """The core type that this process's OpenBLAS uses, by its own word; None where NumPy has another library."""
    for path in _libraries():
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        for name in _NAME_FUNCTIONS:
            function = getattr(library, name, None)
            if function is not None:
                function.restype = ctypes.c_char_p
                found: bytes = function()
                return found.decode()
    return None


def _libraries() -> list[str]:
    """Files of OpenBLAS that this process has loaded, or that lie beside NumPy."""
    np.matmul(np.ones((2, 2)), np.ones((2, 2)))  # it is loaded now
    if platform.system() == "Linux":
        lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
        paths = [line.split(maxsplit=5)[5] for line in lines if "openblas" in line.lower()]
        return list(dict.fromkeys(paths))
    folders = (Path(np.__file__).parent / ".dylibs", Path(np.__file__).parent.parent / "numpy.libs")
    return [str(path) for folder in folders for path in sorted(folder.glob("*openblas*"))]


__all__ = ["CORE_TYPES", "CoreTypePlayer", "CoreTypes", "answer", "core_name", "shared"]

"""The trials of a device. Each is one entry of the journal, so that what ends the process is left out the next time."""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from portagpu.backends.journal import Journal
from portagpu.backends.sycl.kernels import Kernel
from portagpu.backends.sycl.library import SyclError
from portagpu.backends.sycl.memory import LocalMemory
from portagpu.backends.sycl.probing import kernels
from portagpu.backends.sycl.probing.workbench import Workbench

Answers = Mapping[str, int | float | bool | str]
_GROUP = 64
_ITEMS = 4 * _GROUP
_MODEST = 32 * 1024  # bytes of local memory that every device has
_TYPES = {"float": np.float32, "double": np.float64, "sycl::half": np.float16}
_HEADERS = {"sycl::half": ("half_type",)}
_CHAINS, _ROUNDS = 32, 2000


def run_trials(bench: Workbench, journal: Journal, facts: Mapping[str, str]) -> Answers:
    """What works on a device. Raises `SyclError` where the simplest kernel does not."""

    def trial(name: str, attempt: object) -> bool:
        assert callable(attempt)
        return journal.trial(name, lambda: bool(attempt()), False)

    preferred = journal.trial("basic", lambda: _basic(bench), 0)
    if not preferred:
        raise SyclError("the simplest kernel does not run")
    fp64 = trial("fp64", lambda: _arithmetic(bench, "double"))
    fp16 = trial("fp16", lambda: _arithmetic(bench, "sycl::half"))
    has_long = facts.get("atomic64") == "1"
    size = journal.trial("subgroup", lambda: _subgroup(bench, None), 0)
    listed = [int(n) for n in facts.get("subgroup_sizes", "").split()]
    sizes = [n for n in listed if trial(f"subgroup_{n}", lambda n=n: _subgroup(bench, n) == n)]
    local = int(facts.get("local_memory", "0"))
    static = [n for n in (local, _MODEST) if trial(f"static_{n}", lambda n=n: _local(bench, n, static=True))]
    given = [n for n in (local, _MODEST) if trial(f"argument_{n}", lambda n=n: _local(bench, n, static=False))]
    return {
        "preferred_multiple": preferred,
        "fp64": fp64,
        "fp16": fp16,
        "fp16_functions": fp16 and trial("fp16_functions", lambda: _half_functions(bench)),
        "correctly_rounded": trial("correctly_rounded", lambda: _divisions(bench)),
        "int64_atomics": has_long and trial("int64_atomics", lambda: _atomics(bench, "long", np.int64, local=False)),
        "float_add_global": trial("float_add_global", lambda: _atomics(bench, "float", np.float32, local=False)),
        "float_add_local": trial("float_add_local", lambda: _atomics(bench, "float", np.float32, local=True)),
        "double_add_global": fp64
        and trial("double_add_global", lambda: _atomics(bench, "double", np.float64, local=False)),
        "double_add_local": fp64
        and trial("double_add_local", lambda: _atomics(bench, "double", np.float64, local=True)),
        "subgroup_size": size,
        "subgroup_sizes": " ".join(map(str, sizes)),
        "local_static": max(static, default=0),
        "local_argument": max(given, default=0),
        "printf": trial("printf", lambda: _prints(bench)),
        "gflops": journal.trial("gflops", lambda: _rate(bench, "float", facts), 0.0),
        "gflops_double": journal.trial("gflops_double", lambda: _rate(bench, "double", facts), 0.0) if fp64 else 0.0,
    }


def _basic(bench: Workbench) -> int:
    """The preferred multiple of a block's threads; 0 where the kernel does not run."""
    x = np.arange(_ITEMS, dtype=np.int32)
    program = bench.build(kernels.BASIC)
    bench.run(program, _ITEMS, _GROUP, x)
    if not np.array_equal(x, 2 * np.arange(_ITEMS) + 1):
        return 0
    kernel = Kernel(bench.library, program, "trial", [None])
    return max(1, int(bench.library.pg_preferred_multiple(kernel.address, bench.device.address)))


def _arithmetic(bench: Workbench, kind: str) -> bool:
    x = np.linspace(-4, 4, _ITEMS).astype(_TYPES[kind])
    wanted = x.astype(np.float64) ** 2 + 0.5
    source = kernels.text(kernels.ARITHMETIC.format(type=kind), *_HEADERS.get(kind, ()))
    return bench.try_out(source, _ITEMS, _GROUP, x) and np.allclose(x, wanted, rtol=2 * np.finfo(x.dtype).eps)


def _half_functions(bench: Workbench) -> bool:
    x = np.full(_ITEMS, 4, np.float16)
    source = kernels.text(kernels.HALF_FUNCTIONS, "half_type", "vector", "builtins", "bit_cast")
    return bench.try_out(source, _ITEMS, _GROUP, x) and bool((x == 3).all())


def _divisions(bench: Workbench) -> bool:
    numbers = np.random.default_rng(3).uniform(0.1, 10, (2, 64 * _ITEMS)).astype(np.float32)
    x, y = numbers[0].copy(), numbers[1].copy()
    wanted = np.sqrt(y) / x
    source = kernels.text(kernels.DIVISIONS, "builtins")
    return bench.try_out(source, 64 * _ITEMS, _GROUP, x, y) and np.array_equal(y, wanted)


def _atomics(bench: Workbench, kind: str, dtype: type, *, local: bool) -> bool:
    body = (kernels.LOCAL_ATOMIC_ADD if local else kernels.ATOMIC_ADD).format(type=kind)
    headers = ("ext/oneapi/work_group_static", "group_barrier") if local else ()
    x: np.ndarray[Any, Any] = np.zeros(_ITEMS if local else 1, dtype)
    works = bench.try_out(kernels.text(body, "atomic_ref", *headers), _ITEMS, _GROUP, x)
    return works and bool((x == (_GROUP if local else _ITEMS)).all())


def _subgroup(bench: Workbench, size: int | None) -> int:
    """Lanes of a subgroup, of a kernel that asks for so many; 0 where exchanging values does not work."""
    attribute = "" if size is None else f"[[sycl::reqd_sub_group_size({size})]]"
    body = kernels.SUBGROUPS.format(attribute=attribute)
    x = np.zeros(_ITEMS, np.int32)
    if not bench.try_out(kernels.text(body, "sub_group", "group_algorithm"), _ITEMS, _GROUP, x):
        return 0
    found = int(x[0]) // 1000
    lanes = np.arange(_ITEMS) % max(1, min(found, _GROUP))
    return found if np.array_equal(x % 1000, (lanes + 1) % max(1, found)) else 0


def _local(bench: Workbench, size: int, *, static: bool) -> bool:
    words = size // 4
    if words < _GROUP:
        return False
    x = np.zeros(_ITEMS, np.int32)
    if static:
        body = kernels.STATIC_LOCAL.format(words=words)
        source = kernels.text(body, "ext/oneapi/work_group_static", "group_barrier")
        works = bench.try_out(source, _ITEMS, _GROUP, x)
    else:
        source = kernels.text(kernels.LOCAL_ARGUMENT, "accessor", "vector", "group_barrier")
        works = bench.try_out(source, _ITEMS, _GROUP, x, LocalMemory(size), np.int32(words))
    lanes = np.arange(_ITEMS) % _GROUP
    return works and np.array_equal(x, words - 1 - lanes + _GROUP - 1 - lanes)


def _prints(bench: Workbench) -> bool:
    """With standard output caught: for a process of its own."""
    kept = os.dup(1)
    with tempfile.TemporaryFile() as caught:
        os.dup2(caught.fileno(), 1)
        try:
            source = kernels.text(kernels.PRINTING, "ext/oneapi/experimental/builtins")
            bench.try_out(source, 1, 1, np.array([42], np.int32))
            ctypes.CDLL(None).fflush(None)
        finally:
            os.dup2(kept, 1)
            os.close(kept)
        caught.seek(0)
        return b"portagpu 42 end" in caught.read()


def _rate(bench: Workbench, kind: str, facts: Mapping[str, str]) -> float:
    """GFLOP/s of multiply-adds in registers."""
    items = 64 * _GROUP * max(1, int(facts.get("compute_units", "1")))
    program = bench.build(kernels.text(kernels.RATE.format(type=kind, chains=_CHAINS)))
    x = np.full(items, 0.5, _TYPES[kind])
    seconds = min(bench.run(program, items, _GROUP, x.copy(), np.int32(_ROUNDS)) for _ in range(3))
    return 2e-9 * items * _CHAINS * _ROUNDS / max(seconds, 1e-9)

"""The trials of a device. Each is one entry of the journal, so that what ends the process is left out the next time."""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from portagpu.backends.journal import Journal
from portagpu.backends.sycl.library import SyclError
from portagpu.backends.sycl.memory import LocalMemory
from portagpu.backends.sycl.probing import kernels
from portagpu.backends.sycl.probing.kernels import Trial
from portagpu.backends.sycl.probing.matrix_units import UNITS, listed_units
from portagpu.backends.sycl.probing.workbench import Workbench

Answers = Mapping[str, int | float | bool | str]
_GROUP = 64
_ITEMS = 4 * _GROUP
_MODEST = 32 * 1024  # bytes of local memory that every device has
_TYPES: dict[str, Any] = {"float": np.float32, "double": np.float64, "sycl::half": np.float16, "long": np.int64}
_ROUNDS = 2000


def run_trials(bench: Workbench, journal: Journal, facts: Mapping[str, str]) -> Answers:
    """What works on a device. Raises `SyclError` where the simplest kernel does not."""
    preferred = journal.trial("basic", partial(_basic, bench), 0)
    if not preferred:
        raise SyclError("the simplest kernel does not run")
    local, units = int(facts.get("local_memory", "0")), max(1, int(facts.get("compute_units", "1")))
    sizes = [int(n) for n in facts.get("subgroup_sizes", "").split()]
    listed = _listed(facts, sizes, local)
    journal.trial("together", partial(_compiles_together, bench, listed), False)

    def works(name: str, attempt: Callable[[str, Trial], Any], *, where: bool = True) -> bool:
        return where and journal.trial(name, lambda: bool(attempt(name, listed[name])), False)

    def adds(name: str, kind: str, *, where: bool = True) -> bool:
        return works(name, partial(_atomics, bench, kind, name.endswith("local")), where=where)

    fp64 = works("fp64", partial(_arithmetic, bench, "double"), where="fp64" in listed)
    fp16 = works("fp16", partial(_arithmetic, bench, "sycl::half"), where="fp16" in listed)
    subgroup = journal.trial("subgroup", lambda: _subgroup(bench, "subgroup", listed["subgroup"]), 0)
    found = [n for n in sizes if works(f"subgroup_{n}", partial(_has_subgroups, bench, n))]
    static = [n for n in (local, _MODEST) if works(f"static_{n}", partial(_static_local, bench, n))]
    given = [n for n in (local, _MODEST) if journal.trial(f"argument_{n}", partial(_local_argument, bench, n), False)]
    matrices = [
        unit for unit in listed_units(facts, min(found, default=0)) if _multiplies(bench, journal, unit, min(found))
    ]
    return {
        "preferred_multiple": preferred,
        "fp64": fp64,
        "fp16": fp16,
        "fp16_functions": works("fp16_functions", partial(_half_functions, bench), where=fp16),
        "correctly_rounded": works("correctly_rounded", partial(_divisions, bench)),
        "int64_atomics": adds("int64_global", "long", where="int64_global" in listed),
        "float_add_global": adds("float_global", "float"),
        "float_add_local": adds("float_local", "float"),
        "double_add_global": adds("double_global", "double", where=fp64),
        "double_add_local": adds("double_local", "double", where=fp64),
        "subgroup_size": subgroup,
        "subgroup_sizes": " ".join(map(str, found)),
        "subgroup_block_io": subgroup > 0 and works("blocks", partial(_blocks, bench)),
        "matrix_units": " ".join(matrices),
        "local_static": max(static, default=0),
        "local_argument": max(given, default=0),
        "printf": works("printf", partial(_prints, bench)),
        "gflops": journal.trial("gflops", partial(multiply_adds, bench, "float", units), 0.0),
        "gflops_double": journal.trial("gflops_double", partial(multiply_adds, bench, "double", units), 0.0)
        if fp64
        else 0.0,
    }


def _listed(facts: Mapping[str, str], sizes: list[int], local: int) -> dict[str, Trial]:
    """The kernels that may run on a device, by what it tells of itself."""
    found = {
        "correctly_rounded": kernels.DIVISIONS,
        "float_global": kernels.atomic_add("float", local=False),
        "float_local": kernels.atomic_add("float", local=True),
        "subgroup": kernels.subgroups(None),
        "blocks": kernels.BLOCKS,
        "printf": kernels.PRINTING,
        "argument": kernels.LOCAL_ARGUMENT,
        "rate_float": kernels.rate("float"),
        **{f"subgroup_{n}": kernels.subgroups(n) for n in sizes},
        **{f"static_{n}": kernels.static_local(max(1, n // 4)) for n in (local, _MODEST)},
    }
    if facts.get("fp64") == "1":
        found |= {
            "fp64": kernels.arithmetic("double"),
            "double_global": kernels.atomic_add("double", local=False),
            "double_local": kernels.atomic_add("double", local=True),
            "rate_double": kernels.rate("double"),
        }
    if facts.get("fp16") == "1":
        found |= {"fp16": kernels.arithmetic("sycl::half"), "fp16_functions": kernels.HALF_FUNCTIONS}
    if facts.get("atomic64") == "1":
        found["int64_global"] = kernels.atomic_add("long", local=False)
    return found


def _compiles_together(bench: Workbench, listed: Mapping[str, Trial]) -> bool:
    try:
        bench.build_together(listed)
    except SyclError:
        return False
    return True


def _basic(bench: Workbench) -> int:
    """The preferred multiple of a block's threads; 0 where the kernel does not run."""
    x = np.arange(_ITEMS, dtype=np.int32)
    bench.run("basic", kernels.BASIC, _ITEMS, _GROUP, x)
    if not np.array_equal(x, 2 * np.arange(_ITEMS) + 1):
        return 0
    kernel = bench.new_kernel("basic", kernels.BASIC, [None])
    return max(1, int(bench.library.pg_preferred_multiple(kernel.address, bench.device.address)))


def _arithmetic(bench: Workbench, kind: str, name: str, trial: Trial) -> bool:
    x = np.linspace(-4, 4, _ITEMS).astype(_TYPES[kind])
    wanted = x.astype(np.float64) ** 2 + 0.5
    return bench.try_out(name, trial, _ITEMS, _GROUP, x) and np.allclose(x, wanted, rtol=2 * np.finfo(x.dtype).eps)


def _half_functions(bench: Workbench, name: str, trial: Trial) -> bool:
    x = np.full(_ITEMS, 4, np.float16)
    return bench.try_out(name, trial, _ITEMS, _GROUP, x) and bool((x == 3).all())


def _divisions(bench: Workbench, name: str, trial: Trial) -> bool:
    numbers = np.random.default_rng(3).uniform(0.1, 10, (2, 64 * _ITEMS)).astype(np.float32)
    x, y = numbers[0].copy(), numbers[1].copy()
    wanted = np.sqrt(y) / x
    return bench.try_out(name, trial, 64 * _ITEMS, _GROUP, x, y) and np.array_equal(y, wanted)


def _atomics(bench: Workbench, kind: str, local: bool, name: str, trial: Trial) -> bool:
    x: np.ndarray[Any, Any] = np.zeros(_ITEMS if local else 1, _TYPES[kind])
    return bench.try_out(name, trial, _ITEMS, _GROUP, x) and bool((x == (_GROUP if local else _ITEMS)).all())


def _subgroup(bench: Workbench, name: str, trial: Trial) -> int:
    """Lanes of a subgroup; 0 where exchanging values does not work."""
    x = np.zeros(_ITEMS, np.int32)
    if not bench.try_out(name, trial, _ITEMS, _GROUP, x):
        return 0
    found = int(x[0]) // 1000
    lanes = np.arange(_ITEMS) % max(1, min(found, _GROUP))
    return found if np.array_equal(x % 1000, (lanes + 1) % max(1, found)) else 0


def _has_subgroups(bench: Workbench, size: int, name: str, trial: Trial) -> bool:
    return _subgroup(bench, name, trial) == size


def _blocks(bench: Workbench, name: str, trial: Trial) -> bool:
    """Whether a subgroup loads and stores consecutive elements, lane after lane."""
    x = np.arange(2 * _ITEMS, dtype=np.uint32) * np.uint32(2654435761)
    wanted = x.copy()
    if not bench.try_out(name, trial, _ITEMS, _GROUP, x):
        return False
    changed = np.flatnonzero(x != wanted)
    size = int(changed[0]) if changed.size else 0  # the second elements follow those of all lanes
    return size > 0 and np.array_equal(x - wanted, np.arange(2 * _ITEMS) // size % 2)


def _multiplies(bench: Workbench, journal: Journal, name: str, size: int) -> bool:
    """Whether a kind of matrix units is there, by a program of its own: what lacks the functions does not link it."""
    unit = UNITS[name]
    trial, x = kernels.matrix_product(unit.function, size), np.zeros(size, np.float32)
    return journal.trial(
        name, lambda: bench.try_out(name, trial, size, size, x) and bool((x == unit.depth).all()), False
    )


def _static_local(bench: Workbench, size: int, name: str, trial: Trial) -> bool:
    x = np.zeros(_ITEMS, np.int32)
    return size // 4 >= _GROUP and bench.try_out(name, trial, _ITEMS, _GROUP, x) and _is_reversed(x, size // 4)


def _local_argument(bench: Workbench, size: int) -> bool:
    x, words = np.zeros(_ITEMS, np.int32), size // 4
    values = x, LocalMemory(size), np.int32(words)
    works = words >= _GROUP and bench.try_out("argument", kernels.LOCAL_ARGUMENT, _ITEMS, _GROUP, *values)
    return works and _is_reversed(x, words)


def _is_reversed(x: np.ndarray[Any, Any], words: int) -> bool:
    lanes = np.arange(_ITEMS) % _GROUP
    return np.array_equal(x, words - 1 - lanes + _GROUP - 1 - lanes)


def _prints(bench: Workbench, name: str, trial: Trial) -> bool:
    """With standard output caught: for a process of its own."""
    kept = os.dup(1)
    with tempfile.TemporaryFile() as caught:
        os.dup2(caught.fileno(), 1)
        try:
            bench.try_out(name, trial, 1, 1, np.array([42], np.int32))
            ctypes.CDLL(None).fflush(None)
        finally:
            os.dup2(kept, 1)
            os.close(kept)
        caught.seek(0)
        return b"portagpu 42 end" in caught.read()


def multiply_adds(bench: Workbench, kind: str, units: int) -> float:
    """GFLOP/s of multiply-adds in registers, of so many compute units. Raises `SyclError`."""
    items = 64 * _GROUP * units
    x = np.full(items, 0.5, _TYPES[kind])
    seconds = bench.run(f"rate_{kind}", kernels.rate(kind), items, _GROUP, x, np.int32(_ROUNDS), times=3)
    return 2e-9 * items * kernels.CHAINS * _ROUNDS / max(seconds, 1e-9)

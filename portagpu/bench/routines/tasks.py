"""The routines by the names that the command line takes, with the sizes that devices are measured with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from portagpu.bench.method.turns import Call
from portagpu.bench.routines import batches, factorisations, level1, level2, level2_packed, level3
from portagpu.bench.routines.task import LETTERS, Check, Task, scipy_call
from portagpu.device import DeviceRecord, DeviceType

Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """``make(n, dtype)``, and what is measured by default: sizes on GPUs and CPUs, and small ones; dtypes."""

    make: Callable[[int, str], Task]
    on_gpus: Sizes
    on_cpus: Sizes
    small: Sizes
    dtypes: tuple[str, ...] = tuple(LETTERS)
    only_on_gpus: tuple[str, ...] = ()

    def sizes(self, device: DeviceRecord, *, small: bool = False) -> Sizes:
        """The sizes for a device."""
        return self.small if small else self.on_gpus if _is_gpu(device) else self.on_cpus

    def dtypes_on(self, device: DeviceRecord, wanted: tuple[str, ...] = ()) -> tuple[str, ...]:
        """The dtypes for a device; those that are wanted and served, if any are named."""
        served = (*self.only_on_gpus, *self.dtypes)
        return tuple(d for d in served if d in (wanted or (served if _is_gpu(device) else self.dtypes)))


def _is_gpu(device: DeviceRecord) -> bool:
    return device.device_type is not DeviceType.CPU


_VECTORS = (level1.axpy, level1.scal, level1.copy, level1.dot, level1.nrm2, level1.asum, level1.amax, level1.swap)
_MATRIX_VECTOR = {
    "gemv": level2.gemv,
    "gemv-t": level2.gemv_transposed,
    "ger": level2.ger,
    "symv": level2.symv,
    "trmv": level2.trmv,
    "trsv": level2.trsv,
    "syr": level2.syr,
    "syr2": level2.syr2,
    "spmv": level2_packed.spmv,
    "tpmv": level2_packed.tpmv,
    "spr": level2_packed.spr,
    "spr2": level2_packed.spr2,
}
_BANDS = (level2_packed.gbmv, level2_packed.sbmv, level2_packed.tbmv)
_MATRICES = (level3.gemm, level3.symm, level3.syrk, level3.syr2k, level3.trmm, level3.trsm)
_FACTORISATIONS = (factorisations.potrf, factorisations.getrf)
_BATCHES = {
    "potrf-batch": batches.potrf_batch,
    "getrf-batch": batches.getrf_batch,
    "trsm-batch": batches.trsm_batch,
}

TASKS: dict[str, Entry] = {
    **{m.__name__: Entry(make=m, on_gpus=(1 << 26,), on_cpus=(1 << 24,), small=(1000,)) for m in _VECTORS},
    **{name: Entry(make=make, on_gpus=(8192,), on_cpus=(2048,), small=(90,)) for name, make in _MATRIX_VECTOR.items()},
    **{m.__name__: Entry(make=m, on_gpus=(1 << 20,), on_cpus=(1 << 16,), small=(90,)) for m in _BANDS},
    **{m.__name__: Entry(make=m, on_gpus=(4096,), on_cpus=(2048,), small=(90,)) for m in _MATRICES},
    **{m.__name__: Entry(make=m, on_gpus=(8192,), on_cpus=(2048,), small=(90,)) for m in _FACTORISATIONS},
    **{
        name: Entry(make=make, on_gpus=(16, 32, 64), on_cpus=(16, 32, 64), small=(5,))
        for name, make in _BATCHES.items()
    },
}
"""The routines by name."""

DTYPES = tuple(dict.fromkeys(dtype for entry in TASKS.values() for dtype in (*entry.dtypes, *entry.only_on_gpus)))
"""Those that some routine is measured in."""

PEER_IN_A_CHILD = f"{__name__}:scipy_call_for"
"""SciPy's call of a routine, for `portagpu.bench.peers.core_types`."""


def scipy_call_for(name: str, n: int, dtype: str) -> tuple[Call, Check]:
    """SciPy's call of a routine by its name in `TASKS`, and the check of its result."""
    made = TASKS[name].make(n, dtype)
    return scipy_call(made), made.error


__all__ = ["DTYPES", "PEER_IN_A_CHILD", "TASKS", "Entry", "scipy_call_for"]

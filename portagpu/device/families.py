"""Device classes: on which machines a measured result may serve.

One of the modules in which vendors' names may appear.
"""

from __future__ import annotations

from pathlib import Path

from portagpu.device.capabilities import Capabilities, DeviceType
from portagpu.device.record import DeviceRecord

_SHARED_BYTES = 4 << 30  # that a driver may keep for the processes of a search

# GPUs whose shipped results serve others with the same processors, by the architecture of their PTX and compute units:
# an H200, a GH200 or an H100 NVL is this one with other memory
_MEASURED_PROCESSORS = {((9, 0), 132): "NVIDIA H100 80GB HBM3"}

# driver families by a part of the platform's name, lower case
_FAMILIES = (
    ("portable computing language", "PoCL"),
    ("intel(r) opencl graphics", "Intel GPU runtime"),
    ("intel(r) opencl", "Intel CPU runtime"),
    ("nvidia", "NVIDIA"),
    ("amd accelerated", "AMD"),
    ("rusticl", "Rusticl"),
    ("apple", "Apple"),
)


def driver_family(platform: str) -> str:
    """The driver's family, without its version; the platform's own name for drivers that the table does not know."""
    text = platform.lower()
    return next((family for part, family in _FAMILIES if part in text), platform)


def vector_class(caps: Capabilities) -> str:
    """What CPUs have in common: the width of their vector registers."""
    return {16: "AVX-512", 8: "AVX2"}.get(caps.vector_width_float, f"{caps.vector_width_float * 32}-bit")


def device_class(record: DeviceRecord) -> str:
    """The class of a device: a GPU's name or a CPU's vectors and cores, and the driver's family, without versions.

    ``NVIDIA H100 80GB HBM3 under NVIDIA``, ``AVX-512 CPU of 2 cores under PoCL``. Numbers of cores are rounded up to a
    power of two: work that is shared out among two does not keep sixty-four busy.
    """
    family = driver_family(record.platform)
    if record.device_type is DeviceType.CPU and record.capabilities is not None:
        cores = 1 << (max(1, record.capabilities.compute_units) - 1).bit_length()
        return f"{vector_class(record.capabilities)} CPU of {cores} core{'s' * (cores > 1)} under {family}"
    return f"{record.name} under {family}"


def device_classes(record: DeviceRecord) -> tuple[str, ...]:
    """The class of a device, then that of another with the same processors, whose results serve beside its own."""
    own, caps = device_class(record), record.capabilities
    if caps is None or record.device_type is not DeviceType.GPU:
        return (own,)
    measured = _MEASURED_PROCESSORS.get((caps.ptx_target, caps.compute_units))
    kin = f"{measured} under {driver_family(record.platform)}"
    return (own,) if measured is None or kin == own else (own, kin)


def trial_environment(shared: Path | None = None) -> dict[str, str]:
    """Environment of processes that compile many kernels once: drivers keep no binaries of them, and so tell about
    registers each time, and none compiles once more for a binary. NumPy checks results with one thread: its threads
    would go on spinning and disturb the timing.

    ``shared``: a folder, empty at first, in which drivers keep what one process compiles for the others.
    """
    threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    found = {"PORTAGPU_BINARIES": "0", **dict.fromkeys(threads, "1")}
    if shared is None:
        return {"CUDA_CACHE_DISABLE": "1", **found}
    return {
        "CUDA_CACHE_DISABLE": "0",
        "CUDA_CACHE_PATH": str(shared),
        "CUDA_CACHE_MAXSIZE": str(_SHARED_BYTES),
        **found,
    }

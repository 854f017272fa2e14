"""What is known of an architecture that kernels are compiled for without its hardware."""

from __future__ import annotations

from dataclasses import dataclass

from portagpu.backends.offline import OfflineFigures, Residency
from portagpu.backends.opencl.offline.residency import Core, residency
from portagpu.device.capabilities import Capabilities, DeviceType

_PLATFORMS = {
    "amdgcn": "AMD Accelerated Parallel Processing",
    "ocloc": "Intel(R) OpenCL Graphics",
    "nvptx": "NVIDIA CUDA",
    "cpu": "Portable Computing Language",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An architecture that kernels can be compiled for without its hardware.

    ``name`` is what its compiler calls it; ``compiler`` is a key of `offline.compilers.COMPILERS`.
    ``math_libraries``: the names under which the compiler's library of mathematical functions knows the architecture,
    best first (the functions are the same on neighbours). ``options``: what tells clang the architecture, where that is
    not its name. ``core``: what subgroups share, None for CPUs.
    """

    name: str
    title: str
    compiler: str
    capabilities: Capabilities
    math_libraries: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    core: Core | None = None

    @property
    def backend(self) -> str:
        """The back end that compiles for it."""
        return "opencl"

    @property
    def platform(self) -> str:
        """What its usual driver calls itself."""
        return _PLATFORMS[self.compiler]

    @property
    def is_gpu(self) -> bool:
        """Whether registers are all that its threads have: a CPU's spilled ones stay in its caches."""
        return self.capabilities.device_type is DeviceType.GPU

    def residency(self, figures: OfflineFigures, block: int | None) -> Residency | None:
        """What is resident at once of blocks of so many threads; see `OfflineTarget`."""
        return None if self.core is None or figures.registers is None else residency(self.core, figures, block)

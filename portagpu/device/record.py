"""A device as the package knows it, whatever its back end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from portagpu.device.capabilities import Capabilities, DeviceType
from portagpu.device.cuda_names import CudaNames

_FIRST = "opencl"  # whose devices have keys and numbers without a name before them


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class DeviceRecord(CudaNames):
    """A device: what it is, what it can do, or why it does not work and what helps.

    ``index`` is its number among those of its back end, which it keeps while another driver fails (-1 for a device
    that only the user's context knows). ``capabilities`` is None exactly if ``problem`` is not. ``native`` is the
    device in the terms of its back end, whose name is ``backend``. ``version`` is what the driver says of the
    interface that it offers. ``told_capability``: CUDA's compute capability, where the driver tells it;
    ``corrects_errors``: of its memory.
    """

    index: int
    name: str
    vendor: str
    platform: str
    driver_version: str
    device_type: DeviceType
    native: Any
    capabilities: Capabilities | None
    problem: str | None
    remedy: str | None
    backend: str
    version: str = ""
    told_capability: tuple[int, int] | None = None
    corrects_errors: bool = False

    def __repr__(self) -> str:
        return f"<portagpu device {self.label}: {self.name} ({self.platform})>"

    @property
    def works(self) -> bool:
        """Whether a kernel ran on it."""
        return self.capabilities is not None

    @property
    def key(self) -> str:
        """Stable identity of device and driver, for caches and stores: ``platform|device|driver_version``, after the
        back end's name and a colon where that is not OpenCL: other compilers make other programs of one text.
        """
        text = f"{self.platform}|{self.name}|{self.driver_version}"
        return text if self.backend == _FIRST else f"{self.backend}:{text}"

    @property
    def selector(self) -> str:
        """What chooses it in any process of this machine, whatever that one's back end is: ``"sycl:0"``."""
        return f"{self.backend}:{self.index}"

    @property
    def label(self) -> str:
        """Its number as people see it, after the back end's name where that is not OpenCL."""
        return str(self.index) if self.backend == _FIRST else self.selector

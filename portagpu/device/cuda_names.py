"""Device attributes under CUDA's names, for `cuda.get_current_device()`."""

from __future__ import annotations

import uuid
from typing import Any, Protocol

from portagpu.device.capabilities import Capabilities
from portagpu.errors import DeviceSelectionError
from portagpu.ir.types import WARP

MAX_GRID_DIM = 2**31 - 1  # blocks; OpenCL has no limit of its own below that of 64-bit sizes, CUDA has this one
_FEATURE_LEVEL = (7, 0)
_NAMESPACE = uuid.UUID("5f2b1c1e-6f0e-5d0b-9f55-9f3a7c0c7a10")


class _Record(Protocol):
    """What the names are computed from."""

    @property
    def index(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def vendor(self) -> str: ...
    @property
    def platform(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def problem(self) -> str | None: ...
    @property
    def remedy(self) -> str | None: ...
    @property
    def native(self) -> Any: ...
    @property
    def told_capability(self) -> tuple[int, int] | None: ...
    @property
    def corrects_errors(self) -> bool: ...
    @property
    def capabilities(self) -> Capabilities | None: ...
    @property
    def compute_capability(self) -> tuple[int, int]: ...
    @property
    def MAX_SHARED_MEMORY_PER_BLOCK(self) -> int: ...


class CudaNames:
    """CUDA's names of a device's facts, computed from `Capabilities`; docs/devices.md says what each means where.

    On a device that does not work the capitals raise `DeviceSelectionError`.
    """

    __slots__ = ()

    @property
    def cl_device(self: _Record) -> Any:
        """PyOpenCL's device, where OpenCL is the back end."""
        return self.native

    @property
    def id(self: _Record) -> int:
        """The number that `portagpu devices` shows and `cuda.select_device` takes."""
        return self.index

    @property
    def uuid(self: _Record) -> str:
        """A name-based UUID of device, driver version and index: the same in every process of this machine.

        OpenCL tells no hardware UUID that all drivers know, so it is not the one of the vendor's tools.
        """
        return f"GPU-{uuid.uuid5(_NAMESPACE, f'{self.key}|{self.index}')}"

    @property
    def compute_capability(self: _Record) -> tuple[int, int]:
        """(major, minor): CUDA's compute capability where the driver tells it.

        Elsewhere `_FEATURE_LEVEL`, the first one with all features that kernels can use on every device: programs ask
        for it to choose between features.
        """
        return self.told_capability or _FEATURE_LEVEL

    @property
    def MAX_THREADS_PER_BLOCK(self: _Record) -> int:
        """Threads of a block; a kernel that needs many registers may be allowed fewer."""
        return _facts(self).largest_block

    @property
    def MAX_BLOCK_DIM_X(self: _Record) -> int:
        """Largest x extent of a block."""
        return _facts(self).max_work_item_sizes[0]

    @property
    def MAX_BLOCK_DIM_Y(self: _Record) -> int:
        """Largest y extent of a block."""
        return _facts(self).max_work_item_sizes[1]

    @property
    def MAX_BLOCK_DIM_Z(self: _Record) -> int:
        """Largest z extent of a block."""
        return _facts(self).max_work_item_sizes[2]

    @property
    def MAX_GRID_DIM_X(self) -> int:
        """Largest x extent of a grid, in blocks."""
        return MAX_GRID_DIM

    @property
    def MAX_GRID_DIM_Y(self) -> int:
        """Largest y extent of a grid, in blocks."""
        return MAX_GRID_DIM

    @property
    def MAX_GRID_DIM_Z(self) -> int:
        """Largest z extent of a grid, in blocks."""
        return MAX_GRID_DIM

    @property
    def MAX_SHARED_MEMORY_PER_BLOCK(self: _Record) -> int:
        """Bytes of shared memory that a block can really have, static or dynamic."""
        caps = _facts(self)
        return max(caps.local_memory_static, caps.local_memory_argument)

    @property
    def WARP_SIZE(self) -> int:
        """What `cuda.warpsize` is in kernels: 32, also where other numbers of threads, or none, run in lockstep."""
        return WARP

    @property
    def MULTIPROCESSOR_COUNT(self: _Record) -> int:
        """Compute units: multiprocessors of a GPU, cores of a CPU."""
        return _facts(self).compute_units

    @property
    def CLOCK_RATE(self: _Record) -> int:
        """Highest clock in kHz, 0 where the driver does not tell."""
        return _facts(self).clock_mhz * 1000

    @property
    def TOTAL_MEMORY(self: _Record) -> int:
        """Bytes of device memory; on a CPU, of the host memory that its driver offers."""
        return _facts(self).global_memory

    @property
    def TOTAL_CONSTANT_MEMORY(self: _Record) -> int:
        """Bytes of constant memory that a kernel can use."""
        return _facts(self).constant_memory

    @property
    def COMPUTE_CAPABILITY_MAJOR(self: _Record) -> int:
        """The first number of `compute_capability`."""
        return self.compute_capability[0]

    @property
    def COMPUTE_CAPABILITY_MINOR(self: _Record) -> int:
        """The second number of `compute_capability`."""
        return self.compute_capability[1]

    @property
    def L2_CACHE_SIZE(self: _Record) -> int:
        """Bytes of the largest cache, 0 where there is none."""
        return _facts(self).global_cache

    @property
    def CAN_MAP_HOST_MEMORY(self) -> int:
        """1: kernels take `cuda.mapped_array` on every device."""
        return 1

    @property
    def UNIFIED_ADDRESSING(self) -> int:
        """0: OpenCL's buffers have no addresses that host and device share."""
        return 0

    @property
    def MAX_SHARED_MEMORY_PER_BLOCK_OPTIN(self: _Record) -> int:
        """As `MAX_SHARED_MEMORY_PER_BLOCK`, for which nothing has to be opted in."""
        return self.MAX_SHARED_MEMORY_PER_BLOCK

    @property
    def MAX_SHARED_MEMORY_PER_MULTIPROCESSOR(self: _Record) -> int:
        """Bytes of shared memory that the blocks of a compute unit have together, as far as OpenCL tells."""
        return self.MAX_SHARED_MEMORY_PER_BLOCK

    @property
    def MAX_THREADS_PER_MULTI_PROCESSOR(self: _Record) -> int:
        """Threads that a compute unit takes for certain: those of the largest block; GPUs may take more."""
        return _facts(self).largest_block

    @property
    def CONCURRENT_KERNELS(self) -> int:
        """1: kernels of several streams may run at the same time."""
        return 1

    @property
    def COOPERATIVE_LAUNCH(self) -> int:
        """1: the threads of a grid can wait for each other on every device."""
        return 1

    @property
    def MANAGED_MEMORY(self) -> int:
        """1: kernels take `cuda.managed_array` on every device."""
        return 1

    @property
    def ECC_ENABLED(self: _Record) -> int:
        """1 where the memory corrects errors, else 0."""
        return int(self.corrects_errors)

    @property
    def INTEGRATED(self: _Record) -> int:
        """1 where device and host share their memory, else 0."""
        return int(_facts(self).host_unified_memory)


def _facts(record: _Record) -> Capabilities:
    if record.capabilities is None:
        raise DeviceSelectionError(f"{record.name} does not work: {record.problem}", hint=record.remedy)
    return record.capabilities

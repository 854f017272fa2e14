"""The cards of CUDA: which there are, and the OpenCL device that each of them is, too.

What a card can do was found by trying on its OpenCL device; what differs under CUDA is told by CUDA.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from portagpu.backends.cuda import library as cu
from portagpu.backends.cuda.announcement import NAME
from portagpu.backends.cuda.library import CudaError, Library
from portagpu.backends.opencl.announcement import NAME as OPENCL
from portagpu.backends.opencl.intermediate import pci_address
from portagpu.device import sources
from portagpu.device.capabilities import Capabilities
from portagpu.device.record import DeviceRecord
from portagpu.device.registry import devices, discover
from portagpu.device.sources import Discovery
from portagpu.errors import DeviceSelectionError
from portagpu.settings import Settings

_CLUSTER, _WITH_CLUSTERS = 8, (9, 10)  # blocks that every such card runs together; compute capabilities
_SHARED_OPTIN, _GRID_X, _GRID_Y = 97, 5, 6  # device attributes
_opencl: dict[int, DeviceRecord] = {}  # by CUDA's numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncompiled:
    """A driver of CUDA's whose cards have no OpenCL device, which would compile for them."""

    library: str = "libcuda.so.1"
    problem: str | None = "none of its cards has an OpenCL device, whose driver compiles kernels"
    remedy: str | None = (
        "install the cards' OpenCL driver, libnvidia-opencl.so.1 (Debian: nvidia-opencl-icd; containers: the driver's"
        " capability `compute`); `portagpu doctor` tells what was found"
    )


def find(settings: Settings, *, fresh: bool, renumber: bool) -> Discovery:
    """List the cards; none where there is no driver of CUDA."""
    if not cu.is_there():
        return Discovery(records=())
    source = sources.named(OPENCL)
    if fresh or renumber:
        known = discover(settings, source=source, fresh=fresh, renumber=renumber)
    else:
        known = devices(settings, source=source)
    library = cu.library()
    found: list[DeviceRecord] = []
    for record in known:
        ordinal = _ordinal(library, record)
        if ordinal is not None:
            _opencl[ordinal] = record
            found.append(_record(library, ordinal, record))
    return Discovery(records=tuple(sorted(found, key=lambda record: record.index)))


def unused(settings: Settings) -> tuple[Uncompiled, ...]:
    """The driver of CUDA, where no OpenCL driver compiles for it."""
    if not cu.is_there() or cu.library().number("DeviceGetCount") == 0:
        return ()
    return () if devices(settings, source=sources.named(NAME)) else (Uncompiled(),)


def refused(ordinal: int) -> DeviceSelectionError:
    """The error for a card for which nothing compiles."""
    lacking = Uncompiled()
    return DeviceSelectionError(
        f"CUDA's device {ordinal} has no OpenCL device, whose driver compiles kernels for it", hint=lacking.remedy
    )


def opencl_of(ordinal: int) -> DeviceRecord:
    """The OpenCL device of a card that `find` has found."""
    return _opencl[ordinal]


def _ordinal(library: Library, device: DeviceRecord) -> int | None:
    """CUDA's number of an OpenCL device; None for what is no card of CUDA's, or hidden by CUDA_VISIBLE_DEVICES."""
    place = pci_address(device)
    try:
        return None if place is None else library.number("DeviceGetByPCIBusId", place.encode())
    except CudaError:
        return None


def _record(library: Library, ordinal: int, opencl: DeviceRecord) -> DeviceRecord:
    capabilities = None if opencl.capabilities is None else _capabilities(library, ordinal, opencl.capabilities)
    return replace(opencl, index=ordinal, native=ordinal, backend=NAME, capabilities=capabilities)


def _capabilities(library: Library, ordinal: int, opencl: Capabilities) -> Capabilities:
    """What differs under CUDA: sizes of memory, of dynamic shared memory, of grids."""
    shared = library.number("DeviceGetAttribute", _SHARED_OPTIN, ordinal)
    return replace(
        opencl,
        max_allocation=opencl.global_memory,
        local_memory_static=min(opencl.local_memory_static, shared),
        local_memory_argument=shared,
        host_unified_memory=False,
        cluster_size=_CLUSTER if opencl.ptx_target[0] in _WITH_CLUSTERS else 1,
        max_blocks_of_axis=library.number("DeviceGetAttribute", _GRID_X, ordinal),
        max_blocks_of_later_axes=library.number("DeviceGetAttribute", _GRID_Y, ordinal),
    )

"""The cards of CUDA: which there are, and the OpenCL device that each of them is, too.

What a card can do was found by trying on its OpenCL device; what differs under CUDA is told by CUDA.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

from portagpu.backends.cuda import library as cu
from portagpu.backends.cuda.library import CudaError, Library
from portagpu.backends.opencl import discovery
from portagpu.backends.opencl.intermediate import pci_address
from portagpu.device.capabilities import Capabilities
from portagpu.device.record import DeviceRecord
from portagpu.device.sources import Discovery
from portagpu.errors import DeviceSelectionError
from portagpu.settings import Settings

NAME = "cuda"
_SHARED_OPTIN, _GRID_X, _GRID_Y = 97, 5, 6  # device attributes
_lock = threading.RLock()
_known: list[DeviceRecord] = []


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Card:
    """A card: CUDA's number of it, and the record of its OpenCL device, whose driver compiles for it."""

    ordinal: int
    opencl: DeviceRecord

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Card) and other.ordinal == self.ordinal

    def __hash__(self) -> int:
        return hash(self.ordinal)


def discover(settings: Settings, *, fresh: bool, renumber: bool) -> Discovery:
    """List the cards. Raises `NoDeviceError` where there is no driver of CUDA."""
    library = cu.library()
    found: list[DeviceRecord] = []
    for record in discovery.discover(settings, fresh=fresh, renumber=renumber).records:
        ordinal = _ordinal(library, record)
        if ordinal is not None:
            found.append(_record(library, ordinal, record))
    return Discovery(records=tuple(sorted(found, key=lambda record: record.index)))


def describe(ordinal: int, settings: Settings) -> DeviceRecord:
    """The record of the card with CUDA's number. Raises `NoDeviceError`, `DeviceSelectionError`."""
    records = _cards(settings)
    for record in records:
        if record.index == ordinal:
            return record
    raise DeviceSelectionError(
        f"CUDA's device {ordinal} has no OpenCL device, whose driver compiles kernels for it",
        hint="install the card's OpenCL driver (libnvidia-opencl.so.1, in the same package as libcuda.so.1, or in its"
        " neighbour); `portagpu doctor` tells what was found",
    )


def _cards(settings: Settings) -> list[DeviceRecord]:
    with _lock:
        if not _known:
            _known.extend(discover(settings, fresh=False, renumber=False).records)
        return _known


def _ordinal(library: Library, device: DeviceRecord) -> int | None:
    """CUDA's number of an OpenCL device; None for what is no card of CUDA's, or hidden by CUDA_VISIBLE_DEVICES."""
    place = pci_address(device)
    try:
        return None if place is None else library.number("DeviceGetByPCIBusId", place.encode())
    except CudaError:
        return None


def _record(library: Library, ordinal: int, opencl: DeviceRecord) -> DeviceRecord:
    capabilities = None if opencl.capabilities is None else _capabilities(library, ordinal, opencl.capabilities)
    return replace(
        opencl,
        index=ordinal,
        native=Card(ordinal=ordinal, opencl=opencl),
        backend=NAME,
        capabilities=capabilities,
    )


def _capabilities(library: Library, ordinal: int, opencl: Capabilities) -> Capabilities:
    """What differs under CUDA: sizes of memory, of dynamic shared memory, of grids."""
    shared = library.number("DeviceGetAttribute", _SHARED_OPTIN, ordinal)
    return replace(
        opencl,
        max_allocation=opencl.global_memory,
        local_memory_static=min(opencl.local_memory_static, shared),
        local_memory_argument=shared,
        host_unified_memory=False,
        max_blocks_of_axis=library.number("DeviceGetAttribute", _GRID_X, ordinal),
        max_blocks_of_later_axes=library.number("DeviceGetAttribute", _GRID_Y, ordinal),
    )

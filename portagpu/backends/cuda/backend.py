"""CUDA as a back end; see `portagpu.backends.backend`.

Programs are rendered as for OpenCL and compiled by the OpenCL driver of the same card; what it makes of them runs under
CUDA's driver, on memory and streams that torch, CuPy, JAX and others share.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar

import numpy as np

from portagpu.backends.backend import Backend
from portagpu.backends.cuda import announcement, cards, driver_errors
from portagpu.backends.cuda.arrays import (
    LIVES,
    CudaArray,
    Found,
    described,
    identifier_of,
    identity_of,
    ordinal_of,
    pointer_of,
    reader_of,
    room_at,
)
from portagpu.backends.cuda.driver import CudaDriver
from portagpu.backends.cuda.handles import Queue, stream_at
from portagpu.backends.cuda.library import CudaError
from portagpu.backends.cuda.memory import Memory
from portagpu.backends.cuda.primary import PROMISED, Primary, primary, primary_of
from portagpu.backends.driver import Driver
from portagpu.backends.foreign import ForeignArray
from portagpu.backends.languages import KernelLanguage
from portagpu.backends.opencl import rates
from portagpu.backends.opencl.options import SPILL_REMARKS, options_for
from portagpu.device.capabilities import Capabilities
from portagpu.device.rates import Rates
from portagpu.device.record import DeviceRecord
from portagpu.device.sources import Discovery, UnusedDriver
from portagpu.errors import ArgumentTypeError
from portagpu.settings import Settings

_ALIGNMENT = 512  # bytes: where memory is taken to begin, so that offsets tell how elements are aligned


class Cuda(Backend):
    """Cards of CUDA, through its driver API."""

    name = announcement.NAME
    title = announcement.TITLE
    to_install = announcement.TO_INSTALL
    errors: ClassVar[tuple[type[Exception], ...]] = CudaDriver.errors
    translated = staticmethod(driver_errors.translated)
    build_options = staticmethod(options_for)
    queue_types: ClassVar[tuple[type, ...]] = (Queue,)
    array_types: ClassVar[tuple[type, ...]] = (CudaArray,)
    memory_types: ClassVar[tuple[type, ...]] = (Memory,)
    leaked_types: ClassVar[tuple[type, ...]] = (Memory, Queue)

    def discover(self, settings: Settings, *, fresh: bool, renumber: bool) -> Discovery:
        """List the cards; none where there is no driver of CUDA."""
        return cards.find(settings, fresh=fresh, renumber=renumber)

    def describe(self, native: Any, settings: Settings) -> DeviceRecord:
        """Raise `DeviceSelectionError`: a card that `discover` has not found has no compiler."""
        raise cards.refused(native)

    def unused_drivers(self, settings: Settings) -> Sequence[UnusedDriver]:
        """The driver of CUDA, where no OpenCL driver compiles for its cards."""
        return cards.unused(settings)

    def open(self, device: DeviceRecord, native: Any = None) -> Driver:
        """A card with its primary context."""
        try:
            context = native if isinstance(native, Primary) else primary(device.native)
        except CudaError as error:
            raise self.translated(error, name=device.name, memory=None, is_alive=lambda: True) from error
        return CudaDriver(device, context)

    @property
    def language(self) -> KernelLanguage:
        """OpenCL C; its code generator is loaded for code that is not kept."""
        from portagpu.backends.opencl.kernel_language import OPENCL_C

        return OPENCL_C

    def spill_remarks(self, capabilities: Capabilities) -> tuple[str, ...]:
        """As OpenCL's."""
        return SPILL_REMARKS

    def measure(self, device: DeviceRecord) -> Rates | None:
        """What the card's OpenCL device reaches."""
        return rates.measure(cards.opencl_of(device.native))

    # objects of other libraries -------------------------------------------------------------------------------------

    def natives(self, value: Any) -> tuple[Any, Any]:
        """The primary context and CUDA's number of the card of a context, queue or array."""
        if isinstance(value, Primary):
            context = value
        elif isinstance(value, Queue):
            context = value.primary
        else:
            context = primary(_read(value).ordinal)
        return context, context.ordinal

    def shared_key(self, device: DeviceRecord) -> Hashable | None:
        """CUDA's number of the card: its primary context is there once."""
        return int(device.native)

    def key_of(self, native: Any, device: Any) -> Hashable:
        """CUDA's number of the card."""
        return int(device)

    def queue_at(self, address: Any) -> Any:
        """The stream with a handle of CUDA's; a default stream is the current card's."""
        if type(address) is not int or address < 0:
            raise ArgumentTypeError(
                f"external_stream takes a stream's handle, not {address!r}", hint="pass stream.cuda_stream, or its like"
            )
        return stream_at(primary_of(address), address, PROMISED)

    def parts(self, array: Any) -> ForeignArray:
        """What another library's array on a card consists of."""
        return _parts(array, _read(array))

    def parts_of(self, value: Any) -> ForeignArray | None:
        """The same, for any value."""
        reader = reader_of(value)
        return None if reader is None else _parts(value, reader.read(value))

    def identity(self, value: Any) -> Hashable | None:
        """As quickly as the array's library tells."""
        return identity_of(value)

    def identifier(self, kind: type) -> Callable[[Any], Hashable | None]:
        """Of the reader of the type."""
        return identifier_of(kind) or self.identity

    def described(self, desc: Any, stream: int | None = None) -> ForeignArray | None:
        """Of memory of a card."""
        if ordinal_of(pointer_of(desc)) is None:
            return None
        found = described(desc)
        return _parts(desc, found if stream is None else found._replace(stream=stream, keeper=LIVES))

    def room_at(self, address: int) -> int | None:
        """Of memory of a card."""
        return room_at(address)

    def empty_like(self, array: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """A new array of the array's library, on its card; None where its arrays cannot be written."""
        reader = reader_of(array)
        return None if reader is None else reader.empty(array, shape, dtype)

    def maker(
        self, like: Any, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> Callable[[Any], tuple[Any, Hashable | None]]:
        """Of the reader of the array's library."""
        reader = reader_of(like)
        made = None if reader is None else reader.maker(like, shape, dtype)
        return made or super().maker(like, shape, dtype)


def _read(array: Any) -> Found:
    reader = reader_of(array)
    if reader is None:
        raise ArgumentTypeError(f"{type(array).__name__} is no array in the memory of a card")
    return reader.read(array)


def _parts(array: Any, found: Found) -> ForeignArray:
    address, lying = found.address, found.lying
    begin = address + lying.below
    begin -= begin % _ALIGNMENT
    memory = Memory(begin, address + lying.above - begin, (array, found.keeper))
    queue = stream_at(primary(found.ordinal), found.stream, found.keeper)
    return ForeignArray(memory, address - begin, lying.shape, lying.strides, lying.dtype, queue, found.readonly, lying)


BACKEND = Cuda()

"""The back ends by name, and which of them an object of another library belongs to.

The first, OpenCL, is the one whose devices programs see unless they ask for another's. Back ends of the package are
loaded when something of theirs is asked for; `register` makes another one known.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, cast

from portagpu.backends.announced import Announced
from portagpu.backends.cuda import announcement as cuda
from portagpu.backends.opencl import announcement as opencl
from portagpu.backends.sycl import announcement as sycl
from portagpu.device import sources

if TYPE_CHECKING:
    from portagpu.backends.backend import Backend
    from portagpu.backends.foreign import ForeignArray
    from portagpu.device.record import DeviceRecord
    from portagpu.device.sources import DeviceSource


class _Unloaded:
    """Stands, for `isinstance`, for types of a back end that is not loaded: what may be an object of one loads it."""

    __slots__ = ("_kinds", "_source")

    def __init__(self, source: Announced, kinds: str) -> None:
        self._source, self._kinds = source, kinds

    def __instancecheck__(self, value: Any) -> bool:
        return self._source.may_own(value) and isinstance(value, getattr(self._source.backend, self._kinds))


class _Foreign:
    """Types of objects of other libraries that are taken as they are, of all back ends."""

    __slots__ = ("arrays", "memories", "owners", "queues", "unloaded")

    def __init__(self) -> None:
        self.unloaded: tuple[Announced, ...] = ()
        self.owners: tuple[tuple[Backend, tuple[type, ...]], ...] = ()  # of what is loaded
        self.arrays: tuple[type, ...] = ()
        self.memories: tuple[type, ...] = ()
        self.queues: tuple[type, ...] = ()


foreign = _Foreign()
_identifiers: dict[type, Callable[[Any], Hashable | None]] = {}  # of types of which there were arrays on a device


def _renew() -> None:
    known = sources.registered()
    _identifiers.clear()
    _identifiers.update(dict.fromkeys(cuda.NEVER_ARRAYS, _no_identity))
    foreign.unloaded = tuple(one for one in known if isinstance(one, Announced) and one.loaded is None)
    foreign.arrays, foreign.memories, foreign.queues = map(_types, ("array_types", "memory_types", "queue_types"))
    foreign.owners = tuple(
        (one, (*one.queue_types, *one.memory_types, *one.array_types, *one.context_types)) for one in loaded()
    )


def _types(kinds: str) -> tuple[type, ...]:
    """Types of all back ends' objects, for `isinstance`."""
    found: list[Any] = []
    for source in sources.registered():
        backend = _loaded(source)
        found += [_Unloaded(cast(Announced, source), kinds)] if backend is None else getattr(backend, kinds)
    return tuple(found)


def register(backend: Backend) -> None:
    """Make a back end known under its name; one of the same name is replaced."""
    sources.register(backend)
    _renew()


def registered() -> tuple[Backend, ...]:
    """All back ends, in the order in which they were registered; loads them."""
    return tuple(map(_backend, sources.registered()))


def loaded() -> tuple[Backend, ...]:
    """Those that something has needed."""
    return tuple(found for found in map(_loaded, sources.registered()) if found is not None)


def _backend(source: DeviceSource) -> Backend:
    return source.backend if isinstance(source, Announced) else cast("Backend", source)


def _loaded(source: DeviceSource) -> Backend | None:
    return source.loaded if isinstance(source, Announced) else cast("Backend", source)


def named(name: str) -> Backend:
    """The back end of a name. Raises `SettingsError` where there is none."""
    return _backend(sources.named(name))


def backend_of(device: DeviceRecord) -> Backend:
    """The back end of a device."""
    return named(device.backend)


def chosen() -> Backend:
    """The back end whose devices programs see."""
    return _backend(sources.chosen())


def _asked(value: Any) -> None:
    """Load what an object of another library may belong to."""
    for source in foreign.unloaded:
        if source.may_own(value):
            _backend(source)


def owner_of(value: Any) -> Backend:
    """The back end of an object of a foreign type, or of a native context: the chosen one where none knows the type."""
    _asked(value)
    for one, kinds in foreign.owners:
        if isinstance(value, kinds):
            return one
    return chosen()


def of_dlpack(kind: int) -> Backend | None:
    """The back end whose memory has DLPack's code; None where there is none."""
    found = (one for one in sources.registered() if cast("Announced | Backend", one).dlpack_kind == kind)
    source = next(found, None)
    return None if source is None else _backend(source)


def parts_of(value: Any) -> ForeignArray | None:
    """What another library's array consists of; None for a value that no back end takes for one.

    Raises `ArgumentTypeError` for an array that is more than memory.
    """
    _asked(value)
    for one, _ in foreign.owners:
        found = one.parts_of(value)
        if found is not None:
            return found
    return None


def identity(value: Any) -> Hashable | None:
    """What tells another library's array from others; None for what is none, or has to be looked at each time."""
    known = _identifiers.get(type(value))
    if known is not None:
        return known(value)
    for one, _ in foreign.owners:
        found = one.identity(value)
        if found is not None:
            _identifiers[type(value)] = one.identifier(type(value))
            return found
    return None


def _no_identity(value: Any) -> None:
    return None


def room_at(address: int) -> int | None:
    """Bytes from an address to the end of its memory, where a back end can use that."""
    return next((found for one in registered() if (found := one.room_at(address)) is not None), None)


def described(desc: Any, stream: int | None = None) -> ForeignArray | None:
    """What a CUDA Array Interface describes, where a back end can use its memory; see `Backend.described`."""
    return next((found for one in registered() if (found := one.described(desc, stream)) is not None), None)


for _announcement in (opencl, sycl, cuda):
    sources.register(Announced(_announcement, _renew))
_renew()

"""A kernel to be exported: its text for a device that has little, and what a host program does to launch it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from portagpu.backends.registry import named
from portagpu.backends.source import KernelSource
from portagpu.device.capabilities import Capabilities
from portagpu.dispatch.code.cache import code_for
from portagpu.dispatch.code.requests import Request
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.dispatch.kernel_axes import axes_of
from portagpu.errors import KernelError, LaunchConfigError, UnsupportedError
from portagpu.exporting.arguments import CArgument, HostArray, HostNumber, arguments_of, c_arguments_of
from portagpu.ir.types import ArgumentType
from portagpu.runtime.arrays.checks import count
from portagpu.runtime.programs.launch_shape import Extent, extent
from portagpu.settings import Settings

_BLOCKS = {1: (256, 1, 1), 2: (16, 16, 1), 3: (8, 8, 4)}  # by the axes of the grid that a kernel looks at
_ELEMENTS = {1: 4096, 2: 64, 3: 16}  # of each axis, by the largest number of axes


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """A kernel, ready to be written in a language.

    ``types``: of the Python arguments, constants among them; ``options``: of the language's compiler; ``size``:
    elements of each axis of arrays; ``shared``: bytes of dynamic shared memory.
    """

    name: str
    file: str
    parameters: tuple[str, ...]
    types: tuple[ArgumentType, ...]
    kernel_source: KernelSource
    options: tuple[str, ...]
    arrays: tuple[HostArray, ...]
    numbers: tuple[HostNumber, ...]
    c_arguments: tuple[CArgument, ...]
    block: Extent
    axes: int
    size: int
    shared: int

    @property
    def signature(self) -> str:
        """The types of the arguments, as programs write them."""
        return f"{self.name}({', '.join(f'{n}: {t!r}' for n, t in zip(self.parameters, self.types, strict=True))})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the host program does, as far as the user says: None is for what fits the kernel.

    ``numbers``: values by parameter; ``size``: elements of each axis of arrays; ``shared``: bytes.
    """

    block: int | Sequence[int] | None = None
    size: int | None = None
    shared: int = 0
    numbers: Mapping[str, Any] | None = None


def export(
    kernel: Dispatcher[Any],
    *,
    backend: str,
    caps: Capabilities,
    signature: str | None = None,
    constants: Mapping[str, Any] | None = None,
    wishes: Wishes,
) -> Export:
    """A kernel in the language of a back end, for argument types that ``signature`` says, or the kernel declares.

    Raises `ArgumentCountError` and `ArgumentTypeError` for a signature or numbers that do not fit, `LaunchConfigError`
    for a block that the kernel does not take, `UnsupportedError` for one that waits for its whole grid, and what
    compiling raises.
    """
    types = kernel.types_for(signature, constants or {})
    names = kernel.source.parameters
    axes = axes_of(kernel)
    block = kernel.options.block_dim or (_BLOCKS[axes] if wishes.block is None else extent(wishes.block, "block"))
    shared = count(wishes.shared, "dynamic shared memory is a number of bytes")
    if wishes.size is not None and count(wishes.size, "the size of arrays is a number of elements") == 0:
        raise LaunchConfigError("the size of arrays is 0", hint="a host program has at least one element: --size")
    source = _source(kernel, Request(backend=named(backend), types=types, caps=caps, shared=shared))
    _check(kernel.__name__, source, block)
    found = arguments_of(kernel.__name__, names, types, wishes.numbers or {})
    arrays = tuple(a for a in found if isinstance(a, HostArray))
    most = max((a.ndim for a in arrays), default=1)
    return Export(
        name=kernel.__name__,
        file=kernel.source.span(kernel.source.tree).filename.rpartition("/")[2],
        parameters=names,
        types=types,
        kernel_source=source,
        options=tuple(named(backend).build_options(kernel.options, caps, source.source)),
        arrays=arrays,
        numbers=tuple(a for a in found if isinstance(a, HostNumber)),
        c_arguments=c_arguments_of(source.parameters, {a.path: a for a in found}),
        block=block,
        axes=max(axes, sum(b > 1 for b in block)),
        size=wishes.size or _ELEMENTS.get(most, 8),
        shared=shared,
    )


def _source(kernel: Dispatcher[Any], request: Request) -> KernelSource:
    failure: KernelError | None = None
    try:
        return code_for(kernel, request, Settings.from_environment())
    except KernelError as error:
        failure = error
    raise failure.with_traceback(None)  # the user's mistake: the compiler's own frames would only hide it


def _check(name: str, source: KernelSource, block: Extent) -> None:
    threads = block[0] * block[1] * block[2]
    if source.cooperative:
        raise UnsupportedError(
            f"`{name}` waits for its whole grid, which depends on how many blocks a device runs together",
            hint="split the kernel where it waits, and launch the parts one after the other",
        )
    if source.max_threads is not None and threads > source.max_threads:
        raise LaunchConfigError(
            f"a block of {threads} threads is too large for `{name}`, which has warp operations: they go through shared"
            f" memory in blocks of at most {source.max_threads}",
            hint="make the block smaller: --block",
        )

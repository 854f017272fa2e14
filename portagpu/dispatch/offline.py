"""Offline compilation: a kernel compiled for hardware that is not present."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from portagpu.backends.registry import named
from portagpu.backends.source import KernelSource
from portagpu.dispatch.arguments.type_names import argument_type
from portagpu.dispatch.code.cache import code_for
from portagpu.dispatch.code.definition import KernelDefinition
from portagpu.dispatch.code.requests import Request
from portagpu.errors import (
    ArgumentCountError,
    BuildError,
    KernelError,
    LaunchConfigError,
    MissingCapabilityError,
    did_you_mean,
)
from portagpu.ir.types import ArgumentType, ConstantType
from portagpu.runtime.arrays.checks import count
from portagpu.runtime.programs.build_errors import locate
from portagpu.runtime.programs.launch_shape import Extent, check_block, extent
from portagpu.settings import Settings
from portagpu.source import Span
from portagpu.types import Signature, Type, as_signature, as_type, is_type

if TYPE_CHECKING:
    from portagpu.backends.offline import OfflineFigures, OfflineTarget

_generating = threading.Lock()  # code for several targets is generated one by one, and compiled by many processes


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineKernel:
    """A kernel as compiled for a target.

    ``figures``: registers, spills, memory and occupancy. ``kernel_source``: the generated program. ``assembly``: the
    compiler's text, or None where it gives none. ``log``: what the compiler said. ``remark``: why a figure is missing,
    and what to install for it. ``signature``: types of the arguments, constants among them. ``scratch``: places in the
    Python text whose code accesses private memory outside registers, those with most such instructions first.
    """

    name: str
    target: OfflineTarget
    kernel_source: KernelSource
    figures: OfflineFigures
    assembly: str | None
    log: str
    remark: str | None = None
    signature: tuple[ArgumentType, ...] = ()
    scratch: tuple[Span, ...] = ()

    @property
    def span(self) -> Span | None:
        """The line of the kernel's ``def``."""
        return next((span for span in self.kernel_source.lines if span is not None), None)

    @property
    def source(self) -> str:
        """The OpenCL C."""
        return self.kernel_source.source


def compiled_source(
    target: OfflineTarget,
    kernel_source: KernelSource,
    options: tuple[str, ...],
    types: tuple[ArgumentType, ...],
    threads: int | None,
    *,
    name: str,
) -> OfflineKernel:
    """A generated program compiled for a target. ``threads``: of a block, None where they are not known.

    Raises `MissingCompilerError`, and `BuildError` at the Python line that the compiler refused.
    """
    backend = named(target.backend)
    try:
        compiled = backend.compile_offline(target, kernel_source.source, options)
    except BuildError as error:
        raise locate(error, kernel_source, backend) from error
    figures = compiled.figures
    resident = target.residency(figures, threads)
    if resident is not None:
        figures = replace(figures, occupancy=resident.subgroups, slots=resident.slots, limiter=resident.limiter)
    return OfflineKernel(
        name=name,
        target=target,
        kernel_source=kernel_source,
        figures=figures,
        assembly=compiled.assembly,
        log=compiled.log,
        remark=compiled.remark,
        signature=types,
        scratch=_places(compiled.scratch_lines, kernel_source),
    )


def _places(lines: Mapping[int, int], kernel_source: KernelSource) -> tuple[Span, ...]:
    """The places in Python of lines of a program, each once."""
    found: Counter[tuple[str, int]] = Counter()
    spans: dict[tuple[str, int], Span] = {}
    for line, times in lines.items():
        span = kernel_source.span_of(line)
        if span is not None:
            spans.setdefault((span.filename, span.line), span)
            found[span.filename, span.line] += times
    return tuple(spans[key] for key, _ in found.most_common())


class OfflineCompilation(KernelDefinition):
    """The part of a kernel object that compiles for devices that are not present."""

    def compile_for(
        self,
        target: str | OfflineTarget,
        signature: Any = None,
        *,
        constants: Mapping[str, Any] | None = None,
        block: int | Sequence[int] | None = None,
        shared: int = 0,
    ) -> OfflineKernel:
        """Compile for a device that need not be present, with its maker's offline compiler; nothing is launched.

        ``target``: a name such as "gfx1100" or "dg2" (`portagpu check --list` has them all). ``signature``: as for
        `compile`, without the parameters annotated `cuda.constexpr`, whose values are in ``constants`` where they have
        no default; None stands for the one declared in `cuda.jit`. ``block``: threads of a block, which compilers give
        registers by, where ``block_dim=`` does not say them. ``shared``: bytes of dynamic shared memory.

        Raises `DeviceSelectionError` for an unknown target, `MissingCompilerError` naming the package to install,
        `MissingCapabilityError` for what the target does not have, `BuildError` at the Python line that the compiler
        refused, `ArgumentCountError` for a signature that does not fit the parameters.
        """
        from portagpu.backends.survey import find_target  # of all back ends, which are loaded to ask them

        found = find_target(target) if isinstance(target, str) else target
        backend = named(found.backend)
        types = self.types_for(signature, constants or {})
        fixed = None if block is None else extent(block, "block")
        dynamic = count(shared, "dynamic shared memory is a number of bytes")
        self._check_block(fixed, found)
        failure: KernelError | None = None
        try:
            request = Request(backend=backend, types=types, caps=found.capabilities, shared=dynamic, block=fixed)
            with _generating:
                kernel_source = code_for(self, request, Settings.from_environment())
        except KernelError as error:
            failure = error
        if failure is not None:  # the user's mistake: the compiler's own frames would only hide it
            raise failure.with_traceback(None)
        options = backend.build_options(self.options, found.capabilities, kernel_source.source)
        threads = None if kernel_source.block_dim is None else math.prod(kernel_source.block_dim)
        return compiled_source(found, kernel_source, options, types, threads, name=self.__name__)

    def _check_block(self, block: Extent | None, target: OfflineTarget) -> None:
        """Raise `MissingCapabilityError` for a block with which no launch on the target succeeds."""
        block = self.options.block_dim or block
        if block is None:
            return
        try:
            check_block(block, target.capabilities, target.title)
        except LaunchConfigError as error:
            raise MissingCapabilityError(error.message, hint=error.hint) from None

    def types_for(self, signature: Any, constants: Mapping[str, Any]) -> tuple[ArgumentType, ...]:
        """Types of all parameters: those of the signature, and constants for compile-time parameters."""
        names, bound = self.source.parameters, self.source.constexpr
        unknown = sorted(set(constants) - set(bound))
        if unknown:
            raise ArgumentCountError(
                f"`{self.__name__}` has no compile-time parameter {', '.join(unknown)}",
                hint=f"{did_you_mean(unknown[0], bound)}its parameters annotated `cuda.constexpr` are "
                + (", ".join(n for n in names if n in bound) or "none"),
            )
        constants = {**{n: value for n, value in self.defaults_of(names).items() if n in bound}, **constants}
        missing = [n for n in names if n in bound and n not in constants]
        if missing:
            raise ArgumentCountError(
                f"`{self.__name__}` needs values of its compile-time parameters {', '.join(missing)}",
                hint="pass them in constants={...}",
            )
        given = list(self._signature(signature).args)
        free = [n for n in names if n not in bound]
        if len(given) != len(free):
            raise ArgumentCountError(
                f"the signature has {len(given)} types, `{self.__name__}` takes {len(free)} arguments at a launch",
                hint=f"name the types of {', '.join(free)}" if free else None,
            )
        rest = iter(given)
        return tuple(ConstantType(constants[n]) if n in bound else argument_type(next(rest)) for n in names)

    def _signature(self, signature: Any) -> Signature:
        if signature is not None:
            if isinstance(signature, Type) or (is_type(signature) and not isinstance(signature, str)):
                return Signature(None, (as_type(signature),))
            return as_signature(signature)
        if len(self.declared) == 1:
            return self.declared[0]
        if not set(self.source.parameters) - set(self.source.constexpr):
            return Signature(None, ())
        raise ArgumentCountError(
            f"`{self.__name__}` declares {len(self.declared) or 'no'} signatures: say which one to compile",
            hint=f'for example {self.__name__}.compile_for("gfx1100", "void(float32[::1], int32)")',
        )

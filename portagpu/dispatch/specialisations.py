"""The specialisations of a kernel: generated and built for argument types, kept, dropped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from portagpu.backends.source import KernelSource
from portagpu.constants import constant_key
from portagpu.dispatch.arguments import conversion
from portagpu.dispatch.code.cache import code_for
from portagpu.dispatch.code.definition import KernelDefinition
from portagpu.dispatch.code.requests import Counts, Request
from portagpu.dispatch.overload import Overload
from portagpu.errors import KernelError
from portagpu.ir.program import GridShape, Program
from portagpu.ir.types import ArgumentType, ConstantType
from portagpu.runtime.execution.context import Context
from portagpu.runtime.programs.launch import CompiledKernel
from portagpu.runtime.programs.launch_shape import Extent, LaunchShape


class Specialisations(KernelDefinition):
    """The part of a kernel object that makes its specialisations, one for each device and tuple of argument types."""

    def __init__(self, function: Callable[..., Any], **definition: Any) -> None:
        """``definition``: see `KernelDefinition`."""
        super().__init__(function, **definition)
        self._overloads: dict[Any, Overload] = {}
        self._counting: dict[Any, Overload] = {}  # specialisations that count, which are no others' business
        self._grids: set[tuple[Any, ...]] = set()  # specialisations that differ for each grid
        self._lock = threading.RLock()

    def build(
        self,
        types: tuple[ArgumentType, ...],
        context: Context,
        *,
        wide: bool = False,
        shared: int = 0,
        launch: GridShape | None = None,
        block: Extent | None = None,
        counts: Counts | None = None,
    ) -> Overload:
        """Specialise and build for argument types.

        ``launch`` is for kernels whose blocks wait for each other, ``block`` fixes the block. With ``counts`` the
        kernel counts its work.
        """
        failure: KernelError | None = None
        try:
            wake = context.driver.wake_compiler
            request = Request(context.backend, types, context.capabilities, wide, shared, launch, block, counts, wake)
            kernel_source = code_for(self, request, context.settings)
        except KernelError as error:
            failure = error
        if failure is not None:  # the user's mistake: the compiler's own frames would only hide it
            if context.settings.traceback:
                raise failure
            raise failure.with_traceback(None) from None
        options = self.options.build_options(context, kernel_source.source)
        compiled = CompiledKernel(context, kernel_source, options)
        dynamic = shared if shared > context.capabilities.local_memory_argument else 0
        return Overload(
            signature=types,
            kernel_source=kernel_source,
            compiled=compiled,
            build_options=options,
            wide=wide,
            shared=dynamic,
        )

    def program(self, types: tuple[ArgumentType, ...], context: Context, *, wide: bool) -> Program:
        """The typed IR for argument types."""
        return self.lowered(types, context.capabilities, wide=wide)

    def generate(
        self,
        types: tuple[ArgumentType, ...],
        context: Context,
        *,
        wide: bool = False,
        shared: int = 0,
        launch: GridShape | None = None,
        block: Extent | None = None,
    ) -> KernelSource:
        """OpenCL C for argument types, made or found on disk; nothing is built."""
        caps, settings = context.capabilities, context.settings
        return code_for(self, Request(context.backend, types, caps, wide, shared, launch, block), settings)

    def overload(self, args: tuple[Any, ...], shape: LaunchShape, context: Context) -> Overload:
        """The specialisation for prepared arguments, compiled if it is new."""
        key = self._key(args, shape, context)
        launch = GridShape(shape.grid, shape.block, shape.shared)
        if key in self._grids and launch.blocks > 1:
            key = (*key, launch)
        found = self._overloads.get(key)
        if found is not None and not found.compiled.is_too_narrow(shape):
            return found

        def built(key: tuple[Any, ...], block: Extent | None) -> Overload:
            context.holders.add(self)
            types, wide = self._argument_types(args), key[3]
            made = self.build(types, context, wide=wide, shared=shape.shared, launch=launch, block=block)
            if made.kernel_source.cooperative and not context.capabilities.cooperative_launch:
                self._grids.add(key[:5])
                key = key if made.kernel_source.fused is None else (*key[:5], launch)
            self._overloads[key] = made
            context.specialisations.add(self, key, made.compiled)
            return made

        with self._lock:
            found = self._overloads.get(key) or built(key, None)
            if found.compiled.is_too_narrow(shape):  # a fixed block makes the compiler use fewer registers
                fixed = (*key, shape.block)
                found = self._overloads.get(fixed) or built(fixed, shape.block)
        return found

    def counting(self, args: tuple[Any, ...], shape: LaunchShape, context: Context, counts: Counts) -> Overload:
        """The specialisation for prepared arguments whose threads count their work, compiled if it is new."""

        def built(key: tuple[Any, ...], block: Extent | None) -> Overload:
            context.holders.add(self)
            types, wide = self._argument_types(args), key[3]
            made = self.build(types, context, wide=wide, shared=shape.shared, block=block, counts=counts)
            self._counting[key] = made
            context.specialisations.add(self, key, made.compiled)
            return made

        key = (*self._key(args, shape, context), counts)
        with self._lock:
            found = self._counting.get(key) or built(key, None)
            if found.compiled.is_too_narrow(shape):
                fixed = (*key, shape.block)
                found = self._counting.get(fixed) or built(fixed, shape.block)
        return found

    def _key(self, args: tuple[Any, ...], shape: LaunchShape, context: Context) -> tuple[Any, ...]:
        """What tells the specialisation for prepared arguments from others, but for its grid and block."""
        constexpr = self.source.constexpr
        alias, large = conversion.facts_of(args)
        wide = shape.is_large or large
        dynamic = shape.shared if shape.shared > context.capabilities.local_memory_argument else 0
        parts = tuple(
            [
                constant_key(a) if n in constexpr else conversion.argument_key(a)
                for n, a in zip(self.source.parameters, args, strict=True)
            ]
        )
        return context.key, parts, alias, wide, dynamic

    def _argument_types(self, args: tuple[Any, ...]) -> tuple[ArgumentType, ...]:
        """The types of prepared arguments."""
        constexpr = self.source.constexpr
        alias, _ = conversion.facts_of(args)
        return tuple(
            ConstantType(a) if n in constexpr else conversion.argument_type(a, alias=alias)
            for n, a in zip(self.source.parameters, args, strict=True)
        )

    def recompile(self) -> None:
        """Compile the kernel anew at its next launch: with the present values of globals and its closure variables.

        Those of device functions are read again by their own ``recompile()``. Code that is kept on disk is of no
        concern: it is found by these values.
        """
        with self._lock:
            self._overloads, self._counting, self._grids = {}, {}, set()
            self.source.refresh()

    def drop(self, key: Any, compiled: CompiledKernel) -> None:
        """Forget one specialisation, for which there is no more room: the next launch of it makes it anew."""
        for overloads in (self._overloads, self._counting):
            found = overloads.get(key)
            if found is not None and found.compiled is compiled:
                overloads.pop(key, None)

    def forget(self, context: Context) -> None:
        """Drop the specialisations for a context that is closed."""
        with self._lock:
            self._overloads = {key: found for key, found in self._overloads.items() if key[0] != context.key}
            self._counting = {key: found for key, found in self._counting.items() if key[0] != context.key}


def built_for(kernel: Specialisations, context: Context) -> list[Overload]:
    """The specialisations of a kernel that there are for a context."""
    return [found for found in list(kernel._overloads.values()) if found.compiled.context is context]

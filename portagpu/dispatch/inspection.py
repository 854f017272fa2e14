"""Inspection of a kernel's specialisations: types, generated code, the driver's statistics."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from portagpu.backends.registry import named
from portagpu.dispatch.arguments.signatures import check_count
from portagpu.dispatch.arguments.type_names import argument_type
from portagpu.dispatch.code.cache import code_for
from portagpu.dispatch.code.requests import Request
from portagpu.dispatch.offline import OfflineCompilation
from portagpu.dispatch.overload import Key, Overload, SourcesBySignature, keyed, shown
from portagpu.dispatch.specialisations import Specialisations
from portagpu.errors import ArgumentTypeError, MissingCapabilityError
from portagpu.ir.types import ArgumentType
from portagpu.runtime.execution.context import Context, current_context
from portagpu.runtime.programs.kernel_statistics import assembly
from portagpu.settings import Settings
from portagpu.types import Array, Signature, Type, as_signature

if TYPE_CHECKING:
    from portagpu.backends.backend import Backend

_COMPILED_KEY = 2  # length of the keys of what was compiled for a signature: context and types


class Inspection(Specialisations, OfflineCompilation):
    """The part of a kernel object that tells about its specialisations."""

    @property
    def targetoptions(self) -> dict[str, Any]:
        """The options of `cuda.jit` that this was made with, under CUDA-Python's name; a copy."""
        options = {field.name: getattr(self.options, field.name) for field in fields(self.options)}
        options["fastmath"] = "fast" in self.options.fastmath or set(self.options.fastmath)
        return {"device": self.is_device_function, **options}

    @property
    def overloads(self) -> dict[Key, Overload]:
        """Specialisations by the types of their arguments, for the current context (of all, if it has none).

        With declared signatures: one for each, compiled now if it was not launched. Otherwise what was launched.
        """
        if not self.declared:
            return keyed(self._launched())
        context = current_context()
        return {signature.args: self._declared(signature, context) for signature in self.declared}

    def compile(self, sig: Any) -> Overload:
        """The specialisation for a signature such as ``void(float32[::1])`` or a tuple of types, compiled now.

        Raises `ArgumentTypeError` for a signature that the kernel does not declare where it declares others.
        """
        signature = as_signature(sig)
        check_count(signature, self.source)
        if self.declared:
            return self._selected(signature)
        return self._declared(signature, current_context())

    def _launched(self) -> list[Overload]:
        launched = {o.types for k, o in self._overloads.items() if len(k) > _COMPILED_KEY}
        everything = [o for k, o in self._overloads.items() if len(k) > _COMPILED_KEY or o.types not in launched]
        context = current_context() if len({o.compiled.context.key for o in everything}) > 1 else None
        return [o for o in everything if o.compiled.context is context] or everything

    def _declared(self, signature: Signature, context: Context) -> Overload:
        launched = [o for k, o in self._overloads.items() if k[0] == context.key and _fits(o.types, signature.args)]
        if launched:
            return launched[0]
        key = (context.key, signature.args)
        if key not in self._overloads:
            context.holders.add(self)
            types = tuple(argument_type(t) for t in signature.args)
            self._overloads[key] = self.build(types, context)
        return self._overloads[key]

    @property
    def signatures(self) -> list[Key]:
        """Argument types of the specialisations."""
        return [s.args for s in self.declared] or list(self.overloads)

    def _selected(self, signature: Any) -> Overload:
        types = as_signature(signature).args
        found = self.overloads.get(types)
        if found is None:
            raise ArgumentTypeError(
                f"`{self.__name__}` has no specialisation for {shown(types)}",
                hint="launch it with such arguments first, or declare the signature in @cuda.jit",
                notes=[str(o) for o in self.overloads.values()],
            )
        return found

    def _by_signature(self, signature: Any, tell: Callable[[Overload], Any]) -> Any:
        """One answer for a signature or a specialised kernel, else a dict by signature."""
        if signature is not None:
            return tell(self._selected(signature))
        if self.specialized:
            return tell(next(iter(self.overloads.values())))
        return {key: tell(overload) for key, overload in self.overloads.items()}

    # text -----------------------------------------------------------------------------------------------------------

    def inspect_opencl(self, signature: Any = None) -> Any:
        """OpenCL C for a signature, or without one of each specialisation by signature. Print it to read it."""
        opencl = named("opencl")
        if signature is not None:
            return self._text_by(self._selected(signature), opencl)
        found = keyed(self._launched()) or self.overloads
        return SourcesBySignature((key, self._text_by(overload, opencl)) for key, overload in found.items())

    def inspect_sycl(self, signature: Any = None) -> Any:
        """SYCL C++ for a signature, or without one of each specialisation by signature. Print it to read it.

        Neither a SYCL device nor the SYCL run time is needed: where the kernel was not compiled on such a device, the
        text is for one that can do everything. A signature need not have been launched.
        """
        sycl = named("sycl")
        known = keyed(self._launched())
        if signature is not None:
            found = known.get(as_signature(signature).args)
            return self._new_text(sycl, self.types_for(signature, {})) if found is None else self._text_by(found, sycl)
        if known:
            return SourcesBySignature((key, self._text_by(overload, sycl)) for key, overload in known.items())
        declared = {one.args: self.types_for(one, {}) for one in self.declared}
        return SourcesBySignature((key, self._new_text(sycl, types)) for key, types in declared.items())

    def _text_by(self, overload: Overload, backend: Backend) -> str:
        """A specialisation's text by a back end, which need not be that of its device."""
        if overload.compiled.context.backend.language == backend.language:
            return overload.kernel_source.source
        return self._new_text(backend, overload.signature, wide=overload.wide, shared=overload.shared)

    def _new_text(
        self, backend: Backend, types: tuple[ArgumentType, ...], *, wide: bool = False, shared: int = 0
    ) -> str:
        request = Request(backend, types, backend.ideal, wide, shared)
        return code_for(self, request, Settings.from_environment()).source

    def inspect_asm(self, signature: Any = None) -> Any:
        """The driver's assembly (PTX), where its binaries are text. Raises `MissingCapabilityError` elsewhere."""

        def tell(overload: Overload) -> str:
            text = assembly(overload.compiled)
            if text is None:
                self._refuse(f"the driver of {overload.compiled.context.device.name} shows no assembly")
            return text

        return self._by_signature(signature, tell)

    def inspect_llvm(self, signature: Any = None) -> NoReturn:
        """Raise `MissingCapabilityError`: there is no LLVM IR."""
        self._refuse("kernels are compiled by way of C; there is no LLVM IR")

    def inspect_sass(self, signature: Any = None) -> NoReturn:
        """Raise `MissingCapabilityError`: drivers give no disassembly."""
        self._refuse("drivers give no disassembly")

    inspect_sass_cfg = inspect_sass

    def inspect_lto_ptx(self, signature: Any = None) -> NoReturn:
        """Raise `MissingCapabilityError`: there is no link-time optimisation."""
        self._refuse("there is no link-time optimisation")

    def _refuse(self, reason: str) -> NoReturn:
        raise MissingCapabilityError(reason, hint=f"{self.__name__}.inspect_opencl() shows the generated OpenCL C")

    def inspect_types(self, file: TextIO | None = None) -> None:
        """Write the Python lines of each specialisation with the types of the variables that they set."""
        from portagpu.dispatch.annotated import annotated  # it walks the IR, which launches do not

        out = sys.stdout if file is None else file
        for key, overload in self.overloads.items():
            program = self.program(overload.signature, overload.compiled.context, wide=overload.wide)
            print(f"{self.__name__} {shown(key)}", file=out)
            print("-" * 80, file=out)
            for line in annotated(self.source, key, program):
                print(line, file=out)
            print(file=out)

    # figures --------------------------------------------------------------------------------------------------------

    def get_regs_per_thread(self, signature: Any = None) -> Any:
        """Registers of a thread for a signature, or a dict of all; None where the device does not tell."""
        return self._by_signature(signature, lambda o: o.figures.regs_per_thread)

    def get_const_mem_size(self, signature: Any = None) -> Any:
        """Bytes of constant memory for a signature, or a dict of all."""
        return self._by_signature(signature, lambda o: o.figures.const_mem_size)

    def get_shared_mem_per_block(self, signature: Any = None) -> Any:
        """Bytes of static shared memory for a signature, or a dict of all."""
        return self._by_signature(signature, lambda o: o.figures.shared_mem_per_block)

    def get_local_mem_per_thread(self, signature: Any = None) -> Any:
        """Bytes of a thread's local memory for a signature, or a dict of all."""
        return self._by_signature(signature, lambda o: o.figures.local_mem_per_thread)

    def get_max_threads_per_block(self, signature: Any = None) -> Any:
        """The largest block for a signature, or a dict of all."""
        return self._by_signature(signature, lambda o: o.figures.max_threads_per_block)


def _fits(types: tuple[Type, ...], declared: tuple[Type, ...]) -> bool:
    return len(types) == len(declared) and all(map(_fits_one, types, declared))


def _fits_one(kind: Type, declared: Type) -> bool:
    if isinstance(kind, Array) and isinstance(declared, Array):
        same = kind.dtype == declared.dtype and kind.ndim == declared.ndim
        return same and declared.layout in ("A", kind.layout)
    return kind == declared

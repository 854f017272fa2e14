"""The kernel object: specialisation by argument types, launch, inspection."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, SupportsIndex, TypeAlias

import numpy as np

from portagpu import types
from portagpu.backends.registry import foreign
from portagpu.dispatch.arguments import conversion
from portagpu.dispatch.arguments.dates import check_units
from portagpu.dispatch.arguments.signatures import check_count, check_result, convert_arguments
from portagpu.dispatch.arguments.typeof import typeof
from portagpu.dispatch.code.early_check import check_text
from portagpu.dispatch.code.options import JitOptions
from portagpu.dispatch.inspection import Inspection
from portagpu.dispatch.launcher import Configured
from portagpu.dispatch.pickling import Named, fill, reduced
from portagpu.dispatch.type_variables import P, R
from portagpu.errors import (
    ArgumentCountError,
    DeviceFunctionLaunchError,
    KernelTypeError,
    LaunchConfigError,
    SpecialisationError,
    did_you_mean,
)
from portagpu.frontend.source.callables import undecorated
from portagpu.ir.names import CAPTURED_ARRAYS
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.checks import count
from portagpu.runtime.arrays.foreign_views import borrowed_view
from portagpu.runtime.execution.context import Context, current_context
from portagpu.runtime.execution.stream import Stream
from portagpu.runtime.host_arguments import HostWork
from portagpu.runtime.placement import place
from portagpu.runtime.programs.launch_shape import LaunchShape, check_grid, extent
from portagpu.types import Signature, Type, as_type, is_type
from portagpu.types.text import is_foreign

_MAX_CONFIGURATIONS = 1024
# what type checkers take for a launch configuration; more is looked at when it comes
_Extent: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
_Config: TypeAlias = (
    tuple[_Extent, _Extent] | tuple[_Extent, _Extent, Any] | tuple[_Extent, _Extent, Any, SupportsIndex] | list[Any]
)


class Dispatcher(Inspection, Generic[P, R]):
    """A function decorated with `cuda.jit`.

    A kernel is launched with ``kernel[grid, block, stream, shared](*args)``; a device function is called from kernels.
    It is specialised for the types of its arguments at the first launch with them.
    """

    py_func: Callable[P, R]

    def __init__(
        self,
        function: Callable[P, R],
        *,
        options: JitOptions,
        device: bool = False,
        signatures: tuple[Signature, ...] = (),
        text: str | None = None,
    ) -> None:
        again: Any = function
        if isinstance(again, Dispatcher):  # decorated again: the same function with these options
            function, text = again.py_func, text or again._text
        function = undecorated(function)
        super().__init__(function, options=options, device=device, signatures=signatures, text=text)
        self.__doc__ = function.__doc__
        self.extensions: list[Any] = list(options.extensions)
        self.specializations: dict[Any, Dispatcher[P, R]] = {}
        self._configured: dict[Any, Configured[P]] = {}
        for signature in signatures:
            check_result(signature, device)
            check_count(signature, self.source)
            check_text(self, signature)

    def configure(
        self, griddim: _Extent, blockdim: _Extent, stream: Any = 0, sharedmem: SupportsIndex = 0
    ) -> Configured[P]:
        """The same as ``kernel[griddim, blockdim, stream, sharedmem]``."""
        return self[griddim, blockdim, stream, sharedmem]

    def __getitem__(self, config: _Config) -> Configured[P]:
        try:
            found = self._configured.get(config)
        except TypeError:  # a list
            found = None
            if isinstance(config, tuple | list):
                hashable: Any = tuple(tuple(c) if isinstance(c, list) else c for c in config)
                config = hashable
        # 1, 1.0 and True are equal, but only 1 is an extent; the same tuple as before needs no second look
        if found is not None and (found.config is config or _are_ints(config)):
            return found
        return self._configure(config)

    def _configure(self, config: Any) -> Configured[P]:
        if self.is_device_function:
            raise DeviceFunctionLaunchError(
                f"Cannot compile a device function as a kernel: `{self.__name__}` cannot be launched",
                hint="call it from a kernel, or decorate it with plain @cuda.jit",
            )
        if not isinstance(config, tuple) or not 2 <= len(config) <= 4:
            raise LaunchConfigError(
                f"`{self.__name__}[...]` needs grid and block",
                hint=f"launch it as {self.__name__}[blocks, threads_per_block](...)",
            )
        grid, block = config[:2]
        stream = config[2] if len(config) > 2 else 0
        shared = config[3] if len(config) > 3 else 0
        if not (isinstance(stream, int) and stream == 0) and stream is not None:
            # kept by nobody else: a stream in the dictionary would never be freed
            return self[grid, block, 0, shared].on(stream)
        shape = LaunchShape(
            extent(grid, "griddim"),
            extent(block, "blockdim"),
            count(shared, "dynamic shared memory is a number of bytes"),
        )
        check_grid(shape)
        configured: Configured[P] = Configured(self, shape, config)
        if _are_ints(config):  # without the lock: another thread at most makes an equal one
            if len(self._configured) >= _MAX_CONFIGURATIONS:
                self._configured.clear()
            with contextlib.suppress(TypeError):  # a stream that cannot be hashed is none: the launch says so
                self._configured[config] = configured
        return configured

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Raise an error that says how the function is used; in kernels the call is the function's."""
        if self.is_device_function:
            raise DeviceFunctionLaunchError(
                f"`{self.__name__}` is a device function; it runs only inside kernels",
                hint=f"for a test on the host call {self.__name__}.py_func(...)",
            )
        raise LaunchConfigError(
            f"the launch configuration was not specified: `{self.__name__}` is a kernel",
            hint=f"launch it as {self.__name__}[blocks, threads_per_block](...), or {self.__name__}.forall(n)(...)",
        )

    def forall(
        self, ntasks: SupportsIndex, tpb: SupportsIndex = 0, stream: Any = 0, sharedmem: SupportsIndex = 0
    ) -> Callable[P, None]:
        """Launch with at least ``ntasks`` threads in one dimension, ``tpb`` a block (0: chosen for the device)."""
        tasks = count(ntasks, "Can't create ForAll with negative task count: tasks are an integer of at least 0")
        block = count(tpb, "forall takes threads per block, at least 0")

        def launch(*args: P.args, **kwargs: P.kwargs) -> None:
            if tasks == 0:
                return
            caps = _where(args).capabilities
            threads = block or min(256, caps.max_work_group_size, caps.max_work_item_sizes[0])
            self[-(-tasks // threads), threads, stream, sharedmem](*args, **kwargs)

        return launch

    # arguments ------------------------------------------------------------------------------------------------------

    def bind_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Positional arguments, with defaults. Raises `ArgumentCountError`."""
        source = self.source
        names = source.parameters
        if source.arrays:
            return (*self._bind_named(names[:-1], args, kwargs), source.arrays)
        if source.takes_rest:
            names = names[:-1]
            rest = (args[len(names) :],)
            return (*self._bind_named(names, args[: len(names)], kwargs), *rest)
        if len(args) == len(names) and not kwargs:
            return args
        return self._bind_named(names, args, kwargs)

    def _bind_named(self, names: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        values = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names or name in values:
                meant = did_you_mean(name, [n for n in names if n not in values])
                raise ArgumentCountError(
                    f"`{self.__name__}` got an unexpected or repeated argument `{name}`",
                    hint=f"{meant}{self._call_hint()}",
                )
            values[name] = value
        values = {**self.defaults_of(names), **values}
        if len(args) > len(names) or len(values) != len(names):
            given = len(args) + len(kwargs)
            raise ArgumentCountError(
                f"`{self.__name__}` takes {len(names)} arguments, {given} given", hint=self._call_hint()
            )
        return tuple(values[n] for n in names)

    def _call_hint(self) -> str:
        return f"its parameters are {', '.join(p for p in self.source.parameters if p != CAPTURED_ARRAYS)}"

    def capture(self, array: Any) -> bool:
        """Pass a device array that the function reads by name as an item of a further argument from now on.

        False for one that is passed already, and for kernels whose parameters are declared or end with ``*args``.
        """
        with self._lock:
            source = self.source
            if self.declared or source.takes_rest or any(array is known for known in source.arrays):
                return False
            own = source if source.arrays else source.with_parameters((CAPTURED_ARRAYS,))
            self._source = replace(own, arrays=(*source.arrays, array))
        return True

    def specialize(self, *args: Any) -> Dispatcher[P, R]:
        """A kernel for the types of these arguments only; the same object for the same types.

        It is compiled now, without a launch. Type objects such as ``float32[::1]`` stand for arguments of these types.

        Raises `SpecialisationError` for a kernel that is specialised already.
        """
        if self.specialized:
            raise SpecialisationError("Dispatcher already specialized", hint="call the kernel that was specialised")
        bound = self.bind_arguments(args, {})
        if any(isinstance(a, Type) or is_foreign(a) for a in bound):
            found = self._specialized_for(tuple(as_type(a) if is_type(a) else typeof(a) for a in bound))
            for signature in found.declared:
                found.compile(signature)
            return found
        context = current_context()
        bound = self.adopt(bound)
        prepared = self.prepare(bound, context, context.default_stream, HostWork(bound))
        try:
            overload = self.overload(prepared, LaunchShape((1, 1, 1), (1, 1, 1), 0), context)
        except KernelTypeError as error:
            if error.device_array is None or not self.capture(error.device_array):
                raise
            return self.specialize(*args)  # with the array that the kernel captures as a further argument
        found = self._specialized_for(overload.types)
        found.overload(prepared, LaunchShape((1, 1, 1), (1, 1, 1), 0), context)
        return found

    def _specialized_for(self, kinds: tuple[Type, ...]) -> Dispatcher[P, R]:
        with self._lock:
            found = self.specializations.get(kinds)
            if found is None:
                # a declared signature has no way to say compile-time arguments and captured arrays
                source = self.source
                declared = () if source.constexpr or source.arrays else (Signature(types.void, kinds),)
                found = type(self)(self.py_func, options=self.options, signatures=declared, text=self._text)
                if source.arrays:
                    found._source = source
                found.specialized = True
                self.specializations[kinds] = found
        return found

    def adopt(self, args: tuple[Any, ...], lent: Mapping[int, DeviceNDArray] | None = None) -> tuple[Any, ...]:
        """Arguments whose other libraries' arrays are NumPy arrays of the same memory: one that comes twice is one.

        ``lent``: device arrays that take the place of others, by ``id`` of these.
        """
        known: dict[int, Any] = dict(lent or ())
        constexpr = self.source.constexpr
        made = []
        for name, value in zip(self.source.parameters, args, strict=True):
            if type(value) is DeviceNDArray or name in constexpr:
                made.append(value)
                continue
            if id(value) not in known:
                known[id(value)] = conversion.adopted(value, name)
            made.append(known[id(value)])
        return tuple(made)

    def prepare(self, args: tuple[Any, ...], context: Context, stream: Stream, work: HostWork) -> tuple[Any, ...]:
        """Arguments as kernels take them."""
        names, constexpr = self.source.parameters, self.source.constexpr
        check_units(args, names)
        if self.declared:
            args = convert_arguments(self.declared, args, names, self.py_func)
        prepared = []
        hosts: dict[int, Any] = {}  # a NumPy array that is passed twice is one array on the device, too
        for name, value in zip(names, args, strict=True):
            if type(value) is DeviceNDArray and value.context is context and name not in constexpr:
                prepared.append(value)
            elif name in constexpr:
                conversion.check_hashable(name, value)
                prepared.append(value)
            elif id(value) in hosts:
                prepared.append(hosts[id(value)])
            else:
                prepared.append(conversion.prepare(value, name, context, stream, work))
                if isinstance(value, np.ndarray | np.void):
                    hosts[id(value)] = prepared[-1]
        return tuple(prepared)

    def __get__(self, owner: object, kind: type | None = None) -> Dispatcher[P, R]:
        """The kernel itself, also as an attribute of a class; for `help` a kernel is a function."""
        return self

    def __repr__(self) -> str:
        kind = "device function" if self.is_device_function else "kernel"
        return f"<portagpu {kind} {self.__name__}>"

    def __reduce__(self) -> Any:
        return reduced(self)

    def __setstate__(self, values: Named) -> None:
        fill(self, values)

    def __copy__(self) -> Dispatcher[P, R]:
        return self

    def __deepcopy__(self, memo: Any) -> Dispatcher[P, R]:
        """A kernel is copied as functions are: not at all."""
        return self


def _where(args: tuple[Any, ...]) -> Context:
    """The context of a launch without a stream: other libraries' arrays say which, else it is the current one."""
    for value in args:
        view = borrowed_view(value)
        if view is not None:  # quicker than to look at all
            return view.context
    found: Any = place(args, None)[0].context if any(isinstance(a, foreign.arrays) for a in args) else None
    return found or current_context()


def _are_ints(config: Any) -> bool:
    """Whether a launch configuration is made of plain integers and tuples of them."""
    return all(type(c) is int or (type(c) is tuple and all(type(n) is int for n in c)) for c in config)

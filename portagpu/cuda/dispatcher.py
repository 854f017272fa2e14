"""The kernel object: specialisation by argument types, launch, inspection."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyopencl as cl

from portagpu.codegen.program import KernelBinary, generate
from portagpu.cuda import arguments
from portagpu.cuda.arguments import Finish
from portagpu.cuda.signature import check_count, convert_arguments
from portagpu.errors import ArgumentCountError, ArgumentTypeError, KernelError, LaunchConfigError, LaunchError
from portagpu.frontend.calls import PythonFunction
from portagpu.frontend.capture import FunctionSource, capture
from portagpu.frontend.functions import specialise
from portagpu.ir.types import ArgumentType, ConstantType
from portagpu.ir.verify import verify
from portagpu.runtime.array import DeviceNDArray
from portagpu.runtime.checks import count
from portagpu.runtime.context import Context, current_context
from portagpu.runtime.creation import as_device_array, is_device_like
from portagpu.runtime.faults import launch_checked
from portagpu.runtime.launch import CompiledKernel, Extent, LaunchShape, check_shape, extent
from portagpu.runtime.stream import Stream, as_stream
from portagpu.runtime.translate import translate_cl_errors
from portagpu.types import Signature

_MAX_CONFIGURATIONS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class JitOptions:
    """Options of `cuda.jit` that change the generated code."""

    fastmath: bool = False
    debug: bool = False
    boundscheck: bool = False
    opt: bool = True
    block_dim: Extent | None = None

    def build_options(self, context: Context) -> tuple[str, ...]:
        """Options for the driver's compiler."""
        options = ["-w"]
        if not self.opt:
            options.append("-cl-opt-disable")
        if self.fastmath:
            options.append("-cl-fast-relaxed-math")
        elif context.capabilities.correctly_rounded_divide_sqrt:
            options.append("-cl-fp32-correctly-rounded-divide-sqrt")
        return tuple(options)


class OpenCLSources(dict[str, str]):
    """OpenCL C of a kernel by signature; printing shows the text."""

    def __str__(self) -> str:
        return "\n".join(f"// ---- {signature}\n{text}" for signature, text in self.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Overload:
    """One specialisation."""

    signature: tuple[ArgumentType, ...]
    binary: KernelBinary
    compiled: CompiledKernel

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.signature))})"


class Dispatcher(PythonFunction):
    """A function decorated with `cuda.jit`.

    A kernel is launched with ``kernel[grid, block, stream, shared](*args)``; a device function is called from kernels.
    It is specialised for the types of its arguments at the first launch with them.
    """

    __name__: str
    __qualname__: str

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        options: JitOptions,
        device: bool = False,
        signatures: tuple[Signature, ...] = (),
        text: str | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.is_device_function = device
        self.options = options
        self.declared = signatures
        self._source: FunctionSource | None = None
        self._text = text
        self._overloads: dict[Any, Overload] = {}
        self._configured: dict[Any, Configured] = {}
        self._lock = threading.RLock()
        for signature in signatures:
            check_count(signature, self.source)

    @property
    def source(self) -> FunctionSource:
        """The captured Python text."""
        if self._source is None:
            self._source = capture(self.py_func, self._text)
        return self._source

    def captured(self, ctx: Any) -> tuple[FunctionSource, list[Any]]:
        """The source; closures are constants."""
        return self.source, []

    def __getitem__(self, config: Any) -> Configured:
        try:
            found = self._configured.get(config)
        except TypeError:
            found = None
            if isinstance(config, tuple | list):
                config = tuple(tuple(c) if isinstance(c, list) else c for c in config)
        if found is None:
            found = self._configure(config)
        return found

    def _configure(self, config: Any) -> Configured:
        if self.is_device_function:
            raise LaunchConfigError(
                f"`{self.__name__}` is a device function and cannot be launched",
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
        shape = LaunchShape(
            extent(grid, "the grid"),
            extent(block, "the block"),
            count(shared, "dynamic shared memory is a number of bytes"),
        )
        configured = Configured(self, shape, stream)
        with self._lock:
            if len(self._configured) >= _MAX_CONFIGURATIONS:
                self._configured.clear()
            with contextlib.suppress(TypeError):  # a stream that cannot be hashed is none: the launch says so
                self._configured[config] = configured
        return configured

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise an error that says how the function is used."""
        if self.is_device_function:
            raise LaunchError(
                f"`{self.__name__}` is a device function; it runs only inside kernels",
                hint=f"for a test on the host call {self.__name__}.py_func(...)",
            )
        raise LaunchConfigError(
            f"`{self.__name__}` is a kernel and needs a launch configuration",
            hint=f"launch it as {self.__name__}[blocks, threads_per_block](...), or {self.__name__}.forall(n)(...)",
        )

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> Callable[..., None]:
        """Launch with at least ``ntasks`` threads in one dimension, ``tpb`` a block (0: chosen for the device)."""
        tasks = count(ntasks, "forall takes a number of tasks, at least 0")
        block = count(tpb, "forall takes threads per block, at least 0")

        def launch(*args: Any, **kwargs: Any) -> None:
            if tasks == 0:
                return
            caps = current_context().capabilities
            threads = block or min(256, caps.max_work_group_size, caps.max_work_item_sizes[0])
            self[-(-tasks // threads), threads, stream, sharedmem](*args, **kwargs)

        return launch

    # specialisation -----------------------------------------------------------------------------------------------

    def compile(
        self, types: tuple[ArgumentType, ...], context: Context, *, wide: bool = False, shared: int = 0
    ) -> Overload:
        """Specialise and build for argument types."""
        failure: KernelError | None = None
        try:
            binary = self._generate(types, context, wide=wide, shared=shared)
        except KernelError as error:
            failure = error
        if failure is not None:  # the user's mistake: the compiler's own frames would only hide it
            raise failure.with_traceback(None)
        compiled = CompiledKernel(context, binary, self.options.build_options(context))
        return Overload(signature=types, binary=binary, compiled=compiled)

    def _generate(self, types: tuple[ArgumentType, ...], context: Context, *, wide: bool, shared: int) -> KernelBinary:
        caps = context.capabilities
        program = specialise(
            self.source,
            types,
            caps,
            wide_index=wide,
            debug=self.options.debug,
            bounds=self.options.debug or self.options.boundscheck,
            block_dim=self.options.block_dim,
        )
        verify(program)
        static = shared if program.dynamic_shared and shared > caps.local_memory_argument else 0
        return generate(program, caps, static_dynamic_shared=static)

    def overload(self, args: tuple[Any, ...], shape: LaunchShape, context: Context) -> Overload:
        """The specialisation for prepared arguments, compiled if it is new."""
        names = self.source.parameters
        constexpr = self.source.constexpr
        alias = _may_alias(args)
        wide = shape.is_large or _any_large(args)
        dynamic = shape.shared if shape.shared > context.capabilities.local_memory_argument else 0
        parts = tuple(
            _constant_key(a) if n in constexpr else arguments.argument_key(a) for n, a in zip(names, args, strict=True)
        )
        key = (context.key, parts, alias, wide, dynamic)
        found = self._overloads.get(key)
        if found is None:
            with self._lock:
                found = self._overloads.get(key)
                if found is None:
                    types = tuple(
                        ConstantType(a) if n in constexpr else arguments.argument_type(a, alias=alias)
                        for n, a in zip(names, args, strict=True)
                    )
                    found = self._overloads[key] = self.compile(types, context, wide=wide, shared=shape.shared)
        return found

    def bind_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Positional arguments, with defaults. Raises `ArgumentCountError`."""
        names = self.source.parameters
        if len(args) == len(names) and not kwargs:
            return args
        values = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names or name in values:
                raise ArgumentCountError(
                    f"`{self.__name__}` got an unexpected or repeated argument `{name}`", hint=self._call_hint()
                )
            values[name] = value
        defaults = self.py_func.__defaults__ or ()
        for name, value in zip(names[len(names) - len(defaults) :], defaults, strict=True):
            values.setdefault(name, value)
        if len(args) > len(names) or len(values) != len(names):
            given = len(args) + len(kwargs)
            raise ArgumentCountError(
                f"`{self.__name__}` takes {len(names)} arguments, {given} given", hint=self._call_hint()
            )
        return tuple(values[n] for n in names)

    def _call_hint(self) -> str:
        return f"its parameters are {', '.join(self.source.parameters)}"

    # inspection -----------------------------------------------------------------------------------------------------

    @property
    def overloads(self) -> dict[str, Overload]:
        """Specialisations by signature."""
        return {str(o): o for o in self._overloads.values()}

    @property
    def signatures(self) -> list[tuple[ArgumentType, ...]]:
        """Argument types of the specialisations."""
        return [o.signature for o in self._overloads.values()]

    def inspect_opencl(self) -> OpenCLSources:
        """OpenCL C of each specialisation, by signature; empty before the first launch. Print it to read it."""
        return OpenCLSources((str(o), o.binary.source) for o in self._overloads.values())

    def specialize(self, *args: Any) -> Dispatcher:
        """Compile for these arguments now, without a launch. Returns the kernel itself."""
        context = current_context()
        finish: list[Finish] = []
        bound = self.bind_arguments(args, {})
        prepared = self.prepare(bound, context, context.default_stream, finish)
        self.overload(prepared, LaunchShape((1, 1, 1), (1, 1, 1), 0), context)
        return self

    def prepare(self, args: tuple[Any, ...], context: Context, stream: Stream, finish: list[Finish]) -> tuple[Any, ...]:
        """Arguments as kernels take them."""
        names, constexpr = self.source.parameters, self.source.constexpr
        if self.declared:
            args = convert_arguments(self.declared, args, names)
        prepared = []
        hosts: dict[int, Any] = {}  # a NumPy array that is passed twice is one array on the device, too
        for name, value in zip(names, args, strict=True):
            if name in constexpr:
                _check_hashable(name, value)
                prepared.append(value)
            elif id(value) in hosts:
                prepared.append(hosts[id(value)])
            else:
                prepared.append(arguments.prepare(value, name, context, stream, finish))
                if isinstance(value, np.ndarray):
                    hosts[id(value)] = prepared[-1]
        return tuple(prepared)

    def __repr__(self) -> str:
        kind = "device function" if self.is_device_function else "kernel"
        return f"<portagpu {kind} {self.__name__}>"

    def __reduce__(self) -> Any:
        return self.__qualname__  # pickled by reference, like a function


def _constant_key(value: Any) -> Any:
    """A key that tells compile-time arguments apart which compare equal: 1 and 1.0, 0.0 and -0.0; nan is itself."""
    if isinstance(value, tuple):
        return tuple(_constant_key(item) for item in value)
    if isinstance(value, float | np.floating):
        return (type(value), repr(value))
    return (type(value), value)


def _check_hashable(name: str, value: Any) -> None:
    try:
        hash(value)
    except TypeError as error:
        raise ArgumentTypeError(
            f"`{name}` is a compile-time parameter and must be hashable, not a {type(value).__name__}",
            hint="pass a number, a tuple of numbers, a dtype or a device function",
        ) from error


def _arrays(args: tuple[Any, ...]) -> list[DeviceNDArray]:
    found = []
    for value in args:
        if isinstance(value, DeviceNDArray):
            found.append(value)
        elif isinstance(value, tuple):
            found += _arrays(value)
    return found


def _may_alias(args: tuple[Any, ...]) -> bool:
    """Whether two arguments lie in one allocation, so that the kernel must not assume that they are apart."""
    arrays = _arrays(args)
    if len(arrays) < 2:
        return False
    return len({a.allocation_key for a in arrays}) < len(arrays)


def _any_large(args: tuple[Any, ...]) -> bool:
    return any(a.is_large for a in _arrays(args))


class Configured:
    """A kernel with a launch configuration; call it with the arguments."""

    __slots__ = ("_checked", "_dispatcher", "_last", "_stream", "shape")

    def __init__(self, dispatcher: Dispatcher, shape: LaunchShape, stream: Any) -> None:
        self._dispatcher = dispatcher
        self.shape = shape
        self._stream = stream
        self._checked: set[Any] = set()

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Launch the kernel."""
        dispatcher = self._dispatcher
        args = dispatcher.bind_arguments(args, kwargs)
        context = _context_of(args, self._stream)
        stream = as_stream(self._stream, context)
        finish: list[Finish] = []
        prepared = dispatcher.prepare(args, context, stream, finish)
        overload = dispatcher.overload(prepared, self.shape, context)
        compiled = overload.compiled
        if compiled not in self._checked:
            check_shape(self.shape, context.capabilities, context.device.name)
            self._check_shared(overload, context)
            compiled.check_block(self.shape)
            self._checked.add(compiled)
        if overload.binary.prints:
            context.prints = True
        if overload.binary.faults:
            with translate_cl_errors(context):
                launch_checked(compiled, stream.queue, self.shape, prepared)
        else:
            values = compiled.extract(prepared, self.shape.shared)
            with translate_cl_errors(context):
                compiled.launch(stream.queue, self.shape, values)
        for action in finish:
            action()

    def _check_shared(self, overload: Overload, context: Context) -> None:
        used = overload.binary.static_shared + self.shape.shared
        caps = context.capabilities
        limit = max(caps.local_memory_static, caps.local_memory_argument)
        if used > limit:
            raise LaunchConfigError(
                f"the launch needs {used} bytes of shared memory; {context.device.name} has {limit}",
                hint="make the tiles or the dynamic shared memory smaller",
            )


def _context_of(args: tuple[Any, ...], stream: Any) -> Context:
    """Context of the stream or of the first device array, else the current one."""
    if isinstance(stream, Stream):
        return stream.context
    for value in args:
        if isinstance(value, DeviceNDArray):
            return value.context
        if is_device_like(value):
            return as_device_array(value).context
    if isinstance(stream, cl.CommandQueue):
        return Context.wrap(stream)
    return current_context()

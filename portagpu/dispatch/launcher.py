"""A kernel with its launch configuration, `kernel[grid, block]`, and the launch itself."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable
from typing import Any, Generic, Protocol

from portagpu.dispatch.arguments.extensions import extend
from portagpu.dispatch.counting.countable import Countable
from portagpu.dispatch.counting.work import Work
from portagpu.dispatch.launch_plans import Plan, plan_of
from portagpu.dispatch.overload import Overload
from portagpu.dispatch.type_variables import P
from portagpu.errors import CudaAPIError, KernelError, KernelTypeError, LaunchConfigError, LaunchError
from portagpu.package_stamp import is_of_package
from portagpu.runtime.arrays.host_memory import finished
from portagpu.runtime.arrays.lending import lent_now
from portagpu.runtime.execution.context import Context, context_of
from portagpu.runtime.execution.ordering import enqueuing
from portagpu.runtime.host_arguments import HostWork
from portagpu.runtime.performance_warnings import advise, remark
from portagpu.runtime.placement import place
from portagpu.runtime.programs.kernel_exceptions import launch_checked
from portagpu.runtime.programs.launch_shape import Extent, LaunchShape, check_shape
from portagpu.settings import Settings

_MOST_PLANS = 64  # of a configuration


class Launchable(Countable, Protocol):
    """What a launch asks of a kernel: see `portagpu.dispatch.dispatcher.Dispatcher`."""

    def overload(self, args: tuple[Any, ...], shape: LaunchShape, context: Context) -> Overload:
        """The specialisation for prepared arguments, compiled if it is new."""
        ...

    def capture(self, array: Any) -> bool:
        """Pass a device array that the function reads by name as a further argument from now on, where that can be."""
        ...


class Configured(Generic[P]):
    """A kernel with a launch configuration; call it with the arguments."""

    __slots__ = ("_base", "_checked", "_dispatcher", "_plan", "_plans", "_stream", "config", "shape")

    def __init__(self, dispatcher: Launchable, shape: LaunchShape, config: Any) -> None:
        self._dispatcher = dispatcher
        self.shape = shape
        self.config = config
        self._stream: Any = None
        self._base: Configured[P] | None = None  # the same one without a stream, which the dispatcher keeps
        self._plan: Plan | None = None  # of the latest launch that has one
        self._plans: dict[int, Plan] = {}
        self._checked: set[int] = set()  # keys of kernels that were found to fit

    @property
    def griddim(self) -> Extent:
        """Blocks of the grid along x, y and z."""
        return self.shape.grid

    @property
    def blockdim(self) -> Extent:
        """Threads of a block along x, y and z."""
        return self.shape.block

    @property
    def sharedmem(self) -> int:
        """Bytes of dynamic shared memory."""
        return self.shape.shared

    @property
    def stream(self) -> Any:
        """The stream that was named, or 0."""
        return 0 if self._stream is None else self._stream

    @property
    def dispatcher(self) -> Launchable:
        """The kernel."""
        return self._dispatcher

    def __reduce__(self) -> Any:
        """Pickled as the kernel and its configuration, without a stream."""
        return operator.getitem, (self._dispatcher, (self.griddim, self.blockdim, 0, self.sharedmem))

    def on(self, stream: Any) -> Configured[P]:
        """The same configuration on a stream."""
        other: Configured[P] = Configured(self._dispatcher, self.shape, self.config)
        other._stream, other._checked = stream, self._checked
        other._base, other._plan, other._plans = self, self._plan, self._plans  # plans name no stream
        return other

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Launch the kernel."""
        plan = self._plan
        if plan is not None and not kwargs and not self._dispatcher.extensions and plan.again(self._stream, args):
            return
        try:
            self._launch(args, kwargs)
            return
        except (KernelError, LaunchError) as error:
            array = error.device_array if isinstance(error, KernelTypeError) else None
            if array is None or not self._dispatcher.capture(array):
                if Settings.from_environment().traceback:
                    raise
                # the caller's mistake: our own frames would only hide it; what the driver said is a cause
                raise error.with_traceback(None) from (error.__cause__ if isinstance(error, CudaAPIError) else None)
        self(*args, **kwargs)  # with the array that the kernel captures as a further argument

    def count_work(self, *args: P.args, **kwargs: P.kwargs) -> Work:
        """The work of the launch with these arguments: FLOP and bytes, exactly, as the program has them.

        The kernel runs once, on copies of the arrays, in a form of it that counts; the arguments stay as they are.
        Raises `UncountedWorkError` for a launch that cannot be counted exactly.
        """
        from portagpu.dispatch.counting.launches import count_work  # few programs count

        try:
            return count_work(self._dispatcher, self.shape, self._stream, args, kwargs)
        except (KernelError, LaunchError) as error:
            if Settings.from_environment().traceback:
                raise
            raise error.with_traceback(None) from (error.__cause__ if isinstance(error, CudaAPIError) else None)

    def _launch(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        dispatcher = self._dispatcher
        given = dispatcher.bind_arguments(args, kwargs)
        lent = lent_now(self._stream)
        args = dispatcher.adopt(given, lent)
        stream, others = place(args, self._stream)
        context = context_of(stream)
        after: list[Callable[[], None]] = []
        if dispatcher.extensions:
            args, after = extend(tuple(dispatcher.extensions), args, stream)
        work = HostWork(args)
        work.after += after
        if lent:  # its owner looks at the memory when the launch returns
            work.after.append(stream.synchronize)
        prepared = dispatcher.prepare(args, context, stream, work)
        overload = dispatcher.overload(prepared, self.shape, context)
        shape = self.shape.fused(overload.kernel_source.fused)
        compiled = overload.compiled
        if compiled.key not in self._checked:
            check_shape(shape, context.capabilities, context.device.name)
            self._check_shared(overload, context)
            compiled.check_block(shape)
            self._checked.add(compiled.key)
            remark(context, self.shape, overload.kernel_source.remarks)
            if not is_of_package(dispatcher.source.function):  # whose users have no say in it
                advise(context, self.shape, args, overload.kernel_source.findings)
        for other in others:
            stream.wait_stream(other)
        if overload.kernel_source.prints:
            context.prints = True
        with finished(stream) if work.pending else contextlib.nullcontext():
            with enqueuing(stream) as queue:
                if overload.kernel_source.faults:
                    launch_checked(compiled, queue, shape, prepared)
                else:
                    compiled.launch(queue, shape, compiled.extract(prepared, self.shape.shared))
            for other in others:
                other.wait_stream(stream)
            work.finish()
        if not dispatcher.extensions and not lent:
            self._follow(given, prepared, overload)

    def _follow(self, given: tuple[Any, ...], prepared: tuple[Any, ...], overload: Overload) -> None:
        """Take the plan for launches with arguments like these from now on."""
        plan = self._plans.get(overload.compiled.key)
        if plan is None or not plan.takes(given):
            source = self._dispatcher.source
            constants = frozenset(n for n, name in enumerate(source.parameters) if name in source.constexpr)
            # where a parameter takes the rest, what is given differs from what it is bound to
            plan = None if source.takes_rest else plan_of(given, prepared, overload, self.shape, constants)
            if plan is not None:
                if len(self._plans) >= _MOST_PLANS:
                    self._plans.clear()  # most are of kernels that are gone
                self._plans[overload.compiled.key] = plan
        self._plan = plan
        if self._base is not None:  # `kernel[grid, block, stream]` makes a new configuration each time
            self._base._plan = plan

    def _check_shared(self, overload: Overload, context: Context) -> None:
        fused = overload.kernel_source.fused
        used = overload.kernel_source.static_shared + self.shape.shared * (1 if fused is None else fused.blocks)
        caps = context.capabilities
        limit = max(caps.local_memory_static, caps.local_memory_argument)
        if used > limit:
            raise LaunchConfigError(
                f"the launch needs {used} bytes of shared memory; {context.device.name} has {limit}",
                hint="make the tiles or the dynamic shared memory smaller",
            )

"""A kernel's definition: the Python function, its options and declared signatures, and the IR that it lowers to."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from portagpu.device.capabilities import Capabilities
from portagpu.dispatch.code.options import JitOptions
from portagpu.frontend.source.callables import PythonFunction
from portagpu.frontend.source.capture import FunctionSource, capture
from portagpu.frontend.source.dependencies import Dependencies
from portagpu.ir.program import GridShape, Program
from portagpu.ir.types import ArgumentType
from portagpu.package_stamp import is_of_package
from portagpu.runtime.programs.launch_shape import Extent
from portagpu.types import Signature

if TYPE_CHECKING:
    from portagpu.passes.pipeline import Pass


class KernelDefinition(PythonFunction):
    """A Python function with the options of `cuda.jit`: all that generated code depends on, and no device."""

    __qualname__: str
    options: JitOptions
    declared: tuple[Signature, ...]
    specialized: bool  # for one signature
    is_filled: bool  # one that came from another process: with what its code names

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
        self.is_inlined = options.forceinline
        self.options = options
        self.declared = signatures
        self.specialized = self.is_filled = False
        self._source: FunctionSource | None = None
        self._text = text

    @property
    def keeps_code(self) -> bool:
        """Whether generated code is kept on disk: with ``cache=True``, and that of the package's own kernels."""
        return self.options.cache or is_of_package(self.py_func)

    @property
    def source(self) -> FunctionSource:
        """The captured Python text."""
        if self._source is None:
            self._source = capture(self.py_func, self._text)
        return self._source

    def defaults_of(self, names: Sequence[str]) -> dict[str, Any]:
        """The defaults of the last of these parameters, as Python has them."""
        defaults = self.py_func.__defaults__ or ()
        return dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))

    def lowered(
        self,
        types: tuple[ArgumentType, ...],
        caps: Capabilities,
        *,
        wide: bool = False,
        launch: GridShape | None = None,
        block: Extent | None = None,
        dependencies: Dependencies | None = None,
        passes: tuple[Pass, ...] | None = None,
    ) -> Program:
        """The typed IR for a device with these capabilities, after a back end's passes (None: all of them).

        ``dependencies`` records what else it depends on.
        """
        from portagpu.dispatch.code.lowering import lower_kernel  # the compiler, for kernels whose code is not kept

        return lower_kernel(
            self.source,
            types,
            caps,
            wide_index=wide,
            debug=self.options.debug,
            fast="fast" in self.options.fastmath,
            fma=self.options.fma,
            bounds=self.options.debug or self.options.boundscheck,
            block_dim=self.options.block_dim or block,
            cluster=self.options.cluster,
            launch=launch,
            dependencies=dependencies,
            passes=passes,
        )

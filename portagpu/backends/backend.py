"""What a back end is: an object that lists devices, makes text of programs, and drives one kind of driver.

A `Backend` stands for an interface such as OpenCL, CUDA's driver or SYCL, or for an interpreter. The registry
(`portagpu.backends.registry`) knows it by name, and a device names its back end, so that nothing above knows which
there are. `Backend.open` gives a `portagpu.backends.driver.Driver`: a device with a native context.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from portagpu.backends.compilers import BuildOptions
from portagpu.backends.diagnosis import DriverReport
from portagpu.backends.driver import Driver
from portagpu.backends.foreign import ForeignObjects
from portagpu.backends.languages import KernelLanguage
from portagpu.backends.offline import Compiled, CompilerVersion, OfflineTarget
from portagpu.backends.source import KernelSource
from portagpu.device.capabilities import Capabilities
from portagpu.device.ideal_device import PORTABLE
from portagpu.device.rates import Rates
from portagpu.device.record import DeviceRecord
from portagpu.device.sources import DeviceSource
from portagpu.errors import DeviceSelectionError, PortaGPUError
from portagpu.ir.operations import not_rendered
from portagpu.ir.program import Program
from portagpu.ir.recursion import deeply_nested
from portagpu.ir.walk import named_nodes
from portagpu.settings import Settings

if TYPE_CHECKING:
    from portagpu.passes.pipeline import Pass


class Translation(Protocol):
    """Makes a typed error of one that a driver raises: `OutOfMemoryError`, `DeviceLostError` or `DriverError`."""

    def __call__(self, error: Any, /, *, name: str, memory: int | None, is_alive: Callable[[], bool]) -> PortaGPUError:
        """``name`` and ``memory`` (bytes) of the device are for the text; ``is_alive`` tells, at some cost, whether the
        device still answers."""


class Backend(ForeignObjects, DeviceSource, ABC):
    """A kind of driver: OpenCL, CUDA, SYCL, an interpreter; see the module."""

    name: str
    title: str
    to_install: str
    errors: ClassVar[tuple[type[Exception], ...]] = ()
    """`Driver.errors` of its drivers."""
    translated: ClassVar[Translation]
    """The typed error for one of `errors`."""
    build_options: ClassVar[BuildOptions]
    """Options of the compiler for a text of `render`."""
    passes: ClassVar[tuple[Pass, ...] | None] = None
    """What programs go through before `render`; an interpreter may ask for fewer passes, or none. None: all."""
    ideal: ClassVar[Capabilities] = PORTABLE
    """A device that can do all that the language says: text for it is shown where there is no device."""

    @abstractmethod
    def open(self, device: DeviceRecord, native: Any = None) -> Driver:
        """A device with a new native context, or with a user's. Raises `PortaGPUError`."""

    # text of programs and its compilers -----------------------------------------------------------------------------

    @property
    @abstractmethod
    def language(self) -> KernelLanguage:
        """What programs are rendered in."""

    @deeply_nested
    def check(self, program: Program) -> None:
        """Raise `LoweringError` for an operation or instruction that the language does not know."""
        known = self.language.operations
        for function in (*program.functions, program.kernel):
            for node in named_nodes(function.body):
                if node.name not in known:
                    raise not_rendered(node, self.name)

    def render(
        self,
        program: Program,
        capabilities: Capabilities,
        *,
        static_dynamic_shared: int = 0,
        subgroup_size: int | None = None,
    ) -> KernelSource:
        """The text of a typed program for its compiler; see `portagpu.backends.languages.Generate`."""
        return self.language.generate(
            program, capabilities, static_dynamic_shared=static_dynamic_shared, subgroup_size=subgroup_size
        )

    def spill_remarks(self, capabilities: Capabilities) -> tuple[str, ...]:
        """Options that make the compiler say what it keeps in memory for want of registers; none where it cannot."""
        return ()

    def targets(self) -> tuple[OfflineTarget, ...]:
        """Hardware that `compile_offline` compiles for; it need not be present."""
        return ()

    def missing_packages(self, target: OfflineTarget) -> tuple[str, ...]:
        """What to install before `compile_offline` compiles for a target; nothing where all is there."""
        return ()

    def compiler_version(self, target: OfflineTarget) -> CompilerVersion | None:
        """Which compiler `compile_offline` runs for a target; None where it cannot be told."""
        return None

    def compile_offline(self, target: OfflineTarget, source: str, options: tuple[str, ...]) -> Compiled:
        """Compile a text of `render` for a target. Raises `MissingCompilerError`, `BuildError`."""
        raise DeviceSelectionError(f"{self.name} compiles for no hardware that is not present")

    # devices --------------------------------------------------------------------------------------------------------

    def examine(self, settings: Settings, records: Sequence[DeviceRecord], *, fresh: bool) -> DriverReport:
        """What is installed of its drivers, and what is wrong with them; ``records`` are the devices that were found.

        ``fresh`` looks at each again instead of trusting the cache.
        """
        return DriverReport()

    def measure(self, device: DeviceRecord) -> Rates | None:
        """Measure what a device reaches; None where it cannot be measured."""
        return None

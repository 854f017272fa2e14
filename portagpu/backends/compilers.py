"""What drivers' compilers are asked for."""

from __future__ import annotations

from typing import Protocol

from portagpu.device.capabilities import Capabilities

NOT_OPTIMISED = "// threads choose between arrays: this driver compiles that rightly without optimisation"
UNOPTIMISED = "-cl-opt-disable"  # OpenCL's option, also of the driver below SYCL


class CompilerOptions(Protocol):
    """What `cuda.jit` was asked for that a driver's compiler does; see `portagpu.dispatch.code.options.JitOptions`."""

    @property
    def fastmath(self) -> frozenset[str]:
        """What the compiler may take for granted, by LLVM's names; "fast": all."""

    @property
    def opt(self) -> bool:
        """Whether it optimises."""

    @property
    def max_registers(self) -> int | None:
        """Registers that a thread may have."""


class BuildOptions(Protocol):
    """Tells the options of a driver's compiler."""

    def __call__(self, asked: CompilerOptions, caps: Capabilities, source: str, /) -> tuple[str, ...]:
        """For a device with these capabilities and a text of its back end's."""

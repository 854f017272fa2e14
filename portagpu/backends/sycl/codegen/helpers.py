"""SYCL C++'s helpers: barriers, and what their templates see."""

from __future__ import annotations

from portagpu.backends.c_family.helpers import HelperSet, HelperView
from portagpu.backends.sycl.codegen.language import PlainSyclCpp, SyclCpp
from portagpu.device.capabilities import Capabilities


class SyclHelpers(HelperSet):
    """Collects the helpers of a program in SYCL C++."""

    def __init__(
        self, caps: Capabilities, functions: dict[str, str], *, has_barriers: bool = False, fuses: bool = True
    ) -> None:
        language = SyclCpp() if caps.free_function_kernels else PlainSyclCpp()
        super().__init__(language, caps, functions, has_barriers=has_barriers, fuses=fuses)

    def view(self, common: HelperView) -> HelperView:
        """The view as it is."""
        return common

    def barrier(self) -> str:
        """A barrier of the work-group: twice where the driver needs that (docs/driver-quirks.md)."""
        call = "sycl::group_barrier(pg_item().get_group())"
        return call if self.caps.single_barriers else f"{call}; {call}"

    def local_barrier(self) -> str:
        """The same: SYCL's barriers are for all memory."""
        return self.barrier()

"""OpenCL C's helpers: what their templates see beside types, and the extensions that a program enables."""

from __future__ import annotations

from dataclasses import dataclass, fields

from portagpu.backends.c_family.helpers import HelperSet, HelperView
from portagpu.backends.opencl.codegen.language import OpenCLC
from portagpu.backends.opencl.codegen.ptx import PTX_TYPES, REGISTERS
from portagpu.device.capabilities import Capabilities, DeviceType
from portagpu.dtypes import FLOAT16


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCLHelperView(HelperView):
    """What a template of OpenCL C sees."""

    cas: str  # compare-and-exchange function of that size
    ptx: str  # PTX type, such as f32
    register: str  # constraint letter of that type in inline PTX
    fence: str  # after an update of shared memory by another type's atomics


_COMMON = tuple(field.name for field in fields(HelperView))
# of a thread's own accesses to shared memory; on a CPU any makes the compiler forget, but a full one takes longer than
# the update that it follows
_FENCE, _FENCE_OF_CPUS = "mem_fence(CLK_LOCAL_MEM_FENCE)", "write_mem_fence(CLK_LOCAL_MEM_FENCE)"


class OpenCLHelpers(HelperSet):
    """Collects the helpers and extensions of a program in OpenCL C."""

    def __init__(
        self, caps: Capabilities, functions: dict[str, str], *, has_barriers: bool = False, fuses: bool = True
    ) -> None:
        super().__init__(OpenCLC(), caps, functions, has_barriers=has_barriers, fuses=fuses)

    def view(self, common: HelperView) -> HelperView:
        """The view with OpenCL C's words."""
        return OpenCLHelperView(
            **{name: getattr(common, name) for name in _COMMON},
            cas="atom_cmpxchg" if common.width == 64 else "atomic_cmpxchg",
            ptx=PTX_TYPES.get(common.type, ""),
            register=REGISTERS.get(common.type, ""),
            fence=_FENCE_OF_CPUS if self.caps.device_type is DeviceType.CPU else _FENCE,
        )

    def barrier(self) -> str:
        """A barrier for all memory: twice where the driver needs that (docs/driver-quirks.md)."""
        return self._barrier("CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE")

    def local_barrier(self) -> str:
        """A barrier for shared memory."""
        return self._barrier("CLK_LOCAL_MEM_FENCE")

    def _barrier(self, memory: str) -> str:
        call = f"barrier({memory})"
        return call if self.caps.single_barriers else f"{call}; {call}"

    def note_extensions_of_types(self) -> None:
        """Require the extensions that the types of the program need."""
        if any(dtype.needs_fp64 for dtype in self.dtypes):
            self.extension("cl_khr_fp64")
        if FLOAT16 in self.dtypes:
            self.extension("cl_khr_fp16")

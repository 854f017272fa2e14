"""Helper functions that a program needs: each is a template definition rendered for its types."""

from __future__ import annotations

from dataclasses import dataclass

from portagpu.backends.opencl.codegen.ptx import PTX_TYPES, REGISTERS
from portagpu.device.capabilities import Capabilities, DeviceType
from portagpu.dtypes import FLOAT16, DType
from portagpu.ir.types import Pointer, Scalar, Struct, Type, Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class HelperView:
    """What a helper's template sees: its C name and types."""

    file: str  # of templates
    template: str  # the definition in it
    variant: str  # what the definition may be asked for
    name: str
    inline: str  # how it is declared, where it may take a pointer to shared memory
    type: str  # C type it works on
    lanes: str  # how many, of a vector
    part: str  # type of the real and imaginary parts of a complex one
    space: str  # address space qualifier, or empty
    bits: str  # signed integer type of the same size
    unsigned: str  # unsigned integer type of the same size
    width: int  # bits of the type
    is_signed: bool
    is_float: bool
    cas: str  # compare-and-exchange function of that size
    ptx: str  # PTX type, such as f32
    register: str  # constraint letter of that type in inline PTX
    fence: str  # after an update of shared memory by another type's atomics
    barrier: str  # statement: a barrier of the block for all memory
    local_barrier: str  # the same for shared memory alone
    contract: str  # pragma at the start of a function of floats, or empty


_UNSIGNED = {
    "char": "uchar",
    "short": "ushort",
    "int": "uint",
    "long": "ulong",
    "float": "uint",
    "double": "ulong",
    "half": "ushort",
}
_BITS = {
    "char": "char",
    "short": "short",
    "int": "int",
    "long": "long",
    "float": "int",
    "double": "long",
    "half": "short",
}
_WIDTH = {"char": 8, "short": 16, "half": 16, "int": 32, "float": 32, "long": 64, "double": 64}
# LLVM puts an array that a function gets at all its calls in place of the parameter, and some CPU drivers give each
# block its own array only where the kernel itself names it: blocks that run at the same time would share one
INLINE = "static inline"
INLINE_SHARED = "__attribute__((always_inline)) static inline"

# of a thread's own accesses to shared memory; on a CPU any makes the compiler forget, but a full one takes longer than
# the update that it follows
_FENCE, _FENCE_OF_CPUS = "mem_fence(CLK_LOCAL_MEM_FENCE)", "write_mem_fence(CLK_LOCAL_MEM_FENCE)"

_SPACES = {"": "", "__global": "global", "__local": "local", "__private": "private"}


class HelperSet:
    """Collects the helpers, extensions and device functions that printed code refers to."""

    def __init__(self, caps: Capabilities, function_names: dict[str, str], *, has_barriers: bool = False) -> None:
        self.caps = caps
        self.has_barriers = has_barriers
        self.hides_negations = has_barriers and not caps.keeps_negations
        self.hides_cases = has_barriers and not caps.takes_all_cases
        self._function_names = function_names
        self._views: dict[str, HelperView] = {}
        self._dtypes: set[DType] = set()
        self.extensions: dict[str, None] = {}
        self.declarations: dict[str, None] = {}  # of functions that a compiler has, and perhaps no header of it

    def function_name(self, function: str) -> str:
        """C name of a device function."""
        return self._function_names[function]

    def use(self, file: str, template: str, c_type: str, space: str = "", *, variant: str = "") -> str:
        """Require the helper of a definition in a file of templates, and return its C name."""
        name = "_".join(p for p in ("pg", template, variant, c_type, _SPACES[space]) if p)
        if name not in self._views:
            part = c_type.rstrip("0123456789")
            signed = part.removeprefix("u")
            self._views[name] = HelperView(
                file=file,
                template=template,
                variant=variant,
                name=name,
                inline=INLINE if space and space != "__local" else INLINE_SHARED,
                type=c_type,
                lanes=c_type[len(part) :],
                part=part,
                space=space,
                bits=_BITS[signed],
                unsigned=_UNSIGNED[signed],
                width=_WIDTH[signed],
                is_signed=not c_type.startswith("u"),
                is_float=c_type in ("float", "double", "half"),
                cas="atom_cmpxchg" if _WIDTH[signed] == 64 else "atomic_cmpxchg",
                ptx=PTX_TYPES.get(c_type, ""),
                register=REGISTERS.get(c_type, ""),
                fence=_FENCE_OF_CPUS if self.caps.device_type is DeviceType.CPU else _FENCE,
                barrier=f"{self.barrier()};",
                local_barrier=f"{self.barrier('CLK_LOCAL_MEM_FENCE')};",
                contract="#pragma OPENCL FP_CONTRACT OFF" if self.hides_negations else "",
            )
        return name

    def barrier(self, memory: str = "CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE") -> str:
        """A barrier of the block, without the semicolon: twice where the driver needs that (docs/driver-quirks.md)."""
        call = f"barrier({memory})"
        return call if self.caps.single_barriers else f"{call}; {call}"

    def hidden_case(self, text: str) -> str:
        """An integer for which another is tested: known at the launch alone where the driver needs that.

        A compiler that knows it may make a switch of tests for all values, which a driver takes for ways out of the
        kernel (docs/driver-quirks.md).
        """
        return f"({text} ^ (int)(get_work_dim() >> 3))" if self.hides_cases else text

    def note(self, kind: Type) -> None:
        """Note that a type occurs in the program."""
        if isinstance(kind, Pointer):
            kind = kind.element
        if isinstance(kind, Struct):
            for item in kind.items:
                self.note(item)
        elif isinstance(kind, Scalar | Vector):
            self._dtypes.add(kind.dtype)

    def note_extensions_of_types(self) -> None:
        """Require the extensions that the types of the program need."""
        if any(dtype.needs_fp64 for dtype in self._dtypes):
            self.extension("cl_khr_fp64")
        if FLOAT16 in self._dtypes:
            self.extension("cl_khr_fp16")

    def extension(self, name: str) -> None:
        """Require an OpenCL extension's pragma."""
        if name in self.caps.extensions:
            self.extensions.setdefault(name)

    def declare(self, text: str) -> None:
        """Require a declaration."""
        self.declarations.setdefault(text)

    @property
    def views(self) -> tuple[HelperView, ...]:
        """The helpers in order of first use."""
        return tuple(self._views.values())

"""Objects that kernels name: `portagpu.cuda` re-exports them, the frontend recognises them by identity."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from portagpu.dialect.reference.core import ENTRIES, GROUPS, entry_of
from portagpu.dtypes import ALL, DType
from portagpu.errors import KernelOnlyError, unknown_attribute
from portagpu.types import Number


class _OwnText:
    """``__doc__`` of a class whose objects have texts of their own, which `help` shows."""

    def __init__(self, text: str | None) -> None:
        self._text = text

    def __get__(self, found: Any, owner: type) -> str | None:
        return self._text if found is None else found.help_text or self._text


class _OwnSignature:
    """``__signature__`` of the objects of a class, for `inspect`, `help` and editors; the class itself has none."""

    def __get__(self, found: Any, owner: type) -> inspect.Signature | None:
        if found is None:
            raise AttributeError("__signature__")
        meaning = entry_of(found.name)
        return None if meaning is None else meaning.call


@dataclass(frozen=True, slots=True, repr=False)
class Intrinsic:
    """A function or value that exists only inside kernels."""

    name: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # what follows it in a kernel is not unreachable
        """Raise: on the host there is nothing to call."""
        raise KernelOnlyError(
            f"cuda.{self.name} works only inside a kernel or device function",
            hint="decorate the function that calls it with @cuda.jit and launch it with kernel[grid, block](...)",
        )

    # Arithmetic on these objects is typed as Any so that kernels check under a static type checker.
    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise KernelOnlyError(f"cuda.{self.name}.{attribute} does not exist, or works only inside a kernel")

    def __reduce__(self) -> Any:
        return Intrinsic, (self.name,)

    def __repr__(self) -> str:
        return f"portagpu.cuda.{self.name}"

    @property
    def help_text(self) -> str | None:
        """What it takes, gives and means."""
        found = entry_of(self.name)
        return None if found is None else found.help(self.name)


Intrinsic.__doc__ = _OwnText(Intrinsic.__doc__)  # type: ignore[assignment]
Intrinsic.__signature__ = _OwnSignature()  # type: ignore[attr-defined]


class Namespace:
    """A group of intrinsics under one name, such as ``cuda.threadIdx`` or ``cuda.atomic``."""

    def __init__(self, name: str, members: dict[str, Any]) -> None:
        self._name = name
        self._members = members
        self.name = name
        self.__doc__ = f"{GROUPS[name]} It has {', '.join(members)}."
        for key, value in members.items():
            setattr(self, key, value)

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        hint = f"it has {', '.join(self._members)}"
        raise unknown_attribute(f"cuda.{self._name}", attribute, self, self._members, hint=hint)

    @property
    def members(self) -> tuple[str, ...]:
        """Names of what is in the group."""
        return tuple(self._members)

    def __repr__(self) -> str:
        return f"<portagpu.cuda.{self._name}>"

    def __reduce__(self) -> str:
        return self._name


def _group(name: str) -> Namespace:
    """The names of a group that the reference has, such as ``atomic.add``; without what their results have."""
    members = [entry.removeprefix(f"{name}.") for entry in ENTRIES if entry.startswith(f"{name}.") and "(" not in entry]
    return Namespace(name, {member: Intrinsic(f"{name}.{member}") for member in members})


threadIdx = _group("threadIdx")
blockIdx = _group("blockIdx")
blockDim = _group("blockDim")
gridDim = _group("gridDim")
shared = _group("shared")
local = _group("local")
const = _group("const")
atomic = _group("atomic")
cg = _group("cg")


class GridGroup:
    """What ``cuda.cg.this_grid()`` gives inside a kernel: all threads of the grid."""

    sync = Intrinsic("cg.this_grid().sync")

    def __repr__(self) -> str:
        return "<the grid's group>"

    def __reduce__(self) -> str:
        return "GRID_GROUP"


GRID_GROUP = GridGroup()


class ClusterGroup:
    """What ``cuda.cg.this_cluster()`` gives inside a kernel: all threads of the block's cluster."""

    block_rank = Intrinsic("cg.this_cluster().block_rank")
    num_blocks = Intrinsic("cg.this_cluster().num_blocks")
    sync = Intrinsic("cg.this_cluster().sync")
    barrier_arrive = Intrinsic("cg.this_cluster().barrier_arrive")
    barrier_wait = Intrinsic("cg.this_cluster().barrier_wait")
    map_shared_rank = Intrinsic("cg.this_cluster().map_shared_rank")

    def __repr__(self) -> str:
        return "<the cluster's group>"

    def __reduce__(self) -> str:
        return "CLUSTER_GROUP"


CLUSTER_GROUP = ClusterGroup()

# names that are in no group, such as ``cuda.grid``
INTRINSICS: dict[str, Intrinsic] = {name: Intrinsic(name) for name in ENTRIES if "." not in name}


class ConstExpr:
    """Annotation of a kernel parameter that is bound when the kernel is specialised.

    ::

        @cuda.jit
        def scale(x, factor: cuda.constexpr): ...

    Inside the kernel the parameter is a compile-time constant: usable as an array shape, in `cuda.unroll` and in an
    ``if`` that is decided while compiling. Each new value compiles a new specialisation.
    """

    def __repr__(self) -> str:
        return "portagpu.cuda.constexpr"

    def __reduce__(self) -> str:
        return "constexpr"


if TYPE_CHECKING:
    constexpr: TypeAlias = Any  # so that type checkers take ``cuda.constexpr`` as an annotation
else:
    constexpr = ConstExpr()


_C_NAMES = {
    "float32": ("float",),
    "float64": ("double",),
    "int8": ("char",),
    "uint8": ("uchar",),
    "int16": ("short",),
    "uint16": ("ushort",),
    "int32": ("int",),
    "uint32": ("uint",),
    "int64": ("long", "longlong"),
    "uint64": ("ulong", "ulonglong"),
}
_NUMBERS = frozenset(row.name for row in ALL)


@dataclass(frozen=True, slots=True)
class VectorMaker:
    """The name of a vector type; called inside a kernel, it makes a vector from lanes, or repeats one number.

    As the ``dtype`` of `cuda.local.array` or `cuda.shared.array` it makes an array of vectors.
    """

    dtype: DType
    lanes: int

    def __call__(self, *args: Any) -> Any:
        """Raise: on the host there are no vectors."""
        raise KernelOnlyError(
            f"cuda.{self} works only inside a kernel", hint="on the host, use a NumPy array with a last axis of lanes"
        )

    @property
    def name(self) -> str:
        """The type's name, such as ``float32x4``."""
        return str(self)

    @property
    def aliases(self) -> tuple[str, ...]:
        """CUDA's names of the type, such as ``float4``; ``int16`` is a number, not sixteen lanes of int."""
        names = (f"{name}{self.lanes}" for name in _C_NAMES.get(self.dtype.name, ()))
        return tuple(name for name in names if name not in _NUMBERS)

    @property
    def user_facing_object(self) -> VectorMaker:
        """The type as programs name it: itself."""
        return self

    @property
    def num_elements(self) -> int:
        """Number of lanes."""
        return self.lanes

    @property
    def base_type(self) -> Number:
        """Type of a lane."""
        return Number(self.dtype)

    @property
    def help_text(self) -> str:
        """What it makes of what."""
        few = ", ".join("abcd"[: self.lanes]) if self.lanes <= 4 else "a, b, ..."
        return (
            f"cuda.{self}({few}): a vector of {self.lanes} {self.dtype.name}; cuda.{self}(a) has it in each lane.\n\n"
            "Lanes are v.x, v.y, v.z, v.w, or v[n] with a constant n; vectors among the arguments are spliced. As the\n"
            "dtype of cuda.local.array and cuda.shared.array it makes arrays of vectors.\n\n"
            "Errors: KernelTypeError where the lanes do not add up."
        )

    def __str__(self) -> str:
        return f"{self.dtype.name}x{self.lanes}"

    def __repr__(self) -> str:
        return f"portagpu.cuda.{self}"


VectorMaker.__doc__ = _OwnText(VectorMaker.__doc__)  # type: ignore[assignment]
for _class in (Intrinsic, Namespace, VectorMaker):
    _class.__module__ = "portagpu.cuda"  # where programs have them from, and what `help` says

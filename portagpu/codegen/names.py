"""C identifiers for IR names."""

from __future__ import annotations

import re

from portagpu.ir.types import Pointer, Scalar, Struct, Type, Vector, short

_TYPES = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "float", "double", "bool")
RESERVED = (
    frozenset(
        """
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while _Bool _Complex
    kernel __kernel global __global local __local constant __constant private __private generic read_only write_only
    read_write uniform pipe half bool quad complex imaginary size_t ptrdiff_t intptr_t uintptr_t event_t sampler_t
    image1d_t image2d_t image3d_t main NULL true false INFINITY NAN HUGE_VAL HUGE_VALF MAXFLOAT M_PI M_E CHAR_BIT
    INT_MAX INT_MIN barrier mem_fence min max abs fma mad dot cross length distance normalize step mix clamp sign exp
    exp2 exp10 log log2 log10 sin cos tan asin acos atan atan2 sqrt rsqrt cbrt pow pown powr floor ceil round trunc rint
    fmod fabs fmin fmax ldexp frexp modf hypot erf erfc tgamma lgamma select any all isnan isinf isfinite isnormal
    signbit popcount clz rotate mul_hi mul24 mad24 hadd rhadd upsample printf shuffle shuffle2 degrees radians vload
    vstore prefetch wait_group_events async_work_group_copy get_global_id get_local_id get_group_id get_local_size
    linux unix i386 asm typeof cl_khr_fp64 cl_khr_fp16 nan maxmag minmag remainder remquo logb ilogb nextafter
    copysign fdim fract sincos sinpi cospi tanpi
    """.split()
    )
    | {f"{t}{n}" for t in _TYPES for n in (2, 3, 4, 8, 16)}
    | {f"as_{t}" for t in _TYPES}
)
_RESERVED_PREFIXES = (
    *("pg_", "__", "get_", "atomic_", "atom_", "convert_", "vload", "vstore", "as_", "native_", "half_"),
    *("cl_", "CL", "work_group_", "sub_group_"),
)


def identifier(name: str) -> str:
    """A legal C identifier that reads like the name."""
    name = name.removeprefix("pg.").removesuffix(".shared").removesuffix(".local")
    text = re.sub(r"[^0-9A-Za-z_]", lambda m: "_" if m.group() == "." else f"_u{ord(m.group()):x}_", name)
    if text in RESERVED or text.startswith(_RESERVED_PREFIXES):
        text = f"{text}_"
    return f"_{text}" if text[:1].isdigit() else text


class Names:
    """C identifiers of one function: one for each (name, type)."""

    def __init__(self, taken: frozenset[str] = frozenset()) -> None:
        self._taken = set(taken)
        self._known: dict[tuple[str, Type], str] = {}

    def __call__(self, name: str, kind: Type) -> str:
        """The identifier of a variable."""
        key = (name, _base(kind))
        found = self._known.get(key)
        if found is None:
            base = identifier(name)
            found = base if base not in self._taken else f"{base}_{_suffix(kind)}"
            count = 2
            while found in self._taken:
                found = f"{base}_{count}"
                count += 1
            self._taken.add(found)
            self._known[key] = found
        return found

    def reserve(self, text: str) -> None:
        """Keep an identifier from being given out."""
        self._taken.add(text)


def _base(kind: Type) -> Type:
    if isinstance(kind, Pointer):
        return Pointer(kind.element, kind.space)
    return kind


def _suffix(kind: Type) -> str:
    if isinstance(kind, Scalar | Vector):
        return short(kind)
    if isinstance(kind, Pointer):
        return "p" + short(kind.element)
    return "t" if isinstance(kind, Struct) else "v"

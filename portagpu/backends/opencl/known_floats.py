"""Functions of floats whose arguments the compiler does not know, for a driver that compiles known ones wrongly.

Some of one driver's functions convert a float to an integer before they look whether it fits. Where the argument is a
constant, LLVM takes that for undefined: it drops the store of ``floor(NAN)``, and ends the kernel, and with it the
process, at ``rint(INFINITY)``. Constants reach them through device functions and variables, too. So the bits of
arguments get a zero of which no compiler knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_ONE = frozenset("ceil exp exp2 exp10 expm1 floor lgamma rint round sinh tanh tgamma trunc".split())
_TWO = frozenset("fmod pow remainder".split())
_CONVERSION = re.compile(r"convert_(u?(?:char|short|int|long)(?:2|3|4|8|16|))(?:_sat)?_rt[ezpn]")
_WORD = re.compile(r"[A-Za-z_]\w*")
_NO_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
REVISION = "2"  # a part of the cache's keys: another number for other texts
_LANES = ("2", "3", "4", "8", "16")
_BITS = {"float": "uint", "double": "ulong"}
_OVERLOADED = "static inline {} __attribute__((overloadable))"


def with_unknown_arguments(source: str, *, has_doubles: bool) -> str:
    """The program with the arguments of such functions hidden from the compiler.

    ``has_doubles``: whether the device has float64. A text has such numbers without their name, as in `floor(x[0].s0)`
    and `floor(1.5)`; without a function of their own they would silently become float32.
    """
    words = set(_WORD.findall(_NO_CODE.sub(" ", source)))
    names = sorted(word for word in words if word in _ONE | _TWO or _CONVERSION.fullmatch(word))
    if not names:
        return source
    widths = ("", *_LANES) if any(word.endswith(_LANES) for word in words) else ("",)
    kinds = [f"{kind}{width}" for kind in _BITS if has_doubles or kind != "double" for width in widths]
    lines = ["#pragma OPENCL EXTENSION cl_khr_fp64 : enable"] * has_doubles
    lines += map(_hidden, kinds)
    for name in names:
        lines += _defined(name, kinds)
    lines += [
        line for name in names for line in (f"#undef {name}", f"#define {name}(...) pg_unknown_{name}(__VA_ARGS__)")
    ]
    return "\n".join((*lines, "#line 1", source))


def _hidden(kind: str) -> str:
    """A float with the bits that it has.

    No square leaves 2 when it is divided by 3. The driver knows the dimensions of a launch, but not how many blocks.
    """
    bits = _BITS[kind.rstrip("0123456789")] + kind.lstrip("dfloatube")
    zero = "get_num_groups(0) * get_num_groups(0) % 3 == 2"
    value = f"as_{kind}(as_{bits}(x) ^ ({bits})({zero}))"
    return f"{_OVERLOADED.format(kind)} pg_unknown({kind} x) {{ return {value}; }}"


def _defined(name: str, kinds: list[str]) -> Iterator[str]:
    conversion = _CONVERSION.fullmatch(name)
    for kind in kinds:
        result = conversion[1] if conversion else kind
        if conversion and kind.lstrip("dfloatube") != result.lstrip("charsotinlgu"):
            continue
        head = f"{_OVERLOADED.format(result)} pg_unknown_{name}"
        if name in _TWO:
            yield f"{head}({kind} x, {kind} y) {{ return {name}(pg_unknown(x), pg_unknown(y)); }}"
        else:
            yield f"{head}({kind} x) {{ return {name}(pg_unknown(x)); }}"

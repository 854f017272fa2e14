"""Declarations of those library functions of OpenCL C that a program calls.

Some drivers put a header with all of them, 18,000 lines, before every program and parse it twice, which takes a
multiple of the time for the program itself. Told that the header is there already, they declare types and
macros only, from another one, and compile what `with_own_declarations` returns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

NO_HEADER = "-D_OPENCL_H_"  # an option: the header's own guard
NO_TYPES = "types are declared with the functions"  # what a compiler says where the option leaves too little
_WIDTHS = ("", "2", "3", "4", "8", "16")
_FLOATS = ("float", "double")
_INTEGERS = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong")
_SPACES = ("__global", "__local")
_READ_FROM = ("__constant", "__global", "__local", "__private")
_WORD = re.compile(r"[A-Za-z_]\w*")
_NO_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_CONVERSION = re.compile(
    rf"convert_(?:({'|'.join(_INTEGERS)})(2|3|4|8|16|)(?:_sat)?|({'|'.join(_FLOATS)})(2|3|4|8|16|))(?:_rt[ezpn])?"
)
_VECTOR_ACCESS = re.compile(r"(vload|vstore)(2|3|4|8|16)")
_HALF_LOAD = re.compile(r"vloada?_half(2|3|4|8|16|)")
_HALF_STORE = re.compile(r"vstorea?_half(2|3|4|8|16|)(?:_rt[ezpn])?")

_BEFORE = (
    "#ifndef CLK_LOCAL_MEM_FENCE",
    f"#error {NO_TYPES}",
    "#endif",
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable",
    "#define _pg_declared __attribute__((overloadable))",
    "#define _pg_pure __attribute__((overloadable, pure))",
    "#define _pg_const __attribute__((overloadable, const))",
    "#define _pg_convergent __attribute__((overloadable, convergent))",
)
_Signatures = Callable[[str], Iterator[str]]
_FUNCTIONS: dict[str, _Signatures] = {}


def with_own_declarations(source: str) -> str:
    """The program with declarations of what it calls, for a driver with the option `NO_HEADER`.

    What this module does not know is not declared, and a compiler refuses the program.
    """
    names = sorted(set(_WORD.findall(_NO_CODE.sub(" ", source))))
    return "\n".join((*_BEFORE, *filter(None, map(_declarations, names)), "#line 1", source))


@cache
def _declarations(name: str) -> str:
    """The function's declarations for all types, "" where it is none that is known."""
    found = _FUNCTIONS.get(name)
    if found is None and _CONVERSION.fullmatch(name):
        found = _conversions
    elif found is None and _VECTOR_ACCESS.fullmatch(name):
        found = _vector_accesses
    elif found is None and _HALF_LOAD.fullmatch(name):
        found = _half_loads
    elif found is None and _HALF_STORE.fullmatch(name):
        found = _half_stores
    return "" if found is None else "\n".join(found(name))


def _each(kinds: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    return ((kind, width) for kind in kinds for width in _WIDTHS)


def _of_floats(arguments: int) -> _Signatures:
    def declared(name: str) -> Iterator[str]:
        for kind, width in _each(_FLOATS):
            yield f"{kind}{width} _pg_const {name}({', '.join([kind + width] * arguments)});"

    return declared


def _of_integers(arguments: int, kinds: tuple[str, ...] = _INTEGERS) -> _Signatures:
    def declared(name: str) -> Iterator[str]:
        for kind, width in _each(kinds):
            yield f"{kind}{width} _pg_const {name}({', '.join([kind + width] * arguments)});"

    return declared


def _with_scalar(kinds: tuple[str, ...]) -> _Signatures:
    """Two operands, of vectors also one vector and a scalar."""

    def declared(name: str) -> Iterator[str]:
        for kind, width in _each(kinds):
            yield f"{kind}{width} _pg_const {name}({kind}{width}, {kind}{width});"
            if width:
                yield f"{kind}{width} _pg_const {name}({kind}{width}, {kind});"

    return declared


def _extrema(name: str) -> Iterator[str]:
    yield from _with_scalar((*_INTEGERS, *_FLOATS))(name)


def _absolute(name: str) -> Iterator[str]:
    for kind, width in _each(_INTEGERS):
        yield f"u{kind.removeprefix('u')}{width} _pg_const {name}({kind}{width});"


def _exponents(name: str) -> Iterator[str]:
    for kind, width in _each(_FLOATS):
        yield f"int{width} _pg_const {name}({kind}{width});"


def _with_exponent(name: str) -> Iterator[str]:
    for kind, width in _each(_FLOATS):
        yield f"{kind}{width} _pg_const {name}({kind}{width}, int{width});"
        if width and name == "ldexp":
            yield f"{kind}{width} _pg_const {name}({kind}{width}, int);"


def _tests(name: str) -> Iterator[str]:
    for kind, width in _each(_FLOATS):
        answer = "long" if width and kind == "double" else "int"
        yield f"{answer}{width} _pg_const {name}({kind}{width});"


def _with_stored_exponent(name: str) -> Iterator[str]:
    for kind, width in _each(_FLOATS):
        for space in _READ_FROM[1:]:
            yield f"{kind}{width} _pg_declared {name}({kind}{width}, {space} int{width}*);"


def _sign_bits(name: str) -> Iterator[str]:
    for kind, width in _each(_INTEGERS[::2]):
        yield f"int _pg_const {name}({kind}{width});"


def _choices(name: str) -> Iterator[str]:
    """The third operand's elements, signed or not, are as large as the others'."""
    sizes = {kind: _INTEGERS[index // 2 * 2 :][:2] for index, kind in enumerate(_INTEGERS)}
    for kind, choosing in {**sizes, "float": ("int", "uint"), "double": ("long", "ulong")}.items():
        for width in _WIDTHS:
            for chooser in choosing:
                yield f"{kind}{width} _pg_const {name}({kind}{width}, {kind}{width}, {chooser}{width});"


def _shuffles(name: str) -> Iterator[str]:
    masks = {kind: _INTEGERS[index // 2 * 2 + 1] for index, kind in enumerate(_INTEGERS)}
    for kind, mask in {**masks, "float": "uint", "double": "ulong"}.items():
        for source in ("2", "4", "8", "16"):
            for width in ("2", "4", "8", "16"):
                yield f"{kind}{width} _pg_const {name}({kind}{source}, {mask}{width});"


def _conversions(name: str) -> Iterator[str]:
    made = _CONVERSION.fullmatch(name)
    assert made is not None
    width = made[2] if made[1] else made[4]
    for kind in (*_INTEGERS, *_FLOATS):
        yield f"{made[1] or made[3]}{width} _pg_const {name}({kind}{width});"


def _vector_accesses(name: str) -> Iterator[str]:
    made = _VECTOR_ACCESS.fullmatch(name)
    assert made is not None
    for kind in (*_INTEGERS, *_FLOATS):
        vector = f"{kind}{made[2]}"
        if made[1] == "vload":
            for space in _READ_FROM:
                yield f"{vector} _pg_pure {name}(size_t, const {space} {kind}*);"
        else:
            for space in _READ_FROM[1:]:
                yield f"void _pg_declared {name}({vector}, size_t, {space} {kind}*);"


def _half_loads(name: str) -> Iterator[str]:
    made = _HALF_LOAD.fullmatch(name)
    assert made is not None
    for space in _READ_FROM:
        yield f"float{made[1]} _pg_pure {name}(size_t, const {space} half*);"


def _half_stores(name: str) -> Iterator[str]:
    made = _HALF_STORE.fullmatch(name)
    assert made is not None
    for kind in _FLOATS:
        for space in _READ_FROM[1:]:
            yield f"void _pg_declared {name}({kind}{made[1]}, size_t, {space} half*);"


def _work_item(name: str) -> Iterator[str]:
    yield f"size_t _pg_const {name}(uint);"


def _dimensions(name: str) -> Iterator[str]:
    yield f"uint _pg_const {name}(void);"


def _barrier(name: str) -> Iterator[str]:
    yield f"void _pg_convergent {name}(cl_mem_fence_flags);"


def _fence(name: str) -> Iterator[str]:
    yield f"void _pg_declared {name}(cl_mem_fence_flags);"


def _prefetch(name: str) -> Iterator[str]:
    for kind, width in _each((*_INTEGERS, *_FLOATS)):
        yield f"void _pg_declared {name}(const __global {kind}{width}*, size_t);"


def _atomic(operands: int) -> _Signatures:
    """Atomic operations of 32 bits by their first names, and of both widths by those of extensions."""

    def declared(name: str) -> Iterator[str]:
        of_extension = not name.startswith("atomic")
        kinds = ("int", "uint", *(("long", "ulong") if of_extension else ()))
        kinds = (*kinds, "float") if name == "atomic_xchg" else kinds
        if of_extension:  # one of two has each function
            yield "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable"
            yield "#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable"
        for kind in kinds:
            for space in _SPACES:
                values = "".join([f", {kind}"] * operands)
                yield f"{kind} _pg_declared {name}(volatile {space} {kind}*{values});"

    return declared


def _add(signatures: _Signatures, names: str) -> None:
    for name in names.split():
        _FUNCTIONS[name] = signatures


_add(
    _of_floats(1),
    "acos acosh asin asinh atan atanh cbrt ceil cos cosh cospi degrees erf erfc exp exp10 exp2 expm1 fabs floor lgamma"
    " log log10 log1p log2 logb radians rint round rsqrt sin sinh sinpi sqrt tan tanh tgamma trunc",
)
_add(_of_floats(2), "atan2 copysign fdim fmod hypot nextafter pow remainder")
_add(_of_floats(3), "fma mad")
_add(_with_scalar(_FLOATS), "fmax fmin")
_add(_extrema, "max min")
_add(_exponents, "ilogb")
_add(_with_exponent, "ldexp pown")
_add(_tests, "isfinite isinf isnan isnormal signbit")
_add(_with_stored_exponent, "frexp")
_add(_sign_bits, "all any")
_add(_choices, "select")
_add(_shuffles, "shuffle")
_add(_absolute, "abs")
_add(_of_integers(1), "clz popcount")
_add(_of_integers(2), "hadd mul_hi rhadd rotate")
_add(_of_integers(2, ("int", "uint")), "mul24")
_add(_work_item, "get_global_id get_global_offset get_global_size get_group_id get_local_id get_local_size")
_add(_work_item, "get_num_groups")
_add(_dimensions, "get_work_dim")
_add(_barrier, "barrier")
_add(_fence, "mem_fence read_mem_fence write_mem_fence")
_add(_prefetch, "prefetch")
_add(_atomic(0), "atomic_dec atomic_inc atom_dec atom_inc")
_add(_atomic(1), " ".join(f"{p}_{n}" for p in ("atomic", "atom") for n in "add sub xchg min max and or xor".split()))
_add(_atomic(2), "atomic_cmpxchg atom_cmpxchg")

"""What stands before a program: the headers, names and small functions that its text uses, and no others.

Headers are nearly all of the time that a program takes to compile, so each stands here with the words that need it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from portagpu.backends.c_family import rendering

TEMPLATES = "portagpu.backends.sycl.templates"
_WORD = re.compile(r"[A-Za-z_]\w*")
_NO_CODE = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"')
_VECTOR = re.compile(r"(char|uchar|short|ushort|int|uint|long|ulong|half|float|double)(2|3|4|8|16)")
_NUMBERS = {
    "uchar": "unsigned char",
    "ushort": "unsigned short",
    "uint": "unsigned int",
    "ulong": "unsigned long",
    "half": "sycl::half",
}
_FUNCTIONS = frozenset(
    (
        "abs acos acosh all any asin asinh atan atan2 atanh cbrt ceil clz copysign cos cosh cospi degrees erf erfc exp"
        " exp10 exp2 expm1 fabs fdim floor fma fmax fmin fmod hadd hypot ilogb isfinite isinf isnan ldexp lgamma log"
        " log10 log1p log2 logb max min mul24 mul_hi nextafter popcount pow pown radians remainder rhadd rint round"
        " rsqrt select signbit sin sinh sinpi sqrt tan tanh tgamma trunc"
    ).split()
)
_FREE_FUNCTIONS = ("ext/oneapi/free_function_queries.hpp", "ext/oneapi/kernel_properties/properties.hpp")
_HEADERS = {
    "pg_rounded": "detail/vector_convert.hpp",
    "convert": "detail/vector_convert.hpp",
    "half": "half_type.hpp",
    "bit_cast": "bit_cast.hpp",
    "atomic_fence": "atomic_fence.hpp",
    "pg_atomic_global": "atomic_ref.hpp",
    "pg_atomic_local": "atomic_ref.hpp",
    "group_barrier": "group_barrier.hpp",
    "group_broadcast": "group_algorithm.hpp",
    "select_from_group": "group_algorithm.hpp",
    "get_sub_group": "sub_group.hpp",
    "__spirv_SubgroupBlockReadINTEL": "sub_group.hpp",
    "__spirv_SubgroupBlockWriteINTEL": "sub_group.hpp",
    "local_accessor": "accessor.hpp",
    "work_group_static": "ext/oneapi/work_group_static.hpp",
    "printf": "ext/oneapi/experimental/builtins.hpp",
    "prefetch": "ext/oneapi/experimental/prefetch.hpp",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PreludeView:
    """Everything `prelude.mako` prints; ``words`` are those of the program, whose small functions it defines.

    ``imported``: declarations of functions that the driver's compiler has.
    """

    namespace: str
    is_plain: bool
    headers: tuple[str, ...]
    types: tuple[tuple[str, str], ...]
    functions: tuple[str, ...]
    words: frozenset[str]
    imported: tuple[str, ...]


def prelude(text: str, imported: tuple[str, ...] = ()) -> str:
    """The text that goes before a program's."""
    return rendering.render(TEMPLATES, "prelude.mako", _view(text, "portagpu", imported, is_plain=False))


def plain_prelude(text: str, kernel: str) -> str:
    """The text that goes before a program of SYCL 2020 alone: the library's one header, a namespace of its own."""
    return rendering.render(TEMPLATES, "plain_prelude.mako", _view(text, plain_namespace(kernel), (), is_plain=True))


def plain_namespace(kernel: str) -> str:
    """The namespace of a header, by the kernel's name in the text."""
    return f"portagpu_{kernel.rstrip('_')}"


def _view(text: str, namespace: str, imported: tuple[str, ...], *, is_plain: bool) -> PreludeView:
    words = frozenset(_WORD.findall(_NO_CODE.sub(" ", text)))
    vectors = [made for made in map(_VECTOR.fullmatch, sorted(words)) if made is not None]
    numbers = words | {made[1] for made in vectors}
    functions = tuple(sorted(words & _FUNCTIONS))
    headers = dict.fromkeys(_FREE_FUNCTIONS)
    headers.update(dict.fromkeys(header for word, header in _HEADERS.items() if word in numbers))
    if vectors:
        headers.setdefault("vector.hpp")
    if functions:
        headers.setdefault("builtins.hpp")
    return PreludeView(
        namespace=namespace,
        is_plain=is_plain,
        headers=tuple(headers),
        types=(
            *((name, kind) for name, kind in _NUMBERS.items() if name in numbers),
            *((made[0], _vector(made[1], made[2])) for made in vectors),
        ),
        functions=functions,
        words=words,
        imported=imported,
    )


def _vector(element: str, lanes: str) -> str:
    return f"sycl::vec<{'signed char' if element == 'char' else element}, {lanes}>"  # no library has char itself

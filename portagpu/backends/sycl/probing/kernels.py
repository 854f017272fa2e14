"""The kernels that are tried on a device.

They are compiled together, since most of the time goes by with SYCL's headers, and one by one where that fails.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

_HEAD = """\
#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
{includes}
#define PG_KERNEL extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<3>))
static inline auto item() {{ return sycl::ext::oneapi::this_work_item::get_nd_item<3>(); }}
static inline long number() {{ return item().get_global_id(2); }}
"""


class Trial(NamedTuple):
    """A kernel called ``trial`` in the text, and headers of SYCL that it needs."""

    text: str
    headers: tuple[str, ...] = ()


def program(trials: Iterable[tuple[str, Trial]]) -> str:
    """The text of a program with these kernels: ``trial_`` and their names."""
    named = list(trials)
    headers = sorted({header for _, trial in named for header in trial.headers})
    includes = "".join(f"#include <sycl/{header}.hpp>\n" for header in headers)
    return _HEAD.format(includes=includes) + "".join(t.text.replace("trial(", f"trial_{name}(") for name, t in named)


BASIC = Trial("PG_KERNEL void trial(int *x) { x[number()] = 2 * x[number()] + 1; }\n")

_STATIC = "ext/oneapi/work_group_static"
_ARITHMETIC = """
PG_KERNEL void trial({type} *x) {{ {type} a = x[number()]; x[number()] = a * a + ({type})0.5f; }}
"""
HALF_FUNCTIONS = Trial(
    """
PG_KERNEL void trial(sycl::half *x) {
  sycl::vec<sycl::half, 4> v(x[number()]);
  x[number()] = sycl::sqrt(v)[1] + sycl::bit_cast<sycl::half>((unsigned short)0x3c00);
}
""",
    ("half_type", "vector", "builtins", "bit_cast"),
)
DIVISIONS = Trial(
    """
PG_KERNEL void trial(float *x, float *y) { long i = number(); y[i] = sycl::sqrt(y[i]) / x[i]; }
""",
    ("builtins",),
)
_ATOMIC_ADD = """
PG_KERNEL void trial({type} *x) {{
  sycl::atomic_ref<{type}, sycl::memory_order::relaxed, sycl::memory_scope::device,
                   sycl::access::address_space::global_space>(*x).fetch_add(({type})1);
}}
"""
_LOCAL_ATOMIC_ADD = """
PG_KERNEL void trial({type} *x) {{
  sycl::ext::oneapi::experimental::work_group_static<{type}[1]> sum;
  if (item().get_local_id(2) == 0) sum[0] = ({type})0;
  sycl::group_barrier(item().get_group());
  sycl::atomic_ref<{type}, sycl::memory_order::relaxed, sycl::memory_scope::work_group,
                   sycl::access::address_space::local_space>(sum[0]).fetch_add(({type})1);
  sycl::group_barrier(item().get_group());
  x[number()] = sum[0];
}}
"""
_SUBGROUPS = """
PG_KERNEL {attribute} void trial(int *x) {{
  auto group = sycl::ext::oneapi::this_work_item::get_sub_group();
  int size = group.get_max_local_range()[0], lane = group.get_local_linear_id();
  x[number()] = size * 1000 + sycl::select_from_group(group, lane, (lane + 1) % size);
}}
"""
BLOCKS = Trial(  # two elements a lane, and 1 added
    """
PG_KERNEL void trial(unsigned *x) {
  typedef unsigned two __attribute__((ext_vector_type(2)));
  long first = number() - sycl::ext::oneapi::this_work_item::get_sub_group().get_local_linear_id();
  auto *place = (__attribute__((opencl_global)) unsigned *)(x + 2 * first);
  two seen = __spirv_SubgroupBlockReadINTEL<two>((const __attribute__((opencl_global)) unsigned *)place);
  seen.y += 1;
  __spirv_SubgroupBlockWriteINTEL(place, seen);
}
""",
    ("sub_group",),
)
_MATRICES = """
template <class T, int N> using lanes = T __attribute__((ext_vector_type(N)));
SYCL_EXTERNAL lanes<float, 8> intel_sub_group_{function}({a}, {b}, lanes<float, 8>) __attribute__((convergent));
PG_KERNEL [[sycl::reqd_sub_group_size({size})]] void trial(float *x) {{
  x[number()] = intel_sub_group_{function}(({a})({ones_a}), ({b})({ones_b}), (lanes<float, 8>)(0.0f)).x;
}}
"""
PRINTING = Trial(
    """
PG_KERNEL void trial(int *x) { sycl::ext::oneapi::experimental::printf("portagpu %d end\\n", x[0]); }
""",
    ("ext/oneapi/experimental/builtins",),
)
_STATIC_LOCAL = """
PG_KERNEL void trial(int *x) {{
  sycl::ext::oneapi::experimental::work_group_static<int[{words}]> all;
  int lane = item().get_local_id(2), size = item().get_local_range(2);
  for (int n = lane; n < {words}; n += size) all[n] = n;
  sycl::group_barrier(item().get_group());
  x[number()] = all[{words} - 1 - lane] + all[size - 1 - lane];
}}
"""
LOCAL_ARGUMENT = Trial(
    """
PG_KERNEL void trial(int *x, sycl::local_accessor<sycl::ulong16, 1> memory, int words) {
  int *all = reinterpret_cast<int *>(&memory[0]);
  int lane = item().get_local_id(2), size = item().get_local_range(2);
  for (int n = lane; n < words; n += size) all[n] = n;
  sycl::group_barrier(item().get_group());
  x[number()] = all[words - 1 - lane] + all[size - 1 - lane];
}
""",
    ("accessor", "vector", "group_barrier"),
)
_RATE = """
PG_KERNEL void trial({type} *x, int rounds) {{
  {type} a[{chains}], b = x[number()];
  for (int n = 0; n < {chains}; ++n) a[n] = b + n;
  for (int round = 0; round < rounds; ++round)
    for (int n = 0; n < {chains}; ++n) a[n] = a[n] * b + ({type})0.25f;
  {type} sum = 0;
  for (int n = 0; n < {chains}; ++n) sum += a[n];
  x[number()] = sum;
}}
"""
STREAM_COPY = Trial(
    """
PG_KERNEL void trial(sycl::vec<float, 4> *target, const sycl::vec<float, 4> *source, int spacing, int stride, int count,
                     int passes) {
  long first = number() * spacing;
  for (int pass = 0; pass < passes; ++pass)
    for (int step = 0; step < count; ++step) {
      long at = first + (long)step * stride;
      target[at] = source[at] + (float)pass;
    }
}
""",
    ("vector",),
)
_HALF = "sycl::half"
CHAINS = 32  # of multiply-adds, for each thread


def arithmetic(kind: str) -> Trial:
    """Squares and sums."""
    return Trial(_ARITHMETIC.format(type=kind), ("half_type",) if kind == _HALF else ())


def atomic_add(kind: str, *, local: bool) -> Trial:
    """All threads add 1 to one number."""
    text = (_LOCAL_ATOMIC_ADD if local else _ATOMIC_ADD).format(type=kind)
    return Trial(text, ("atomic_ref", "group_barrier", _STATIC) if local else ("atomic_ref",))


def subgroups(size: int | None) -> Trial:
    """An exchange within subgroups, of a size that is asked for."""
    attribute = "" if size is None else f"[[sycl::reqd_sub_group_size({size})]]"
    return Trial(_SUBGROUPS.format(attribute=attribute), ("sub_group", "group_algorithm"))


def matrix_product(function: str, size: int) -> Trial:
    """Matrices of ones multiply to the depth of the product, whichever lane holds an element."""
    halves = ("lanes<short, 8>", "0x3c00") if size == 16 else ("lanes<int, 8>", "0x3c003c00")
    a, b = (halves, ("lanes<int, 8>", "0x3c003c00"))
    if function.startswith("tf32"):
        a, b = ("lanes<float, 4>", "1.0f"), ("lanes<float, 8>", "1.0f")
    return Trial(_MATRICES.format(function=function, size=size, a=a[0], ones_a=a[1], b=b[0], ones_b=b[1]))


def static_local(words: int) -> Trial:
    """A static array of local memory."""
    return Trial(_STATIC_LOCAL.format(words=words), ("group_barrier", _STATIC))


def rate(kind: str) -> Trial:
    """Chains of multiply-adds in registers."""
    return Trial(_RATE.format(type=kind, chains=CHAINS))

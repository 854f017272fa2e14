#include <sycl/sycl.hpp>
#include <cstddef>
#include <vector>
% if "printf" in view.words:
#ifndef SYCL_IMPLEMENTATION_ONEAPI
#error "the kernel prints, for which SYCL 2020 has no function: compile it by DPC++ (icpx -fsycl)"
#endif
% endif
// at the start of a function: numbers are what its text says, no product is fused with a sum, and no sum is reordered
#ifdef __clang__
#define PG_EXACT _Pragma("clang fp contract(off) reassociate(off)")
#else
#define PG_EXACT
#endif

namespace ${view.namespace} {
static_assert(sizeof(int) == 4 && sizeof(long) == 8, "the text counts on 64 bits of long, which Windows has not");
% if "printf" in view.words:
namespace syclexp = sycl::ext::oneapi::experimental;
% endif
% for name, kind in view.types:
using ${name} = ${kind};
% endfor
% for name in view.functions:
using sycl::${name};
% endfor
% if "pg_line" in view.words:
// a part of dynamic shared memory
struct alignas(128) pg_line { unsigned char bytes[128]; };
% endif
<%include file="/prelude_functions.mako"/>\

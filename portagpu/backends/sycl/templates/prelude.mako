% for header in view.headers:
#include <sycl/${header}>
% endfor
// numbers are what the text says: no product is fused with a sum, and no sum is reordered
#pragma clang fp contract(off) reassociate(off)

namespace syclext = sycl::ext::oneapi;
namespace syclexp = sycl::ext::oneapi::experimental;
% if "NAN" in view.words:
#ifndef NAN
#define NAN __builtin_nanf("")
#endif
% endif
% if "INFINITY" in view.words:
#ifndef INFINITY
#define INFINITY __builtin_inff()
#endif
% endif
% if view.imported:
// functions of the driver's compiler
template <class T, int N> using pg_lanes = T __attribute__((ext_vector_type(N)));
% for declaration in view.imported:
${declaration}
% endfor
% endif

namespace portagpu {
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
% if "pg_item" in view.words:
static inline sycl::nd_item<3> pg_item() { return syclext::this_work_item::get_nd_item<3>(); }
% endif
% if "pg_launch_number" in view.words:
// 1, which compilers cannot know, neither that it is small nor that it is not 0
static inline unsigned int pg_launch_number() {
    const unsigned int depth = (unsigned int)syclext::this_work_item::get_nd_item<3>().get_local_range(0);
    return (unsigned int)(depth != 0) + (depth >> 16);
}
% endif
<%include file="/prelude_functions.mako"/>\

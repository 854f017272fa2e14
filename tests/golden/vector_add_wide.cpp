#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
// numbers are what the text says: no product is fused with a sum, and no sum is reordered
#pragma clang fp contract(off) reassociate(off)

namespace syclext = sycl::ext::oneapi;
namespace syclexp = sycl::ext::oneapi::experimental;

namespace portagpu {
static inline sycl::nd_item<3> pg_item() { return syclext::this_work_item::get_nd_item<3>(); }
// 9: def add(a, b, total):
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<3>))
void add_(
    const float* __restrict a,
    const float* __restrict b,
    float* __restrict total_,
    long total_n0_) {
    const int pg_blockDim_x = (int)pg_item().get_local_range(2);
    // 10: i = cuda.grid(1)
    long i = (long)pg_item().get_group(2) * pg_blockDim_x + (int)pg_item().get_local_id(2);
    // 11: if i < total.size:  # the last block has threads to spare
    if (i < total_n0_) {
        // 12: total[i] = a[i] + b[i]
        total_[i] = a[i] + b[i];
    }
}
}  // namespace portagpu

#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
#include <sycl/group_barrier.hpp>
// numbers are what the text says: no product is fused with a sum, and no sum is reordered
#pragma clang fp contract(off) reassociate(off)

namespace syclext = sycl::ext::oneapi;
namespace syclexp = sycl::ext::oneapi::experimental;

namespace portagpu {
static inline sycl::nd_item<3> pg_item() { return syclext::this_work_item::get_nd_item<3>(); }

static inline long pg_wrap_index_long(long index, long extent) {
    return index < 0 ? index + extent : index;
}
// 75: def heat_equation(buf, steps, k):
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<3>))
void heat_equation_(
    double* buf_,
    long buf_n0_,
    long steps_,
    double k) {
    const int pg_blockDim_x = (int)pg_item().get_local_range(2);
    // 75: def heat_equation(buf, steps, k):
    int pg_live1 = true;
    // 77: i = cuda.grid(1)
    long i = (long)pg_item().get_group(2) * pg_blockDim_x + (int)pg_item().get_local_id(2);
    // 78: if i == 0 or i >= buf.size - 1:
    if (i == 0L || i >= buf_n0_ - 1L) {
        // 79: return
        pg_live1 = false;
    }
    // 80: for _ in range(steps):
    long t1 = steps_;
    for (long u__ = 0L; u__ < t1; u__ += 1L) {
        double change_ = 0;
        // 81: change = k * (buf[i - 1] - 2.0 * buf[i] + buf[i + 1])
        if (pg_live1) {
            change_ = k * (buf_[pg_wrap_index_long(i - 1L, buf_n0_)] - 2.0 * buf_[i] + buf_[i + 1L]);
        }
        // 82: cuda.syncthreads()
        sycl::group_barrier(pg_item().get_group());
        // 83: buf[i] += change
        if (pg_live1) {
            long t2 = i;
            buf_[t2] = buf_[t2] + change_;
        }
        // 84: cuda.syncthreads()
        sycl::group_barrier(pg_item().get_group());
    }
}
}  // namespace portagpu

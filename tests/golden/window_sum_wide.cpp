#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
#include <sycl/group_barrier.hpp>
#include <sycl/ext/oneapi/work_group_static.hpp>
// numbers are what the text says: no product is fused with a sum, and no sum is reordered
#pragma clang fp contract(off) reassociate(off)

namespace syclext = sycl::ext::oneapi;
namespace syclexp = sycl::ext::oneapi::experimental;

namespace portagpu {
static inline sycl::nd_item<3> pg_item() { return syclext::this_work_item::get_nd_item<3>(); }
// 13: def window_sum(values, sums):
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<3>))
void window_sum_(
    const float* __restrict values_,
    long values_n0_,
    float* sums_) {
    alignas(128) static syclexp::work_group_static<float[134]> pg_memory_tile_;
    float (&tile_)[134] = pg_memory_tile_;
    const int pg_blockDim_x = (int)pg_item().get_local_range(2);
    // 16: i = cuda.grid(1)
    long i = (long)pg_item().get_group(2) * pg_blockDim_x + (int)pg_item().get_local_id(2);
    // 17: t = cuda.threadIdx.x
    int t = (int)pg_item().get_local_id(2);
    // 20: tile[t + RADIUS] = values[i] if i < n else 0.0
    tile_[(long)t + 3L] = i < values_n0_ ? values_[i] : 0.0f;
    // 21: if t < RADIUS:  # the first threads also fetch the halo on both sides
    if (t < 3) {
        // 22: left = i - RADIUS
        long left_ = i - 3L;
        // 23: right = i + BLOCK
        long right_ = i + 128L;
        // 24: tile[t] = values[left] if left >= 0 else 0.0
        tile_[(long)t] = left_ >= 0L ? values_[left_] : 0.0f;
        // 25: tile[t + RADIUS + BLOCK] = values[right] if right < n else 0.0
        tile_[(long)t + 3L + 128L] = right_ < values_n0_ ? values_[right_] : 0.0f;
    }
    // 26: cuda.syncthreads()
    sycl::group_barrier(pg_item().get_group());
    // 28: if i < n:
    if (i < values_n0_) {
        // 30: for offset in range(2 * RADIUS + 1):
        float total_ = 0.0f;
        for (int offset_ = 0; offset_ < 7; offset_ += 1) {
            // 31: total += tile[t + offset]
            total_ = total_ + tile_[(long)t + (long)offset_];
        }
        // 32: sums[i] = total
        sums_[i] = total_;
    }
}
}  // namespace portagpu

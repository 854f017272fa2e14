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
// 24: def matmul_tiled(a, b, c):
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<3>))
void matmul_tiled_(
    const float* __restrict a,
    int a_n0,
    int a_n1,
    const float* __restrict b,
    int b_n0,
    int b_n1,
    float* c,
    int c_n0,
    int c_n1,
    int c_s0,
    int c_s1) {
    alignas(128) static syclexp::work_group_static<float[256]> pg_memory_tile_a_;
    float (&tile_a_)[256] = pg_memory_tile_a_;
    alignas(128) static syclexp::work_group_static<float[256]> pg_memory_tile_b_;
    float (&tile_b_)[256] = pg_memory_tile_b_;
    // 28: column, row = cuda.grid(2)
    int column_ = (int)pg_item().get_global_id(2);
    int row_ = (int)pg_item().get_global_id(1);
    // 29: tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    int tx_ = (int)pg_item().get_local_id(2);
    int ty_ = (int)pg_item().get_local_id(1);
    // 31: for start in range(0, a.shape[1], TILE):
    float total_ = 0.0f;
    for (int start_ = 0; start_ < a_n1; start_ += 16) {
        // 32: inside_a = row < a.shape[0] and start + tx < a.shape[1]
        int inside_a_ = row_ < a_n0 && (long)start_ + (long)tx_ < (long)a_n1;
        // 33: inside_b = column < b.shape[1] and start + ty < b.shape[0]
        int inside_b_ = column_ < b_n1 && (long)start_ + (long)ty_ < (long)b_n0;
        // 34: tile_a[ty, tx] = a[row, start + tx] if inside_a else 0.0
        tile_a_[ty_ * 16 + tx_] = inside_a_ ? a[row_ * a_n1 + (start_ + tx_)] : 0.0f;
        // 35: tile_b[ty, tx] = b[start + ty, column] if inside_b else 0.0
        tile_b_[ty_ * 16 + tx_] = inside_b_ ? b[start_ + ty_ + column_ * b_n0] : 0.0f;
        // 36: cuda.syncthreads()  # the tiles are complete
        sycl::group_barrier(pg_item().get_group());
        // 37: for k in range(TILE):
        for (int k = 0; k < 16; k += 1) {
            // 38: total += tile_a[ty, k] * tile_b[k, tx]
            total_ = total_ + tile_a_[ty_ * 16 + k] * tile_b_[k * 16 + tx_];
        }
        // 39: cuda.syncthreads()  # everybody is done with them
        sycl::group_barrier(pg_item().get_group());
    }
    // 40: if row < c.shape[0] and column < c.shape[1]:
    if (row_ < c_n0 && column_ < c_n1) {
        // 41: c[row, column] = total
        c[row_ * c_s0 + column_ * c_s1] = total_;
    }
}
}  // namespace portagpu

#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
#include <sycl/group_barrier.hpp>
#include <sycl/accessor.hpp>
#include <sycl/vector.hpp>
// numbers are what the text says: no product is fused with a sum, and no sum is reordered
#pragma clang fp contract(off) reassociate(off)

namespace syclext = sycl::ext::oneapi;
namespace syclexp = sycl::ext::oneapi::experimental;

namespace portagpu {
using uint = unsigned int;
using ulong = unsigned long;
using ulong16 = sycl::vec<ulong, 16>;
// a part of dynamic shared memory
struct alignas(128) pg_line { unsigned char bytes[128]; };
static inline sycl::nd_item<3> pg_item() { return syclext::this_work_item::get_nd_item<3>(); }

static inline int pg_floordiv_int(int a, int b) {
    if (b == 0) return 0;
    if (b == -1) return (int)(0 - (uint)a);
    int quotient = a / b;
    return (a - quotient * b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

static inline long pg_wrap_index_long(long index, long extent) {
    return index < 0 ? index + extent : index;
}
// 9: def reverse_blocks(values):
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<3>))
void reverse_blocks_(
    int* values_,
    sycl::local_accessor<pg_line, 1> pg_memory_pg_dynamic_shared,
    int pg_dynamic_bytes) {
    ulong16* const pg_dynamic_shared = (ulong16*)&pg_memory_pg_dynamic_shared[0];
    const int pg_blockDim_x = (int)pg_item().get_local_range(2);
    // 11: tile = cuda.shared.array(0, np.int32)  # shape 0: the size comes with the launch
    int t1 = pg_floordiv_int(pg_dynamic_bytes, 4);
    int* tile_0_ = (int*)pg_dynamic_shared;
    long tile_1_ = (long)t1;
    // 12: i = cuda.grid(1)
    long i = (long)pg_item().get_group(2) * pg_blockDim_x + (int)pg_item().get_local_id(2);
    // 13: t = cuda.threadIdx.x
    int t = (int)pg_item().get_local_id(2);
    // 14: tile[t] = values[i]
    tile_0_[(long)t] = values_[i];
    // 15: cuda.syncthreads()
    sycl::group_barrier(pg_item().get_group());
    // 16: values[i] = tile[cuda.blockDim.x - 1 - t]
    values_[i] = tile_0_[pg_wrap_index_long((long)pg_blockDim_x - 1L - (long)t, tile_1_)];
}
}  // namespace portagpu

#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
#include <sycl/atomic_ref.hpp>
#include <sycl/group_barrier.hpp>
#include <sycl/ext/oneapi/work_group_static.hpp>
#include <sycl/builtins.hpp>
// numbers are what the text says: no product is fused with a sum, and no sum is reordered
#pragma clang fp contract(off) reassociate(off)

namespace syclext = sycl::ext::oneapi;
namespace syclexp = sycl::ext::oneapi::experimental;

namespace portagpu {
using sycl::min;
static inline sycl::nd_item<3> pg_item() { return syclext::this_work_item::get_nd_item<3>(); }
template <class T>
using pg_atomic_global = sycl::atomic_ref<T, sycl::memory_order::relaxed, sycl::memory_scope::device,
                                         sycl::access::address_space::global_space>;
template <class T>
using pg_atomic_local = sycl::atomic_ref<T, sycl::memory_order::relaxed, sycl::memory_scope::work_group,
                                         sycl::access::address_space::local_space>;

static inline int pg_wrap_index_int(int index, int extent) {
    return index < 0 ? index + extent : index;
}
// 11: def histogram(values, counts):
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<3>))
void histogram_(
    const float* __restrict values_,
    int values_n0_,
    int* counts_) {
    alignas(128) static syclexp::work_group_static<int[64]> pg_memory_block_counts_;
    int (&block_counts_)[64] = pg_memory_block_counts_;
    const int pg_blockDim_x = (int)pg_item().get_local_range(2);
    int b = 0;
    // 14: for b in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
    for (int i1 = (int)pg_item().get_local_id(2); i1 < 64; i1 += pg_blockDim_x) {
        b = i1;
        // 15: block_counts[b] = 0
        block_counts_[b] = 0;
    }
    // 16: cuda.syncthreads()
    sycl::group_barrier(pg_item().get_group());
    // 19: for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
    long b_pi64_ = (long)b;
    for (int i = (int)pg_item().get_global_id(2); i < values_n0_; i += (int)pg_item().get_global_range(2)) {
        // 20: b = min(int(values[i] * BINS), BINS - 1)
        b_pi64_ = min((long)(values_[i] * 64.0f), 63L);
        // 21: cuda.atomic.add(block_counts, b, 1)
        pg_atomic_local<int>(*(block_counts_ + pg_wrap_index_int((int)b_pi64_, 64))).fetch_add(1);
    }
    // 22: cuda.syncthreads()
    sycl::group_barrier(pg_item().get_group());
    // 24: for b in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
    for (int i2 = (int)pg_item().get_local_id(2); i2 < 64; i2 += pg_blockDim_x) {
        b = i2;
        // 25: cuda.atomic.add(counts, b, block_counts[b])
        pg_atomic_global<int>(*(counts_ + b)).fetch_add(block_counts_[b]);
        // 24: for b in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
        b_pi64_ = (long)b;
    }
}
}  // namespace portagpu

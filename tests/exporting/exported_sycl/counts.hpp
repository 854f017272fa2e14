/* counts(x: float32[::1], bins: int32[::1])
 *
 * SYCL 2020 of the kernel counts of exported_sycl_kernels.py, made by PortaGPU VERSION. Lines of Python are comments.
 *
 *     icpx -fsycl -O2 -fno-strict-aliasing ...
 *     acpp -O2 -fno-strict-aliasing ...
 *
 * portagpu_counts::launch() launches the kernel. Extents are those of SYCL: (z, y, x).
 * Arguments, behind the queue and extents:
 *   0: memory of x
 *   1: elements of x along axis 0
 *   2: memory of bins
 */
#ifndef PORTAGPU_COUNTS_HPP
#define PORTAGPU_COUNTS_HPP
#if defined(__GNUC__) || defined(__clang__)
#pragma GCC system_header  // generated text has names and values that are not used
#endif
#include <sycl/sycl.hpp>
#include <cstddef>
#include <vector>
// at the start of a function: numbers are what its text says, no product is fused with a sum, and no sum is reordered
#ifdef __clang__
#define PG_EXACT _Pragma("clang fp contract(off) reassociate(off)")
#else
#define PG_EXACT
#endif

namespace portagpu_counts {
static_assert(sizeof(int) == 4 && sizeof(long) == 8, "the text counts on 64 bits of long, which Windows has not");
template <class T>
using pg_atomic_global = sycl::atomic_ref<T, sycl::memory_order::relaxed, sycl::memory_scope::device,
                                         sycl::access::address_space::global_space>;
template <class T>
using pg_atomic_local = sycl::atomic_ref<T, sycl::memory_order::relaxed, sycl::memory_scope::work_group,
                                         sycl::access::address_space::local_space>;

// A work-item: the kernel's functions are members, for they ask for its place.
struct pg_thread {
const sycl::nd_item<3>& pg_place;
const sycl::nd_item<3>& pg_item() const { return pg_place; }
// shared memory of a block
struct shared_memory {
    alignas(128) int own_[16];
};
// 12: def counts(x, bins):
__attribute__((always_inline)) inline void counts_(
    const float* __restrict x,
    int x_n0,
    int* bins_,
    shared_memory* pg_shared) {
    PG_EXACT
    int (&own_)[16] = pg_shared->own_;
    // 15: t = cuda.threadIdx.x
    int t = (int)pg_item().get_local_id(2);
    // 16: if t < 16:
    if (t < 16) {
        // 17: own[t] = 0
        own_[t] = 0;
    }
    // 18: cuda.syncthreads()
    sycl::group_barrier(pg_item().get_group());
    // 19: for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
    for (int i = (int)pg_item().get_global_id(2); i < x_n0; i += (int)pg_item().get_global_range(2)) {
        // 20: cuda.atomic.add(own, int(x[i] * 4) % 16, 1)
        pg_atomic_local<int>(*(own_ + (int)((long)(x[i] * 4.0f) & 15L))).fetch_add(1);
    }
    // 21: cuda.syncthreads()
    sycl::group_barrier(pg_item().get_group());
    // 22: if t < 16:
    if (t < 16) {
        // 23: cuda.atomic.add(bins, t, own[t])
        pg_atomic_global<int>(*(bins_ + t)).fetch_add(own_[t]);
    }
}
};

using shared_memory = pg_thread::shared_memory;

// What a work-item does, for kernels of your own.
inline void kernel(
    const sycl::nd_item<3>& pg_item,
    const float* __restrict x,
    int x_n0,
    int* bins_,
    shared_memory* pg_shared) {
    pg_thread{pg_item}.counts_(x, x_n0, bins_, pg_shared);
}

class pg_kernel;
// Launches the kernel; extents are (z, y, x). Returns the event of its end.
inline sycl::event launch(
    sycl::queue& pg_queue,
    sycl::range<3> pg_groups,
    sycl::range<3> pg_block,
    const float* __restrict x,
    int x_n0,
    int* bins_,
    const std::vector<sycl::event>& pg_after = {}) {
    return pg_queue.submit([&](sycl::handler& pg_handler) {
        pg_handler.depends_on(pg_after);
        const sycl::local_accessor<shared_memory, 1> pg_shared(sycl::range<1>(1), pg_handler);
        pg_handler.parallel_for<pg_kernel>(
            sycl::nd_range<3>(pg_groups * pg_block, pg_block), [=](sycl::nd_item<3> pg_item) {
                kernel(pg_item, x, x_n0, bins_, &pg_shared[0]);
            });
    });
}
}  // namespace portagpu_counts
#undef PG_EXACT
#endif

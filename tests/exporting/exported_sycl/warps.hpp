/* warps(x: int32[::1])
 *
 * SYCL 2020 of the kernel warps of exported_kernels.py, made by PortaGPU VERSION. Lines of Python are comments.
 *
 *     icpx -fsycl -O2 -fno-strict-aliasing ...
 *     acpp -O2 -fno-strict-aliasing ...
 *
 * portagpu_warps::launch() launches the kernel. Extents are those of SYCL: (z, y, x).
 * Work-groups have at most 1024 work-items.
 * Arguments, behind the queue and extents:
 *   0: memory of x
 */
#ifndef PORTAGPU_WARPS_HPP
#define PORTAGPU_WARPS_HPP
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

namespace portagpu_warps {
static_assert(sizeof(int) == 4 && sizeof(long) == 8, "the text counts on 64 bits of long, which Windows has not");
using uchar = unsigned char;
using uint = unsigned int;
using ulong = unsigned long;
using sycl::min;

// A work-item: the kernel's functions are members, for they ask for its place.
struct pg_thread {
const sycl::nd_item<3>& pg_place;
const sycl::nd_item<3>& pg_item() const { return pg_place; }

__attribute__((always_inline)) inline int pg_warp_shuffle_int(ulong* cells, uchar* flags, int value, uint lane_or_delta, int mode) {
    PG_EXACT
    // what the rows before have comes first, in 32 bits: compilers for CPUs then see that neighbours' numbers are, too
    const int row = ((int)pg_item().get_local_id(0) * (int)pg_item().get_local_range(1) + (int)pg_item().get_local_id(1)) * (int)pg_item().get_local_range(2);
    const int id = row + (int)pg_item().get_local_id(2);
    const int lane = id & 31;
    const int first = id - lane;
    const int lanes = min(32, (int)(pg_item().get_local_range(2) * pg_item().get_local_range(1) * pg_item().get_local_range(0)) - first);
    uint* values = (uint*)cells;
    values[id] = sycl::bit_cast<uint>(value);
    sycl::group_barrier(pg_item().get_group());
    const int operand = mode == 1 || mode == 2 ? (int)min(lane_or_delta, 64u) : (int)(lane_or_delta & 31);
    const int from = mode == 0 ? operand : mode == 1 ? lane - operand : mode == 2 ? lane + operand : lane ^ operand;
    const int source = mode == 0 ? first + operand : mode == 1 ? id - operand : mode == 2 ? id + operand : id ^ operand;
    int result = value;
    if (from >= 0 && from < lanes) result = sycl::bit_cast<int>(values[source]);
    return result;
}
// shared memory of a block
struct shared_memory {
    alignas(128) ulong pg_warp[2048];
    alignas(128) uchar pg_warp_flags[2048];
};
// 69: def warps(x):
__attribute__((always_inline)) inline void warps_(
    int* x,
    shared_memory* pg_shared) {
    PG_EXACT
    ulong (&pg_warp)[2048] = pg_shared->pg_warp;
    uchar (&pg_warp_flags)[2048] = pg_shared->pg_warp_flags;
    // 71: i = cuda.grid(1)
    int i = (int)pg_item().get_global_id(2);
    // 72: x[i] = cuda.shfl_down_sync(0xFFFFFFFF, x[i], 1)
    int t1 = pg_warp_shuffle_int(pg_warp + 1024, pg_warp_flags + 1024, x[i], 1u, 2);
    x[i] = t1;
}
};

using shared_memory = pg_thread::shared_memory;

// What a work-item does, for kernels of your own.
inline void kernel(
    const sycl::nd_item<3>& pg_item,
    int* x,
    shared_memory* pg_shared) {
    pg_thread{pg_item}.warps_(x, pg_shared);
}

class pg_kernel;
// Launches the kernel; extents are (z, y, x). Returns the event of its end.
inline sycl::event launch(
    sycl::queue& pg_queue,
    sycl::range<3> pg_groups,
    sycl::range<3> pg_block,
    int* x,
    const std::vector<sycl::event>& pg_after = {}) {
    return pg_queue.submit([&](sycl::handler& pg_handler) {
        pg_handler.depends_on(pg_after);
        const sycl::local_accessor<shared_memory, 1> pg_shared(sycl::range<1>(1), pg_handler);
        pg_handler.parallel_for<pg_kernel>(
            sycl::nd_range<3>(pg_groups * pg_block, pg_block), [=](sycl::nd_item<3> pg_item) {
                kernel(pg_item, x, &pg_shared[0]);
            });
    });
}
}  // namespace portagpu_warps
#undef PG_EXACT
#endif

/* reversed_blocks(x: int32[::1])
 *
 * SYCL 2020 of the kernel reversed_blocks of exported_kernels.py, made by PortaGPU VERSION. Lines of Python are comments.
 *
 *     icpx -fsycl -O2 -fno-strict-aliasing ...
 *     acpp -O2 -fno-strict-aliasing ...
 *
 * portagpu_reversed_blocks::launch() launches the kernel. Extents are those of SYCL: (z, y, x).
 * Arguments, behind the queue and extents and the bytes of dynamic shared memory:
 *   0: memory of x
 */
#ifndef PORTAGPU_REVERSED_BLOCKS_HPP
#define PORTAGPU_REVERSED_BLOCKS_HPP
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

namespace portagpu_reversed_blocks {
static_assert(sizeof(int) == 4 && sizeof(long) == 8, "the text counts on 64 bits of long, which Windows has not");
using uint = unsigned int;
using ulong = unsigned long;
using ulong16 = sycl::vec<ulong, 16>;
// a part of dynamic shared memory
struct alignas(128) pg_line { unsigned char bytes[128]; };

// A work-item: the kernel's functions are members, for they ask for its place.
struct pg_thread {
const sycl::nd_item<3>& pg_place;
const sycl::nd_item<3>& pg_item() const { return pg_place; }

inline int pg_floordiv_int(int a, int b) {
    PG_EXACT
    if (b == 0) return 0;
    if (b == -1) return (int)(0 - (uint)a);
    int quotient = a / b;
    return (a - quotient * b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

inline int pg_wrap_index_int(int index, int extent) {
    PG_EXACT
    return index < 0 ? index + extent : index;
}
// 37: def reversed_blocks(x):
__attribute__((always_inline)) inline void reversed_blocks_(
    int* x,
    pg_line* pg_memory_pg_dynamic_shared,
    int pg_dynamic_bytes) {
    PG_EXACT
    ulong16* const pg_dynamic_shared = (ulong16*)pg_memory_pg_dynamic_shared;
    const int pg_blockDim_x = (int)pg_item().get_local_range(2);
    // 39: tile = cuda.shared.array(0, np.int32)
    int t1 = pg_floordiv_int(pg_dynamic_bytes, 4);
    int* tile_0_ = (int*)pg_dynamic_shared;
    int tile_1_ = t1;
    // 40: i, t = cuda.grid(1), cuda.threadIdx.x
    int i = (int)pg_item().get_global_id(2);
    int t = (int)pg_item().get_local_id(2);
    // 41: tile[t] = x[i]
    tile_0_[t] = x[i];
    // 42: cuda.syncthreads()
    sycl::group_barrier(pg_item().get_group());
    // 43: x[i] = tile[cuda.blockDim.x - 1 - t]
    x[i] = tile_0_[pg_wrap_index_int(pg_blockDim_x - 1 - t, tile_1_)];
}
};

// What a work-item does, for kernels of your own.
inline void kernel(
    const sycl::nd_item<3>& pg_item,
    int* x,
    pg_line* pg_memory_pg_dynamic_shared,
    int pg_dynamic_bytes) {
    pg_thread{pg_item}.reversed_blocks_(x, pg_memory_pg_dynamic_shared, pg_dynamic_bytes);
}

class pg_kernel;
// Launches the kernel; extents are (z, y, x). Returns the event of its end.
inline sycl::event launch(
    sycl::queue& pg_queue,
    sycl::range<3> pg_groups,
    sycl::range<3> pg_block,
    std::size_t pg_shared_bytes,
    int* x,
    const std::vector<sycl::event>& pg_after = {}) {
    return pg_queue.submit([&](sycl::handler& pg_handler) {
        pg_handler.depends_on(pg_after);
        const sycl::range<1> pg_lines(pg_shared_bytes / sizeof(pg_line) + 1);
        const sycl::local_accessor<pg_line, 1> pg_memory_pg_dynamic_shared(pg_lines, pg_handler);
        pg_handler.parallel_for<pg_kernel>(
            sycl::nd_range<3>(pg_groups * pg_block, pg_block), [=](sycl::nd_item<3> pg_item) {
                kernel(pg_item, x, &pg_memory_pg_dynamic_shared[0], (int)pg_shared_bytes);
            });
    });
}
}  // namespace portagpu_reversed_blocks
#undef PG_EXACT
#endif

/* product(a: float32[:, ::1], b: float32[::1, :], c: float32[:, :])
 *
 * SYCL 2020 of the kernel product of exported_kernels.py, made by PortaGPU VERSION. Lines of Python are comments.
 *
 *     icpx -fsycl -O2 -fno-strict-aliasing ...
 *     acpp -O2 -fno-strict-aliasing ...
 *
 * portagpu_product::launch() launches the kernel. Extents are those of SYCL: (z, y, x).
 * Arguments, behind the queue and extents:
 *   0: memory of a
 *   1: elements of a along axis 0
 *   2: elements of a along axis 1
 *   3: memory of b
 *   4: elements of b along axis 0
 *   5: elements of b along axis 1
 *   6: memory of c
 *   7: elements of c along axis 0
 *   8: elements of c along axis 1
 *   9: stride of c along axis 0, in units of 4 bytes
 *   10: stride of c along axis 1, in units of 4 bytes
 */
#ifndef PORTAGPU_PRODUCT_HPP
#define PORTAGPU_PRODUCT_HPP
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

namespace portagpu_product {
static_assert(sizeof(int) == 4 && sizeof(long) == 8, "the text counts on 64 bits of long, which Windows has not");

// A work-item: the kernel's functions are members, for they ask for its place.
struct pg_thread {
const sycl::nd_item<3>& pg_place;
const sycl::nd_item<3>& pg_item() const { return pg_place; }
// shared memory of a block
struct shared_memory {
    alignas(128) float tile_[64];
};
// 19: def product(a, b, c):
__attribute__((always_inline)) inline void product_(
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
    int c_s1,
    shared_memory* pg_shared) {
    PG_EXACT
    float (&tile_)[64] = pg_shared->tile_;
    // 22: i, j = cuda.grid(2)
    int i = (int)pg_item().get_global_id(2);
    int j = (int)pg_item().get_global_id(1);
    // 23: x, y = cuda.threadIdx.x, cuda.threadIdx.y
    int x = (int)pg_item().get_local_id(2);
    int y = (int)pg_item().get_local_id(1);
    // 25: for first in range(0, a.shape[1], 8):
    float total_ = 0.0f;
    for (int first_ = 0; first_ < a_n1; first_ += 8) {
        // 26: tile[x, y] = a[i, first + y] if i < a.shape[0] and first + y < a.shape[1] else 0
        tile_[x * 8 + y] = i < a_n0 && (long)first_ + (long)y < (long)a_n1 ? a[i * a_n1 + (first_ + y)] : 0.0f;
        // 27: cuda.syncthreads()
        sycl::group_barrier(pg_item().get_group());
        // 28: for k in range(8):
        for (int k = 0; k < 8; k += 1) {
            // 29: if first + k < b.shape[0] and j < b.shape[1]:
            if ((long)first_ + (long)k < (long)b_n0 && j < b_n1) {
                // 30: total += tile[x, k] * b[first + k, j]
                total_ = total_ + tile_[x * 8 + k] * b[first_ + k + j * b_n0];
            }
        }
        // 31: cuda.syncthreads()
        sycl::group_barrier(pg_item().get_group());
    }
    // 32: if i < c.shape[0] and j < c.shape[1]:
    if (i < c_n0 && j < c_n1) {
        // 33: c[i, j] = total
        c[i * c_s0 + j * c_s1] = total_;
    }
}
};

using shared_memory = pg_thread::shared_memory;

// What a work-item does, for kernels of your own.
inline void kernel(
    const sycl::nd_item<3>& pg_item,
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
    int c_s1,
    shared_memory* pg_shared) {
    pg_thread{pg_item}.product_(a, a_n0, a_n1, b, b_n0, b_n1, c, c_n0, c_n1, c_s0, c_s1, pg_shared);
}

class pg_kernel;
// Launches the kernel; extents are (z, y, x). Returns the event of its end.
inline sycl::event launch(
    sycl::queue& pg_queue,
    sycl::range<3> pg_groups,
    sycl::range<3> pg_block,
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
    int c_s1,
    const std::vector<sycl::event>& pg_after = {}) {
    return pg_queue.submit([&](sycl::handler& pg_handler) {
        pg_handler.depends_on(pg_after);
        const sycl::local_accessor<shared_memory, 1> pg_shared(sycl::range<1>(1), pg_handler);
        pg_handler.parallel_for<pg_kernel>(
            sycl::nd_range<3>(pg_groups * pg_block, pg_block), [=](sycl::nd_item<3> pg_item) {
                kernel(pg_item, a, a_n0, a_n1, b, b_n0, b_n1, c, c_n0, c_n1, c_s0, c_s1, &pg_shared[0]);
            });
    });
}
}  // namespace portagpu_product
#undef PG_EXACT
#endif

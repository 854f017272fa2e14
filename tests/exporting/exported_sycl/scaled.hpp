/* scaled(x: float32[::1], y: float32[::1], factor: float32, n: int32)
 *
 * SYCL 2020 of the kernel scaled of exported_kernels.py, made by PortaGPU VERSION. Lines of Python are comments.
 *
 *     icpx -fsycl -O2 -fno-strict-aliasing ...
 *     acpp -O2 -fno-strict-aliasing ...
 *
 * portagpu_scaled::launch() launches the kernel. Extents are those of SYCL: (z, y, x).
 * Arguments, behind the queue and extents:
 *   0: memory of x
 *   1: memory of y
 *   2: elements of y along axis 0
 *   3: factor
 *   4: n
 */
#ifndef PORTAGPU_SCALED_HPP
#define PORTAGPU_SCALED_HPP
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

namespace portagpu_scaled {
static_assert(sizeof(int) == 4 && sizeof(long) == 8, "the text counts on 64 bits of long, which Windows has not");
using sycl::sqrt;

// A work-item: the kernel's functions are members, for they ask for its place.
struct pg_thread {
const sycl::nd_item<3>& pg_place;
const sycl::nd_item<3>& pg_item() const { return pg_place; }
// 11: def scaled(x, y, factor, n):
__attribute__((always_inline)) inline void scaled_(
    const float* __restrict x,
    float* __restrict y,
    int y_n0,
    float factor_,
    int n) {
    PG_EXACT
    // 13: i = cuda.grid(1)
    int i = (int)pg_item().get_global_id(2);
    // 14: if i < n and i < y.size:
    if (i < n && i < y_n0) {
        // 15: y[i] = factor * x[i] + math.sqrt(x[i])
        y[i] = factor_ * x[i] + sqrt(x[i]);
    }
}
};

// What a work-item does, for kernels of your own.
inline void kernel(
    const sycl::nd_item<3>& pg_item,
    const float* __restrict x,
    float* __restrict y,
    int y_n0,
    float factor_,
    int n) {
    pg_thread{pg_item}.scaled_(x, y, y_n0, factor_, n);
}

class pg_kernel;
// Launches the kernel; extents are (z, y, x). Returns the event of its end.
inline sycl::event launch(
    sycl::queue& pg_queue,
    sycl::range<3> pg_groups,
    sycl::range<3> pg_block,
    const float* __restrict x,
    float* __restrict y,
    int y_n0,
    float factor_,
    int n,
    const std::vector<sycl::event>& pg_after = {}) {
    return pg_queue.submit([&](sycl::handler& pg_handler) {
        pg_handler.depends_on(pg_after);
        pg_handler.parallel_for<pg_kernel>(
            sycl::nd_range<3>(pg_groups * pg_block, pg_block), [=](sycl::nd_item<3> pg_item) {
                kernel(pg_item, x, y, y_n0, factor_, n);
            });
    });
}
}  // namespace portagpu_scaled
#undef PG_EXACT
#endif

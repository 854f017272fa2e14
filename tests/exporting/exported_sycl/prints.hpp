/* prints(x: float32[::1], limit: float32)
 *
 * SYCL 2020 of the kernel prints of exported_sycl_kernels.py, made by PortaGPU VERSION. Lines of Python are comments.
 *
 *     icpx -fsycl -O2 -fno-strict-aliasing ...
 *     acpp -O2 -fno-strict-aliasing ...
 *
 * portagpu_prints::launch() launches the kernel. Extents are those of SYCL: (z, y, x).
 * The device needs aspect::fp64.
 * Arguments, behind the queue and extents:
 *   0: memory of x
 *   1: elements of x along axis 0
 *   2: limit
 */
#ifndef PORTAGPU_PRINTS_HPP
#define PORTAGPU_PRINTS_HPP
#if defined(__GNUC__) || defined(__clang__)
#pragma GCC system_header  // generated text has names and values that are not used
#endif
#include <sycl/sycl.hpp>
#include <cstddef>
#include <vector>
#ifndef SYCL_IMPLEMENTATION_ONEAPI
#error "the kernel prints, for which SYCL 2020 has no function: compile it by DPC++ (icpx -fsycl)"
#endif
// at the start of a function: numbers are what its text says, no product is fused with a sum, and no sum is reordered
#ifdef __clang__
#define PG_EXACT _Pragma("clang fp contract(off) reassociate(off)")
#else
#define PG_EXACT
#endif

namespace portagpu_prints {
static_assert(sizeof(int) == 4 && sizeof(long) == 8, "the text counts on 64 bits of long, which Windows has not");
namespace syclexp = sycl::ext::oneapi::experimental;
using sycl::fmax;
using sycl::isnan;
template <class T>
using pg_atomic_global = sycl::atomic_ref<T, sycl::memory_order::relaxed, sycl::memory_scope::device,
                                         sycl::access::address_space::global_space>;

// A work-item: the kernel's functions are members, for they ask for its place.
struct pg_thread {
const sycl::nd_item<3>& pg_place;
const sycl::nd_item<3>& pg_item() const { return pg_place; }

inline float pg_atomic_max_float_global(float* place, float operand) {
    PG_EXACT
    pg_atomic_global<int> cell(*(int*)place);
    int expected = cell.load(), desired;
    do {
        const float old = sycl::bit_cast<float>(expected);
        const float updated = isnan(old) || isnan(operand) ? old : fmax(old, operand);
        desired = sycl::bit_cast<int>(updated);
    } while (desired != expected && !cell.compare_exchange_strong(expected, desired));
    return sycl::bit_cast<float>(expected);
}
// 43: def prints(x, limit):
__attribute__((always_inline)) inline void prints_(
    float* x,
    int x_n0,
    float limit_) {
    PG_EXACT
    // 45: i = cuda.grid(1)
    int i = (int)pg_item().get_global_id(2);
    // 46: if i < x.size:
    if (i < x_n0) {
        // 47: cuda.atomic.max(x, 0, x[i] * limit)
        pg_atomic_max_float_global(x + 0, x[i] * limit_);
        // 48: if i == 1:
        if (i == 1) {
            // 49: print("one", x[i])
            syclexp::printf("one %f\n", (double)x[i]);
        }
    }
}
};

// What a work-item does, for kernels of your own.
inline void kernel(
    const sycl::nd_item<3>& pg_item,
    float* x,
    int x_n0,
    float limit_) {
    pg_thread{pg_item}.prints_(x, x_n0, limit_);
}

class pg_kernel;
// Launches the kernel; extents are (z, y, x). Returns the event of its end.
inline sycl::event launch(
    sycl::queue& pg_queue,
    sycl::range<3> pg_groups,
    sycl::range<3> pg_block,
    float* x,
    int x_n0,
    float limit_,
    const std::vector<sycl::event>& pg_after = {}) {
    return pg_queue.submit([&](sycl::handler& pg_handler) {
        pg_handler.depends_on(pg_after);
        pg_handler.parallel_for<pg_kernel>(
            sycl::nd_range<3>(pg_groups * pg_block, pg_block), [=](sycl::nd_item<3> pg_item) {
                kernel(pg_item, x, x_n0, limit_);
            });
    });
}
}  // namespace portagpu_prints
#undef PG_EXACT
#endif

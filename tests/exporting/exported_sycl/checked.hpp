/* checked(x: float32[::1], limit: float32)
 *
 * SYCL 2020 of the kernel checked of exported_kernels.py, made by PortaGPU VERSION. Lines of Python are comments.
 *
 *     icpx -fsycl -O2 -fno-strict-aliasing ...
 *     acpp -O2 -fno-strict-aliasing ...
 *
 * portagpu_checked::launch() launches the kernel. Extents are those of SYCL: (z, y, x).
 * Arguments, behind the queue and extents:
 *   0: memory of x
 *   1: elements of x along axis 0
 *   2: limit
 *   3: the record of an exception
 */
#ifndef PORTAGPU_CHECKED_HPP
#define PORTAGPU_CHECKED_HPP
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

namespace portagpu_checked {
static_assert(sizeof(int) == 4 && sizeof(long) == 8, "the text counts on 64 bits of long, which Windows has not");
template <class T>
using pg_atomic_global = sycl::atomic_ref<T, sycl::memory_order::relaxed, sycl::memory_scope::device,
                                         sycl::access::address_space::global_space>;

// A work-item: the kernel's functions are members, for they ask for its place.
struct pg_thread {
const sycl::nd_item<3>& pg_place;
const sycl::nd_item<3>& pg_item() const { return pg_place; }

inline int pg_atomic_claim_fault_long_global(long* record, int code) {
    PG_EXACT
    int none = 0;
    if (!pg_atomic_global<int>(*(int*)record).compare_exchange_strong(none, code)) return 0;
    record[1] = (long)pg_item().get_local_id(2);
    record[4] = (long)pg_item().get_group(2);
    record[2] = (long)pg_item().get_local_id(1);
    record[5] = (long)pg_item().get_group(1);
    record[3] = (long)pg_item().get_local_id(0);
    record[6] = (long)pg_item().get_group(0);
    return 1;
}
// 59: def checked(x, limit):
__attribute__((always_inline)) inline void checked_(
    float* __restrict x,
    int x_n0,
    float limit_,
    long* pg_fault) {
    PG_EXACT
    // 61: i = cuda.grid(1)
    int i = (int)pg_item().get_global_id(2);
    // 62: if i < x.size:
    if (i < x_n0) {
        // 63: if x[i] > limit:
        int t1 = i;
        if (!((long)t1 >= -(long)x_n0 && t1 < x_n0)) {
            if (pg_atomic_claim_fault_long_global(pg_fault, 1) != 0) {
                pg_fault[7] = (long)t1;
                pg_fault[8] = (long)x_n0;
            }
            return;
        }
        if (x[t1] > limit_) {
            // 64: raise ValueError("too large")
            pg_atomic_claim_fault_long_global(pg_fault, 2) != 0;
            return;
        }
        // 65: x[i] += 1
        int t2 = i;
        if (!((long)t2 >= -(long)x_n0 && t2 < x_n0)) {
            if (pg_atomic_claim_fault_long_global(pg_fault, 3) != 0) {
                pg_fault[7] = (long)t2;
                pg_fault[8] = (long)x_n0;
            }
            return;
        }
        int t3 = t2;
        x[t3] = x[t3] + 1.0f;
    }
}
};

// What a work-item does, for kernels of your own.
inline void kernel(
    const sycl::nd_item<3>& pg_item,
    float* __restrict x,
    int x_n0,
    float limit_,
    long* pg_fault) {
    pg_thread{pg_item}.checked_(x, x_n0, limit_, pg_fault);
}

class pg_kernel;
// Launches the kernel; extents are (z, y, x). Returns the event of its end.
inline sycl::event launch(
    sycl::queue& pg_queue,
    sycl::range<3> pg_groups,
    sycl::range<3> pg_block,
    float* __restrict x,
    int x_n0,
    float limit_,
    long* pg_fault,
    const std::vector<sycl::event>& pg_after = {}) {
    return pg_queue.submit([&](sycl::handler& pg_handler) {
        pg_handler.depends_on(pg_after);
        pg_handler.parallel_for<pg_kernel>(
            sycl::nd_range<3>(pg_groups * pg_block, pg_block), [=](sycl::nd_item<3> pg_item) {
                kernel(pg_item, x, x_n0, limit_, pg_fault);
            });
    });
}
}  // namespace portagpu_checked
#undef PG_EXACT
#endif

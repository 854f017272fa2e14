/* turned(a: float32[:, ::1], z: complex64[:, ::1])
 *
 * SYCL 2020 of the kernel turned of exported_sycl_kernels.py, made by PortaGPU VERSION. Lines of Python are comments.
 *
 *     icpx -fsycl -O2 -fno-strict-aliasing ...
 *     acpp -O2 -fno-strict-aliasing ...
 *
 * portagpu_turned::launch() launches the kernel. Extents are those of SYCL: (z, y, x).
 * Work-groups have 16 x 4 x 1 work-items, by (x, y, z).
 * Arguments, behind the queue and extents:
 *   0: memory of a
 *   1: elements of a along axis 0
 *   2: elements of a along axis 1
 *   3: memory of z
 *   4: elements of z along axis 1
 */
#ifndef PORTAGPU_TURNED_HPP
#define PORTAGPU_TURNED_HPP
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

namespace portagpu_turned {
static_assert(sizeof(int) == 4 && sizeof(long) == 8, "the text counts on 64 bits of long, which Windows has not");
using uint = unsigned int;
using float2 = sycl::vec<float, 2>;
struct pg_tuple_f32_f32 {
    float item0;
    float item1;
};
static const float pg_const0[4] = { 1.0f, 2.5f, -1.0f, 0.125f };
static const uint pg_const1_bits[8] __attribute__((aligned(16))) = { 0x3f800000, 0x00000000, 0x00000000, 0x3f800000, 0xbf800000, 0x00000000, 0x80000000, 0xbf800000 };
#define pg_const1 ((const float2*)pg_const1_bits)

// A work-item: the kernel's functions are members, for they ask for its place.
struct pg_thread {
const sycl::nd_item<3>& pg_place;
const sycl::nd_item<3>& pg_item() const { return pg_place; }

inline float2 pg_complex_mul_float2(float2 a, float2 b) {
    PG_EXACT
    return float2(a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]);
}
// 27: def sum_and_difference(x, y):
inline pg_tuple_f32_f32 sum_and_difference_(float x, float y) {
    PG_EXACT
    // 28: return x + y, x - y
    { pg_tuple_f32_f32 result = { x + y, x - y }; return result; }
}

// 32: def turned(a, z):
__attribute__((always_inline)) inline void turned_(
    float* __restrict a,
    int a_n0,
    int a_n1,
    float2* __restrict z,
    int z_n1) {
    PG_EXACT
    // 34: weights, turns = cuda.const.array_like(WEIGHTS), cuda.const.array_like(TURNS)
    const float* weights_0_ = pg_const0;
    const float2* turns_0_ = pg_const1;
    // 35: j, i = cuda.grid(2)
    int j = (int)pg_item().get_global_id(2);
    int i = (int)pg_item().get_global_id(1);
    // 36: if i < a.shape[0] and j < a.shape[1]:
    if (i < a_n0 && j < a_n1) {
        // 37: more, less = sum_and_difference(a[i, j], weights[j % 4])
        pg_tuple_f32_f32 t1 = sum_and_difference_(a[i * a_n1 + j], weights_0_[j & 3]);
        float more_ = t1.item0;
        float less_ = t1.item1;
        // 38: z[i, j] = z[i, j] * turns[i % 4]
        z[i * z_n1 + j] = pg_complex_mul_float2(z[i * z_n1 + j], turns_0_[i & 3]);
        // 39: a[i, j] = more * less
        a[i * a_n1 + j] = more_ * less_;
    }
}
};

// What a work-item does, for kernels of your own.
inline void kernel(
    const sycl::nd_item<3>& pg_item,
    float* __restrict a,
    int a_n0,
    int a_n1,
    float2* __restrict z,
    int z_n1) {
    pg_thread{pg_item}.turned_(a, a_n0, a_n1, z, z_n1);
}

class pg_kernel;
// Launches the kernel; extents are (z, y, x). Returns the event of its end.
inline sycl::event launch(
    sycl::queue& pg_queue,
    sycl::range<3> pg_groups,
    float* __restrict a,
    int a_n0,
    int a_n1,
    float2* __restrict z,
    int z_n1,
    const std::vector<sycl::event>& pg_after = {}) {
    const sycl::range<3> pg_block(1, 4, 16);
    return pg_queue.submit([&](sycl::handler& pg_handler) {
        pg_handler.depends_on(pg_after);
        pg_handler.parallel_for<pg_kernel>(
            sycl::nd_range<3>(pg_groups * pg_block, pg_block), [=](sycl::nd_item<3> pg_item) [[sycl::reqd_work_group_size(1, 4, 16)]] {
                kernel(pg_item, a, a_n0, a_n1, z, z_n1);
            });
    });
}
#undef pg_const1
}  // namespace portagpu_turned
#undef PG_EXACT
#endif

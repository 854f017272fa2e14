/* many_types(h: float16[::1], b: bfloat16[:], z: complex64[::1], flags: bool[:], counts: int64[:], w: complex128)
 *
 * SYCL 2020 of the kernel many_types of exported_kernels.py, made by PortaGPU VERSION. Lines of Python are comments.
 *
 *     icpx -fsycl -O2 -fno-strict-aliasing ...
 *     acpp -O2 -fno-strict-aliasing ...
 *
 * portagpu_many_types::launch() launches the kernel. Extents are those of SYCL: (z, y, x).
 * The device needs aspect::fp16 and aspect::fp64 and aspect::atomic64.
 * Arguments, behind the queue and extents:
 *   0: memory of h
 *   1: elements of h along axis 0
 *   2: memory of b
 *   3: stride of b along axis 0, in units of 2 bytes
 *   4: memory of z
 *   5: memory of flags
 *   6: stride of flags along axis 0, in units of 1 byte
 *   7: memory of counts
 *   8: w
 */
#ifndef PORTAGPU_MANY_TYPES_HPP
#define PORTAGPU_MANY_TYPES_HPP
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

namespace portagpu_many_types {
static_assert(sizeof(int) == 4 && sizeof(long) == 8, "the text counts on 64 bits of long, which Windows has not");
using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using half = sycl::half;
using double2 = sycl::vec<double, 2>;
using float2 = sycl::vec<float, 2>;
using sycl::isnan;
template <class T>
using pg_atomic_global = sycl::atomic_ref<T, sycl::memory_order::relaxed, sycl::memory_scope::device,
                                         sycl::access::address_space::global_space>;

// A work-item: the kernel's functions are members, for they ask for its place.
struct pg_thread {
const sycl::nd_item<3>& pg_place;
const sycl::nd_item<3>& pg_item() const { return pg_place; }

inline ushort pg_bfloat16_bits_float(float x) {  // to nearest, ties to even; a nan stays one
    PG_EXACT
    uint word = sycl::bit_cast<uint>(x), upper = word >> 16;
    uint nearest = (word + 0x7FFFu + (upper & 1u)) >> 16;
    return (ushort)(isnan(x) ? upper | 0x40u : nearest);
}

inline float pg_bfloat16_value_float(ushort bits) {
    PG_EXACT
    return sycl::bit_cast<float>((uint)bits << 16); // not convert_uint, which one CPU compiler gets wrong: docs/driver-quirks.md
}

inline double2 pg_complex_mul_double2(double2 a, double2 b) {
    PG_EXACT
    return double2(a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]);
}
// 47: def many_types(h, b, z, flags, counts, w):
__attribute__((always_inline)) inline void many_types_(
    ushort* h,
    int h_n0,
    ushort* b,
    int b_s0,
    float2* z,
    uchar* flags_,
    int flags_s0_,
    long* counts_,
    double2 w) {
    PG_EXACT
    // 49: i = cuda.grid(1)
    int i = (int)pg_item().get_global_id(2);
    // 50: if i < h.size:
    if (i < h_n0) {
        // 51: h[i] = h[i] * 2
        *(half*)(h + i) = (half)((float)(half)((float)*(const half*)(h + i) * 2.0f));
        // 52: b[i] = b[i] + 1
        b[i * b_s0] = pg_bfloat16_bits_float(pg_bfloat16_value_float(b[i * b_s0]) + 1.0f);
        // 53: z[i] = z[i] * w
        z[i] = (pg_complex_mul_double2((z[i]).convert<double>(), w)).convert<float>();
        // 54: flags[i] = not flags[i]
        flags_[i * flags_s0_] = (uchar)!(flags_[i * flags_s0_] != 0);
        // 55: cuda.atomic.add(counts, 0, i)
        pg_atomic_global<long>(*(counts_ + 0)).fetch_add((long)i);
    }
}
};

// What a work-item does, for kernels of your own.
inline void kernel(
    const sycl::nd_item<3>& pg_item,
    ushort* h,
    int h_n0,
    ushort* b,
    int b_s0,
    float2* z,
    uchar* flags_,
    int flags_s0_,
    long* counts_,
    double2 w) {
    pg_thread{pg_item}.many_types_(h, h_n0, b, b_s0, z, flags_, flags_s0_, counts_, w);
}

class pg_kernel;
// Launches the kernel; extents are (z, y, x). Returns the event of its end.
inline sycl::event launch(
    sycl::queue& pg_queue,
    sycl::range<3> pg_groups,
    sycl::range<3> pg_block,
    ushort* h,
    int h_n0,
    ushort* b,
    int b_s0,
    float2* z,
    uchar* flags_,
    int flags_s0_,
    long* counts_,
    double2 w,
    const std::vector<sycl::event>& pg_after = {}) {
    return pg_queue.submit([&](sycl::handler& pg_handler) {
        pg_handler.depends_on(pg_after);
        pg_handler.parallel_for<pg_kernel>(
            sycl::nd_range<3>(pg_groups * pg_block, pg_block), [=](sycl::nd_item<3> pg_item) {
                kernel(pg_item, h, h_n0, b, b_s0, z, flags_, flags_s0_, counts_, w);
            });
    });
}
}  // namespace portagpu_many_types
#undef PG_EXACT
#endif

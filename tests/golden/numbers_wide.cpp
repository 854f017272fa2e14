#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
#include <sycl/half_type.hpp>
#include <sycl/bit_cast.hpp>
#include <sycl/vector.hpp>
#include <sycl/builtins.hpp>
// numbers are what the text says: no product is fused with a sum, and no sum is reordered
#pragma clang fp contract(off) reassociate(off)

namespace syclext = sycl::ext::oneapi;
namespace syclexp = sycl::ext::oneapi::experimental;

namespace portagpu {
using ushort = unsigned short;
using uint = unsigned int;
using half = sycl::half;
using float2 = sycl::vec<float, 2>;
using sycl::erf;
using sycl::exp;
using sycl::fabs;
using sycl::isnan;
using sycl::popcount;
static inline sycl::nd_item<3> pg_item() { return syclext::this_work_item::get_nd_item<3>(); }
// a vector from memory that is aligned as its elements are
template <class V, class T> static inline V pg_load(const T* place) {
    V result;
    __builtin_memcpy(&result, place, V::size() * sizeof(T));
    return result;
}
template <class V, class T> static inline void pg_store(V value, T* place) {
    __builtin_memcpy(place, &value, V::size() * sizeof(T));
}
static const uint pg_const0_bits[6] __attribute__((aligned(16))) = { 0x3f800000, 0x40000000, 0xbf800000, 0x00000000, 0x00000000, 0x3f000000 };
#define pg_const0 ((const float2*)pg_const0_bits)

static inline float2 pg_complex_div_float2(float2 a, float2 b) {
    // Smith's division: no intermediate result is much larger than the quotient
    if (fabs(b[0]) >= fabs(b[1])) {
        if (b[0] == 0) return a / fabs(b[0]);
        float ratio = b[1] / b[0];
        return float2(a[0] + a[1] * ratio, a[1] - a[0] * ratio) / (b[0] + b[1] * ratio);
    }
    float ratio = b[0] / b[1];
    return float2(a[0] * ratio + a[1], a[1] * ratio - a[0]) / (b[1] + b[0] * ratio);
}

static inline float2 pg_complex_mul_float2(float2 a, float2 b) {
    return float2(a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]);
}

static inline long pg_wrap_index_long(long index, long extent) {
    return index < 0 ? index + extent : index;
}

static inline ushort pg_bfloat16_bits_float(float x) {  // to nearest, ties to even; a nan stays one
    uint word = sycl::bit_cast<uint>(x), upper = word >> 16;
    uint nearest = (word + 0x7FFFu + (upper & 1u)) >> 16;
    return (ushort)(isnan(x) ? upper | 0x40u : nearest);
}

static inline float pg_bfloat16_value_float(ushort bits) {
    return sycl::bit_cast<float>((uint)bits << 16); // not convert_uint, which one CPU compiler gets wrong: docs/driver-quirks.md
}

static inline int pg_floordiv_int(int a, int b) {
    if (b == 0) return 0;
    if (b == -1) return (int)(0 - (uint)a);
    int quotient = a / b;
    return (a - quotient * b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

static inline int pg_mod_int(int a, int b) {
    if (b == 0 || b == -1) return 0;
    int rest = a - a / b * b;
    return (rest != 0 && (rest < 0) != (b < 0)) ? rest + b : rest;
}

static inline char pg_iabs_small_char(char a) {
    return a >= 0 || a == (char)(1 << 7) ? a : (char)-a;
}
// 15: def halved(n):
__attribute__((always_inline)) static inline int halved_(int n) {
    // 16: return n // 2
    return n >> 1;
}

// 20: def numbers(z, h, b, v, out):
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<3>))
void numbers_(
    float2* __restrict z,
    long z_n0,
    half* __restrict h,
    ushort* __restrict b,
    float* __restrict v,
    int* __restrict out_) {
    const int pg_blockDim_x = (int)pg_item().get_local_range(2);
    // 22: table = cuda.const.array_like(POWERS)
    const float2* table_0_ = pg_const0;
    // 23: i = cuda.grid(1)
    long i = (long)pg_item().get_group(2) * pg_blockDim_x + (int)pg_item().get_local_id(2);
    // 24: if i < z.size:
    if (i < z_n0) {
        // 25: z[i] = z[i] * z[z.size - 1 - i] / (1 + 2j) + table[i % 3] ** 2
        float2 t1 = table_0_[i % 3L];
        z[i] = pg_complex_div_float2(pg_complex_mul_float2(z[i], z[pg_wrap_index_long(z_n0 - 1L - i, z_n0)]), float2(1.0f, 2.0f)) + pg_complex_mul_float2(t1, t1);
        // 26: h[i] = h[i] * h[0] - np.float16(math.exp(h[i]))
        h[i] = h[i] * h[0L] - exp(h[i]);
        // 27: b[i] = b[i] + 1
        b[i] = pg_bfloat16_bits_float(pg_bfloat16_value_float(b[i]) + 1.0f);
        // 28: pair = cuda.vload(v, 2 * i, 2) * 2
        float2 pair_ = pg_load<float2>(v + 2L * i) * (float2)(2.0f);
        // 29: cuda.vstore(pair + cuda.float32x2(1, math.erf(pair.x)), v, 2 * i)
        pg_store(pair_ + float2(1.0f, erf(pair_[0])), v + 2L * i);
        // 30: out[i] = halved(-out[i]) // 3 + halved(out[i]) + (out[i] << 5) % 7 + cuda.popc(out[i]) + abs(np.int8(out[i]))
        out_[i] = sycl::bit_cast<int>((uint)pg_floordiv_int(halved_(sycl::bit_cast<int>(0 - (uint)out_[i])), 3) + (uint)halved_(out_[i]) + (uint)pg_mod_int(out_[i] << 5, 7) + (uint)(int)popcount(out_[i]) + (uint)(int)pg_iabs_small_char((char)out_[i]));
    }
}
}  // namespace portagpu

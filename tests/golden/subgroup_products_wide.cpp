#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
#include <sycl/bit_cast.hpp>
#include <sycl/sub_group.hpp>
#include <sycl/vector.hpp>
// numbers are what the text says: no product is fused with a sum, and no sum is reordered
#pragma clang fp contract(off) reassociate(off)

namespace syclext = sycl::ext::oneapi;
namespace syclexp = sycl::ext::oneapi::experimental;
// functions of the driver's compiler
template <class T, int N> using pg_lanes = T __attribute__((ext_vector_type(N)));
SYCL_EXTERNAL pg_lanes<float, 8> intel_sub_group_f16_f16_matrix_mad_k16(pg_lanes<short, 8>, pg_lanes<int, 8>, pg_lanes<float, 8>) __attribute__((convergent));
SYCL_EXTERNAL pg_lanes<float, 8> intel_sub_group_bf16_bf16_matrix_mad_k16(pg_lanes<short, 8>, pg_lanes<int, 8>, pg_lanes<float, 8>) __attribute__((convergent));
SYCL_EXTERNAL pg_lanes<float, 8> intel_sub_group_tf32_tf32_matrix_mad_k8(pg_lanes<float, 4>, pg_lanes<float, 8>, pg_lanes<float, 8>) __attribute__((convergent));
SYCL_EXTERNAL pg_lanes<int, 8> intel_sub_group_i8_i8_matrix_mad_k32(pg_lanes<short, 8>, pg_lanes<int, 8>, pg_lanes<int, 8>) __attribute__((convergent));
SYCL_EXTERNAL float intel_sub_group_f16_f16_matrix_mad_k16(short, pg_lanes<int, 8>, float) __attribute__((convergent));

namespace portagpu {
using ushort = unsigned short;
using uint = unsigned int;
using float4 = sycl::vec<float, 4>;
using float8 = sycl::vec<float, 8>;
using int8 = sycl::vec<int, 8>;
using short8 = sycl::vec<short, 8>;
using uint8 = sycl::vec<uint, 8>;
// 1, which compilers cannot know, neither that it is small nor that it is not 0
static inline unsigned int pg_launch_number() {
    const unsigned int depth = (unsigned int)syclext::this_work_item::get_nd_item<3>().get_local_range(0);
    return (unsigned int)(depth != 0) + (depth >> 16);
}

static inline short8 pg_block_read_short8(const short* place) {
    typedef ushort bits __attribute__((ext_vector_type(8)));
    return sycl::bit_cast<short8>(
        __spirv_SubgroupBlockReadINTEL<bits>((const __attribute__((opencl_global)) ushort*)place));
}

static inline long pg_wrap_index_long(long index, long extent) {
    return index < 0 ? index + extent : index;
}

static inline void pg_block_write_float8(float* place, float8 value) {
    typedef uint bits __attribute__((ext_vector_type(8)));
    __spirv_SubgroupBlockWriteINTEL(
        (__attribute__((opencl_global)) uint*)place, sycl::bit_cast<bits>(value));
}

static inline void pg_block_write_float(float* place, float value) {
    using bits = uint;
    __spirv_SubgroupBlockWriteINTEL(
        (__attribute__((opencl_global)) uint*)place, sycl::bit_cast<bits>(value));
}
// 55: def subgroup_products(a, b, c):
extern "C" [[sycl::reqd_sub_group_size(16)]] SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<3>))
void subgroup_products_(
    short* __restrict a,
    long a_n0,
    float* __restrict b,
    long b_n0,
    float* __restrict c,
    long c_n0) {
    // 57: place = cuda.subgroup_id()
    int t1 = (int)syclext::this_work_item::get_sub_group().get_group_linear_id();
    int place_ = t1;
    // 58: rows = cuda.subgroup_block_read(a, place * 128, width=8)
    short8 t2 = pg_block_read_short8((const short*)(a + pg_wrap_index_long((long)(place_ * 128), a_n0)));
    short8 rows_ = t2;
    // 59: total = cuda.float32x8(0)
    float8 total_ = (float8)(0.0f);
    // 60: total = cuda.subgroup_matrix_mad("float16", rows, cuda.int32x8(0x3C003C00), total)
    float8 t3 = sycl::bit_cast<float8>(intel_sub_group_f16_f16_matrix_mad_k16(sycl::bit_cast<pg_lanes<short, 8>>(rows_), sycl::bit_cast<pg_lanes<int, 8>>((int8)(1006648320)), sycl::bit_cast<pg_lanes<float, 8>>(total_)));
    total_ = t3;
    // 61: total = cuda.subgroup_matrix_mad("bfloat16", rows, cuda.int32x8(0x3F803F80), total)
    float8 t4 = sycl::bit_cast<float8>(intel_sub_group_bf16_bf16_matrix_mad_k16(sycl::bit_cast<pg_lanes<short, 8>>(rows_), sycl::bit_cast<pg_lanes<int, 8>>((int8)(1065369472)), sycl::bit_cast<pg_lanes<float, 8>>(total_)));
    total_ = t4;
    // 62: total = cuda.subgroup_matrix_mad("tfloat32", cuda.float32x4(1), cuda.float32x8(2), total)
    float8 t5 = sycl::bit_cast<float8>(intel_sub_group_tf32_tf32_matrix_mad_k8(sycl::bit_cast<pg_lanes<float, 4>>((float4)(1.0f)), sycl::bit_cast<pg_lanes<float, 8>>((float8)(2.0f)), sycl::bit_cast<pg_lanes<float, 8>>(total_)));
    total_ = t5;
    // 63: sums = cuda.subgroup_matrix_mad("int8", rows, cuda.uint32x8(1), cuda.int32x8(place))
    int8 t6 = sycl::bit_cast<int8>(intel_sub_group_i8_i8_matrix_mad_k32(sycl::bit_cast<pg_lanes<short, 8>>(rows_), sycl::bit_cast<pg_lanes<int, 8>>((uint8)(1u)), sycl::bit_cast<pg_lanes<int, 8>>((int8)(place_))));
    int8 sums_ = t6;
    // 64: cuda.subgroup_block_write(total + cuda.float32x8(sums[0]), b, place * 128)
    pg_block_write_float8((float*)(b + pg_wrap_index_long((long)(place_ * 128), b_n0)), total_ + (float8)((float)(sums_[0] ^ (int)(pg_launch_number() >> 3))));
    // 65: one = cuda.subgroup_matrix_mad("float16", rows[0], cuda.int32x8(0), np.float32(1))
    float t7 = intel_sub_group_f16_f16_matrix_mad_k16(rows_[0], sycl::bit_cast<pg_lanes<int, 8>>((int8)(0)), 1.0f);
    float one_ = t7;
    // 66: cuda.subgroup_block_write(one, c, place * 16)
    pg_block_write_float((float*)(c + pg_wrap_index_long((long)(place_ * 16), c_n0)), one_);
}
}  // namespace portagpu

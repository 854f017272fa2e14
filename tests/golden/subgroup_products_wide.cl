float8 __attribute__((overloadable)) __attribute__((convergent)) intel_sub_group_f16_f16_matrix_mad_k16(short8, int8, float8);
float8 __attribute__((overloadable)) __attribute__((convergent)) intel_sub_group_bf16_bf16_matrix_mad_k16(short8, int8, float8);
float8 __attribute__((overloadable)) __attribute__((convergent)) intel_sub_group_tf32_tf32_matrix_mad_k8(float4, float8, float8);
int8 __attribute__((overloadable)) __attribute__((convergent)) intel_sub_group_i8_i8_matrix_mad_k32(short8, int8, int8);
float __attribute__((overloadable)) __attribute__((convergent)) intel_sub_group_f16_f16_matrix_mad_k16(short, int8, float);

static inline long pg_wrap_index_long(long index, long extent) {
    return index < 0 ? index + extent : index;
}
// 55: def subgroup_products(a, b, c):
__attribute__((intel_reqd_sub_group_size(16)))
__kernel void subgroup_products_(
    __global short* restrict a,
    long a_n0,
    __global float* restrict b,
    long b_n0,
    __global float* restrict c,
    long c_n0) {
    // 57: place = cuda.subgroup_id()
    int t1 = (int)get_sub_group_id();
    int place_ = t1;
    // 58: rows = cuda.subgroup_block_read(a, place * 128, width=8)
    short8 t2 = as_short8(intel_sub_group_block_read_us8((__global const ushort*)(a + pg_wrap_index_long((long)(place_ * 128), a_n0))));
    short8 rows_ = t2;
    // 59: total = cuda.float32x8(0)
    float8 total_ = (float8)(0.0f);
    // 60: total = cuda.subgroup_matrix_mad("float16", rows, cuda.int32x8(0x3C003C00), total)
    float8 t3 = intel_sub_group_f16_f16_matrix_mad_k16(rows_, (int8)(1006648320), total_);
    total_ = t3;
    // 61: total = cuda.subgroup_matrix_mad("bfloat16", rows, cuda.int32x8(0x3F803F80), total)
    float8 t4 = intel_sub_group_bf16_bf16_matrix_mad_k16(rows_, (int8)(1065369472), total_);
    total_ = t4;
    // 62: total = cuda.subgroup_matrix_mad("tfloat32", cuda.float32x4(1), cuda.float32x8(2), total)
    float8 t5 = intel_sub_group_tf32_tf32_matrix_mad_k8((float4)(1.0f), (float8)(2.0f), total_);
    total_ = t5;
    // 63: sums = cuda.subgroup_matrix_mad("int8", rows, cuda.uint32x8(1), cuda.int32x8(place))
    int8 t6 = intel_sub_group_i8_i8_matrix_mad_k32(rows_, as_int8((uint8)(1u)), (int8)(place_));
    int8 sums_ = t6;
    // 64: cuda.subgroup_block_write(total + cuda.float32x8(sums[0]), b, place * 128)
    intel_sub_group_block_write8((__global uint*)(b + pg_wrap_index_long((long)(place_ * 128), b_n0)), as_uint8(total_ + (float8)((float)sums_.s0)));
    // 65: one = cuda.subgroup_matrix_mad("float16", rows[0], cuda.int32x8(0), np.float32(1))
    float t7 = intel_sub_group_f16_f16_matrix_mad_k16(rows_.s0, (int8)(0), 1.0f);
    float one_ = t7;
    // 66: cuda.subgroup_block_write(one, c, place * 16)
    intel_sub_group_block_write((__global uint*)(c + pg_wrap_index_long((long)(place_ * 16), c_n0)), as_uint(one_));
}

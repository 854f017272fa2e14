// A product of matrices of ones: each element is the depth of the instruction, whichever lane holds it.
#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
#define HALF_ONES as_half4((short4)(0x3c00))
#if defined(UNIT_MFMA)
#define PRODUCT __builtin_amdgcn_mfma_f32_32x32x8f16(HALF_ONES, HALF_ONES, (float16)(0.0f), 0, 0, 0).s0
#elif defined(UNIT_MFMA_BFLOAT16)
#define PRODUCT __builtin_amdgcn_mfma_f32_32x32x8bf16_1k((short4)(0x3f80), (short4)(0x3f80), (float16)(0.0f), 0, 0, 0).s0
#elif defined(UNIT_MFMA_FLOAT64)
#define PRODUCT __builtin_amdgcn_mfma_f64_16x16x4f64(1.0, 1.0, (double4)(0.0), 0, 0, 0).s0
#elif defined(UNIT_MFMA_INT8)
#define PRODUCT __builtin_amdgcn_mfma_i32_32x32x8i8(0x01010101, 0x01010101, (int16)(0), 0, 0, 0).s0
#elif defined(UNIT_MFMA_INT8_WIDE)
#define PRODUCT __builtin_amdgcn_mfma_i32_32x32x16_i8(0x0101010101010101L, 0x0101010101010101L, (int16)(0), 0, 0, 0).s0
#elif defined(UNIT_MFMA_TFLOAT32)
#define PRODUCT __builtin_amdgcn_mfma_f32_32x32x4_xf32((float2)(1.0f), (float2)(1.0f), (float16)(0.0f), 0, 0, 0).s0
#elif defined(UNIT_WMMA)
#define ONES as_half16((short16)(0x3c00))
#define PRODUCT __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(ONES, ONES, (float8)(0.0f)).s0
#elif defined(UNIT_WMMA_HALVES)
#define ONES as_half8((short8)(0x3c00))
#define PRODUCT __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(ONES, ONES, (float8)(0.0f)).s0
#elif defined(UNIT_SUBGROUP)
#if SIZE == 8
#define ROWS int8
#define ONES (int8)(0x3c003c00)
#else
#define ROWS short8
#define ONES (short8)(0x3c00)
#endif
float8 __attribute__((overloadable)) __attribute__((convergent)) intel_sub_group_f16_f16_matrix_mad_k16(ROWS, int8, float8);
#define PRODUCT intel_sub_group_f16_f16_matrix_mad_k16(ONES, (int8)(0x3c003c00), (float8)(0.0f)).s0
#elif defined(UNIT_SUBGROUP_TFLOAT32)
float8 __attribute__((overloadable)) __attribute__((convergent)) intel_sub_group_tf32_tf32_matrix_mad_k8(float4, float8, float8);
#define PRODUCT intel_sub_group_tf32_tf32_matrix_mad_k8((float4)(1.0f), (float8)(1.0f), (float8)(0.0f)).s0
#endif
#if SIZE > 0
__attribute__((intel_reqd_sub_group_size(SIZE)))
#endif
__kernel void matrix_units(__global float *target)
{
    target[get_global_id(0)] = (float)PRODUCT;
}

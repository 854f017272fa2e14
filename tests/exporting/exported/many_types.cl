/* many_types(h: float16[::1], b: bfloat16[:], z: complex64[::1], flags: bool[:], counts: int64[:], w: complex128)
 *
 * OpenCL C of the kernel many_types of exported_kernels.py, made by PortaGPU VERSION. Lines of Python are comments.
 * Arguments, in order:
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
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

static inline float pg_round_half_float(float x) {
    ushort bits;
    vstore_half_rte(x, 0, (__private half*)&bits);
    return vload_half(0, (__private const half*)&bits);
}

static inline ushort pg_bfloat16_bits_float(float x) {  // to nearest, ties to even; a nan stays one
    uint word = as_uint(x), upper = word >> 16;
    uint nearest = (word + 0x7FFFu + (upper & 1u)) >> 16;
    return (ushort)(isnan(x) ? upper | 0x40u : nearest);
}

static inline float pg_bfloat16_value_float(ushort bits) {
    return as_float((uint)bits << 16); // not convert_uint, which one CPU compiler gets wrong: docs/driver-quirks.md
}

static inline double2 pg_complex_mul_double2(double2 a, double2 b) {
    return (double2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
// 47: def many_types(h, b, z, flags, counts, w):
__kernel void many_types_(
    __global ushort* h,
    int h_n0,
    __global ushort* b,
    int b_s0,
    __global float2* z,
    __global uchar* flags_,
    int flags_s0_,
    __global long* counts_,
    double2 w) {
    // 49: i = cuda.grid(1)
    int i = (int)get_global_id(0);
    // 50: if i < h.size:
    if (i < h_n0) {
        // 51: h[i] = h[i] * 2
        vstore_half_rte(pg_round_half_float(vload_half(0, (__global const half*)(h + i)) * 2.0f), 0, (__global half*)(h + i));
        // 52: b[i] = b[i] + 1
        b[i * b_s0] = pg_bfloat16_bits_float(pg_bfloat16_value_float(b[i * b_s0]) + 1.0f);
        // 53: z[i] = z[i] * w
        z[i] = convert_float2(pg_complex_mul_double2(convert_double2(z[i]), w));
        // 54: flags[i] = not flags[i]
        flags_[i * flags_s0_] = (uchar)!(flags_[i * flags_s0_] != 0);
        // 55: cuda.atomic.add(counts, 0, i)
        atom_add((volatile __global long*)(counts_ + 0), (long)i);
    }
}

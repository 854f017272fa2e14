#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__constant float2 pg_const0[3] = { (float2)(1.0f, 2.0f), (float2)(-1.0f, 0.0f), (float2)(0.0f, 0.5f) };

static inline float2 pg_complex_div_float2(float2 a, float2 b) {
    // Smith's division: no intermediate result is much larger than the quotient
    if (fabs(b.x) >= fabs(b.y)) {
        if (b.x == 0) return a / fabs(b.x);
        float ratio = b.y / b.x;
        return (float2)(a.x + a.y * ratio, a.y - a.x * ratio) / (b.x + b.y * ratio);
    }
    float ratio = b.x / b.y;
    return (float2)(a.x * ratio + a.y, a.y * ratio - a.x) / (b.y + b.x * ratio);
}

static inline float2 pg_complex_mul_float2(float2 a, float2 b) {
    return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

static inline int pg_wrap_index_int(int index, int extent) {
    return index < 0 ? index + extent : index;
}

static inline ushort pg_bfloat16_bits_float(float x) {  // to nearest, ties to even; a nan stays one
    uint word = as_uint(x), upper = word >> 16;
    uint nearest = (word + 0x7FFFu + (upper & 1u)) >> 16;
    return (ushort)(isnan(x) ? upper | 0x40u : nearest);
}

static inline float pg_bfloat16_value_float(ushort bits) {
    return as_float((uint)bits << 16); // not convert_uint, which one CPU compiler gets wrong: docs/driver-quirks.md
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
__kernel void numbers_(
    __global float2* restrict z,
    int z_n0,
    __global half* restrict h,
    __global ushort* restrict b,
    __global float* restrict v,
    __global int* restrict out_) {
    // 22: table = cuda.const.array_like(POWERS)
    __constant float2* table_0_ = pg_const0;
    // 23: i = cuda.grid(1)
    int i = (int)get_global_id(0);
    // 24: if i < z.size:
    if (i < z_n0) {
        // 25: z[i] = z[i] * z[z.size - 1 - i] / (1 + 2j) + table[i % 3] ** 2
        float2 t1 = table_0_[i % 3];
        z[i] = pg_complex_div_float2(pg_complex_mul_float2(z[i], z[pg_wrap_index_int(z_n0 - 1 - i, z_n0)]), (float2)(1.0f, 2.0f)) + pg_complex_mul_float2(t1, t1);
        // 26: h[i] = h[i] * h[0] - np.float16(math.exp(h[i]))
        h[i] = h[i] * h[0] - exp(h[i]);
        // 27: b[i] = b[i] + 1
        b[i] = pg_bfloat16_bits_float(pg_bfloat16_value_float(b[i]) + 1.0f);
        // 28: pair = cuda.vload(v, 2 * i, 2) * 2
        float2 pair_ = vload2(0, v + 2 * i) * (float2)(2.0f);
        // 29: cuda.vstore(pair + cuda.float32x2(1, math.erf(pair.x)), v, 2 * i)
        vstore2(pair_ + (float2)(1.0f, erf(pair_.s0)), 0, v + 2 * i);
        // 30: out[i] = halved(-out[i]) // 3 + halved(out[i]) + (out[i] << 5) % 7 + cuda.popc(out[i]) + abs(np.int8(out[i]))
        out_[i] = as_int((uint)pg_floordiv_int(halved_(as_int(0 - (uint)out_[i])), 3) + (uint)halved_(out_[i]) + (uint)pg_mod_int(out_[i] << 5, 7) + (uint)(int)popcount(out_[i]) + (uint)(int)pg_iabs_small_char((char)out_[i]));
    }
}

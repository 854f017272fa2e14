<%def name="opaque(h)">\
static inline ${h.type} ${h.name}(${h.type} x) {
    asm("mov.b${h.width} %0, %0;" : "+${h.register}"(x)); // the assembler drops it
    return x;
}
</%def>\
<%def name="pack_half2_ptx(h)">\
static inline uint ${h.name}(float low, float high) {
    uint packed;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}
</%def>\
<%def name="pack_bfloat162_ptx(h)">\
static inline uint ${h.name}(float low, float high) {
    uint packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}
</%def>\
<%def name="float_to_tf32_ptx(h)">\
static inline float ${h.name}(float x) {
    uint rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
    return isnan(x) ? as_float(as_uint(x) | 0x400000u) : as_float(rounded); // some become infinities
}
</%def>\
<%def name="one_plus_tanh_ptx(h)">\
static inline float ${h.name}(float x) {
    // as `one_plus_tanh`, by the instructions for powers and reciprocals
    float power, inverse;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * -2.885390082f));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(power + 1.0f));
    return inverse + inverse;
}
</%def>\
<%def name="one_plus_erf_ptx(h)">\
static inline float ${h.name}(float x) {
    // as `one_plus_erf`, by the instruction for powers
    const float a = fabs(x);
    float p = 5.4272903e-07f, power;
% for coefficient in (-1.2526266e-05, 0.00012306368, -0.00064955169, 0.0017161829, 0.00075467071, -0.028426081, 0.14862116, 0.9183771, 1.6279119):
    p = fma(p, a, ${coefficient}f);
% endfor
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(-p * a));
    return x < 0.0f ? power : 2.0f - power;
}
</%def>\
<%def name="erf_ptx(h)">\
static inline float ${h.name}(float x) {
    // as `erf` of vectors, by the instruction for powers
    const float square = x * x, a = fmin(fabs(x), 4.0f);
    float small = 7.8538607e-05f, exponent = -0.00018557407f, power;
% for coefficient in (-0.00080101937, 0.0051883277, -0.026853813, 0.11283585, -0.37612626, 1.1283791):
    small = fma(small, square, ${coefficient}f);
% endfor
% for coefficient in (0.0029396079, -0.02180532, 0.10303737, 0.63822567, 1.12704, 0.00035371876):
    exponent = fma(exponent, a, ${coefficient}f);
% endfor
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(exponent * -1.442695041f));
    return fabs(x) > 1.0f ? copysign(1.0f - power, x) : x * small;
}
</%def>\
<%def name="tanh_ptx(h)">\
static inline float ${h.name}(float x) {
    // as `tanh` of vectors, by the instructions for powers and reciprocals
    const float square = x * x, a = fmin(fabs(x), 10.0f);
    float small = -0.0056599886f, power, inverse;
% for coefficient in (0.020590987, -0.053721067, 0.13331127, -0.3333326):
    small = fma(small, square, ${coefficient}f);
% endfor
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(a * 2.885390082f));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(power + 1.0f));
    return fabs(x) > 0.625f ? copysign(fma(-2.0f, inverse, 1.0f), x) : x * fma(small, square, 1.0f);
}
</%def>\
<%def name="erfc_ptx(h)">\
static inline float ${h.name}(float x) {
    // (1 + 2 a) exp(a * a) erfc(a) is nearly 1 everywhere: a polynomial in (a - 2) / (a + 2), without a branch
    const float a = fabs(x) > 10.5f ? 10.5f : fabs(x), width = fma(a, 2.0f, 1.0f), product = (a + 2.0f) * width;
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(product));
    const float t = (a - 2.0f) * width * inverse;
    float sum = -0.00040918178f;
% for coefficient in (-0.0012407702, 0.001320734, 0.0086424239, -0.0080618728, -0.0542076863, 0.1640555859, -0.1660310775, -0.09276399, 1.2769783735):
    sum = fma(sum, t, ${coefficient}f);
% endfor
    const float square = a * a;
    const float power = exp(-square);
    const float result = sum * ((a + 2.0f) * inverse) * fma(-fma(a, a, -square), power, power);
    return x < 0 ? 2.0f - result : result;
}
</%def>\
<%def name="bfloat16_ptx(h)">
<% lanes = "0123456789abcdef"[: int(h.lanes or 1)] %>\
static inline ushort${h.lanes} ${h.name}(${h.type} x) {
% if len(lanes) == 1:
    uint word;  // of 32 bits: the driver takes the bytes of a 16-bit result wrongly apart
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(0.0f), "f"(x));
    return (ushort)word;
% else:
<% pairs = [(lanes[n], lanes[n + 1 : n + 2]) for n in range(0, len(lanes), 2)] %>\
    uint ${", ".join(f"w{low}" for low, _ in pairs)};
% for low, high in pairs:
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(w${low}) : "f"(${f"x.s{high}" if high else "0.0f"}), "f"(x.s${low}));
% endfor
    return (ushort${h.lanes})(${", ".join(f"as_ushort2(w{low})" + ("" if high else ".s0") for low, high in pairs)});
% endif
}
</%def>

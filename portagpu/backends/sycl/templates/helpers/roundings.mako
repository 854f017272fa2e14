<%def name="float_to_tf32(h)">
static inline float ${h.name}(float x) {
    uint bits = sycl::bit_cast<uint>(x);
    return sycl::bit_cast<float>(isfinite(x) ? (bits + 0x1000u) & 0xffffe000u : isnan(x) ? bits | 0x400000u : bits);
}
</%def>
<%def name="pack_half2(h)">
static inline uint ${h.name}(float low, float high) {
    return sycl::bit_cast<ushort>((half)low) | (uint)sycl::bit_cast<ushort>((half)high) << 16;
}
</%def>
<%def name="pack_bfloat162(h)">
static inline uint ${h.name}(float low, float high) {
    const uint a = sycl::bit_cast<uint>(low), b = sycl::bit_cast<uint>(high);
    const uint first = isnan(low) ? a | 0x400000u : a + 0x7fffu + (a >> 16 & 1u);
    const uint second = isnan(high) ? b | 0x400000u : b + 0x7fffu + (b >> 16 & 1u);
    return first >> 16 | (second & 0xffff0000u);
}
</%def>

// The dot product of cl_khr_integer_dot_product, of signed and of unsigned bytes.
__kernel void packed_dot_product(__global const uint *source, __global int *target)
{
    const size_t item = get_global_id(0);
    const uint value = source[item];
    target[item] = dot_4x8packed_ss_int(value, ~value) + (int)dot_4x8packed_uu_uint(value, 0x01020304u)
        + dot_4x8packed_su_int(value, 0x01010101u) + dot_4x8packed_us_int(0x01010101u, value);
}

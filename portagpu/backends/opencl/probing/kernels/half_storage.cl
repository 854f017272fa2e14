// float arithmetic on numbers that are kept as half: core OpenCL C 1.0, no extension needed.
__kernel void half_storage(__global const half *source, __global half *target)
{
    const size_t item = get_global_id(0);
    vstore_half(vload_half(item, source) * 2.0f, item, target);
}

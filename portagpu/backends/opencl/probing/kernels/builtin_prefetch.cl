// The compiler's own prefetch, also of a place outside of the buffer.
__kernel void builtin_prefetch(__global const uint *source, __global uint *target)
{
    const size_t item = get_global_id(0);
    __builtin_prefetch((__global const void *)(source + item + 4096), 0, 3);
    target[item] = source[item] + 1;
}

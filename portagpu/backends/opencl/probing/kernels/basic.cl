// The least that every device must do: integers, global memory, a work-item's index, a barrier.
__kernel void basic(__global const int *source, __global int *target, __local int *scratch)
{
    const int item = (int)get_global_id(0);
    const int lane = (int)get_local_id(0);
    const int size = (int)get_local_size(0);
    scratch[lane] = source[item];
    barrier(CLK_LOCAL_MEM_FENCE);
    target[item] = 3 * scratch[size - 1 - lane] + item;
}

// The same with a local array that the host passes as an argument.
__kernel void local_argument(__global uint *target, __local uint *cells, uint words)
{
    const uint lane = (uint)get_local_id(0);
    const uint size = (uint)get_local_size(0);
    const uint stride = (words - 1) / (size - 1);
    const uint other = size - 1 - lane;
    cells[lane == size - 1 ? words - 1 : lane * stride] = lane * 2654435761u + (uint)get_group_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    target[get_global_id(0)] = cells[other == size - 1 ? words - 1 : other * stride];
}

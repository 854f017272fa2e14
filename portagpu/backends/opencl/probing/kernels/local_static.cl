// A static local array of WORDS 32-bit words, touched from its first word to its last.
__kernel void local_static(__global uint *target)
{
    __local uint cells[WORDS];
    const uint lane = (uint)get_local_id(0);
    const uint size = (uint)get_local_size(0);
    const uint stride = (WORDS - 1) / (size - 1);
    const uint other = size - 1 - lane;
    cells[lane == size - 1 ? WORDS - 1 : lane * stride] = lane * 2654435761u + (uint)get_group_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    target[get_global_id(0)] = cells[other == size - 1 ? WORDS - 1 : other * stride];
}

// Each subgroup loads two elements a lane at once, and stores them at once.
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
__kernel void subgroup_blocks(__global const uint *source, __global uint *target)
{
    const uint first = 2u * get_sub_group_id() * get_max_sub_group_size();
    const uint2 values = intel_sub_group_block_read2(source + first);
    intel_sub_group_block_write2(target + first, values + 1u);
}

// Subgroups: size, index of the item in its subgroup, a sum over the subgroup; with SHUFFLE, a neighbour's value.
#ifdef EXTENSION_KHR
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#endif
#ifdef EXTENSION_INTEL
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#endif
#ifdef EXTENSION_SHUFFLE
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
#endif
#ifdef REQUIRED_SIZE
__attribute__((intel_reqd_sub_group_size(REQUIRED_SIZE)))
#endif
__kernel void subgroups(__global int *sizes, __global int *lanes, __global int *sums, __global int *neighbours)
{
    const size_t item = get_global_id(0);
    sizes[item] = (int)get_max_sub_group_size();
    lanes[item] = (int)get_sub_group_local_id();
    sums[item] = sub_group_reduce_add((int)get_local_id(0));
#ifdef SHUFFLE
    neighbours[item] = SHUFFLE((int)get_local_id(0), get_sub_group_local_id() ^ 1u);
#else
    neighbours[item] = 0;
#endif
}

// The size of the subgroups of a kernel that asks for one.
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
__attribute__((intel_reqd_sub_group_size(REQUIRED_SIZE)))
__kernel void subgroup_size(__global int *sizes)
{
    sizes[get_global_id(0)] = (int)get_max_sub_group_size();
}

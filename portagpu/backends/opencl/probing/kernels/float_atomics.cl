// cl_ext_float_atomics: additions to one cell of SPACE (__global or __local) that none may lose.
#ifdef EXTENSION_FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#endif
__kernel void float_atomics(__global FORMAT *target)
{
#ifdef IN_LOCAL_MEMORY
    __local FORMAT cell;
    if (get_local_id(0) == 0)
        cell = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_fetch_add_explicit((volatile __local ATOMIC *)&cell, (FORMAT)1.5, memory_order_relaxed, memory_scope_work_group);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        target[get_group_id(0)] = cell;
#else
    atomic_fetch_add_explicit(
        (volatile __global ATOMIC *)&target[get_group_id(0)], (FORMAT)1.5, memory_order_relaxed, memory_scope_device);
#endif
}

// 64-bit atomics in global and local memory: every old value is handed out once, nothing is lost.
#ifdef EXTENSION_BASE
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#endif
#ifdef EXTENSION_EXTENDED
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#endif
__kernel void int64_atomics(__global long *counters, __global long *old_values)
{
    __local long local_sum;
    const int lane = (int)get_local_id(0);
    if (lane == 0)
        local_sum = 1L << 40;
    barrier(CLK_LOCAL_MEM_FENCE);
    old_values[get_global_id(0)] = atom_add(&counters[0], 1L << 33);
    atom_max(&counters[1], (long)get_global_id(0) << 33);
    atom_add(&local_sum, 1L);
    long seen = atom_add(&counters[2], 0L);
    for (long before = seen - 1; before != seen;) {
        before = seen;
        seen = atom_cmpxchg(&counters[2], before, before + 1L);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0)
        atom_add(&counters[3], local_sum);
}

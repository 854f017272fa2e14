// A fence whose order all threads of the device agree on. What it orders cannot be tried in a moment; that it is there can.
__kernel void scoped_fences(__global const uint *source, __global uint *target)
{
    const size_t item = get_global_id(0);
    target[item] = source[item];
    atomic_work_item_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE, memory_order_seq_cst, memory_scope_device);
    target[item] += 1;
}

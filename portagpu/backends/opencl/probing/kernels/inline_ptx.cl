// Inline PTX: an instruction that OpenCL C cannot name, with operands in and out.
__kernel void inline_ptx(__global const uint *source, __global uint *target)
{
    const size_t item = get_global_id(0);
    uint value = source[item], result;
    asm volatile("prmt.b32 %0, %1, 0, 0x0123;" : "=r"(result) : "r"(value) : "memory");
    target[item] = result;
}

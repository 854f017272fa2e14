// One instruction that only the device's own architecture has, as a marked comment (portagpu.backends.opencl.architecture_ptx).
__kernel void architecture_ptx(__global const uint *source, __global uint *target) {
    asm volatile("//portagpu wgmma.fence.sync.aligned;" ::: "memory");
    target[get_global_id(0)] = source[get_global_id(0)] + 1u;
}

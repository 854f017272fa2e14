// One number format (FORMAT: float, double or half) computes: target = a * b + c, without contraction.
#pragma OPENCL FP_CONTRACT OFF
#ifdef EXTENSION_FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifdef EXTENSION_FP16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
__kernel void arithmetic(__global const FORMAT *a, __global const FORMAT *b, __global const FORMAT *c, __global FORMAT *target)
{
    const size_t item = get_global_id(0);
    const FORMAT product = a[item] * b[item];
    target[item] = product + c[item];
}

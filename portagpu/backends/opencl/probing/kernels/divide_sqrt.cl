// Built with -cl-fp32-correctly-rounded-divide-sqrt; the host compares every bit.
__kernel void divide_sqrt(__global const float *a, __global const float *b, __global float *quotient, __global float *root)
{
    const size_t item = get_global_id(0);
    quotient[item] = a[item] / b[item];
    root[item] = sqrt(a[item]);
}

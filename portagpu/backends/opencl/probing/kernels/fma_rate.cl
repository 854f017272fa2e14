// Eight independent chains of multiply-adds in REAL; LANES is the native vector type's width (1: scalar).
#ifndef REAL
#define REAL float
#else
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#if LANES == 1
typedef REAL number;
#else
#define JOIN(a, b) a##b
#define VECTOR(real, lanes) JOIN(real, lanes)
typedef VECTOR(REAL, LANES) number;
#endif
__kernel void fma_rate(__global REAL *target, __global const number *start, REAL factor, REAL addend, int steps)
{
    // Items, lanes and chains start from different numbers: equal ones would be computed once.
    const number x = (number)(factor), y = (number)(addend), first = start[0] + (number)(get_local_id(0) * (REAL)0.125);
    number a = first, b = first + 1, c = first + 2, d = first + 3;
    number e = first + 4, f = first + 5, g = first + 6, h = first + 7;
    for (int step = 0; step < steps; ++step) {
        a = fma(a, x, y);
        b = fma(b, x, y);
        c = fma(c, x, y);
        d = fma(d, x, y);
        e = fma(e, x, y);
        f = fma(f, x, y);
        g = fma(g, x, y);
        h = fma(h, x, y);
    }
    const number sum = ((a + b) + (c + d)) + ((e + f) + (g + h));
#if LANES == 1
    target[get_global_id(0)] = sum;
#else
    REAL total = 0;
    for (int lane = 0; lane < LANES; ++lane)
        total += ((const REAL *)&sum)[lane];
    target[get_global_id(0)] = total;
#endif
}

#pragma OPENCL EXTENSION cl_khr_fp64 : enable

static inline long pg_wrap_index_long(long index, long extent) {
    return index < 0 ? index + extent : index;
}
// 91: def heat_equation(buf, steps, k):
__kernel void heat_equation(
    __global double* buf,
    long buf_n0,
    long steps,
    double k) {
    const int blockDim_x = (int)get_local_size(0);
    // 91: def heat_equation(buf, steps, k):
    int live1 = true;
    // 93: i = cuda.grid(1)
    long i = (long)get_group_id(0) * blockDim_x + (long)get_local_id(0);
    // 94: if i == 0 or i >= buf.size - 1:
    if (i == 0L || i >= buf_n0 - 1L) {
        // 95: return
        live1 = false;
    }
    // 96: for _ in range(steps):
    long t1 = steps;
    for (long _ = 0L; _ < t1; _ += 1L) {
        double change = 0;
        // 97: change = k * (buf[i - 1] - 2.0 * buf[i] + buf[i + 1])
        if (live1) {
            change = k * (buf[pg_wrap_index_long(i - 1L, buf_n0)] - 2.0 * buf[i] + buf[i + 1L]);
        }
        // 98: cuda.syncthreads()
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        // 99: buf[i] += change
        if (live1) {
            long t2 = i;
            buf[t2] = buf[t2] + change;
        }
        // 100: cuda.syncthreads()
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
}

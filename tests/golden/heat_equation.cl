#pragma OPENCL EXTENSION cl_khr_fp64 : enable

static inline int pg_wrap_index_int(int index, int extent) {
    return index < 0 ? index + extent : index;
}
// 91: def heat_equation(buf, steps, k):
__kernel void heat_equation(
    __global double* buf,
    int buf_n0,
    long steps,
    double k) {
    // 91: def heat_equation(buf, steps, k):
    int live1 = true;
    // 93: i = cuda.grid(1)
    int i = (int)get_global_id(0);
    // 94: if i == 0 or i >= buf.size - 1:
    if (i == 0 || i >= buf_n0 - 1) {
        // 95: return
        live1 = false;
    }
    // 96: for _ in range(steps):
    long t1 = steps;
    for (long _ = 0L; _ < t1; _ += 1L) {
        double change = 0;
        // 97: change = k * (buf[i - 1] - 2.0 * buf[i] + buf[i + 1])
        if (live1) {
            change = k * (buf[pg_wrap_index_int(i - 1, buf_n0)] - 2.0 * buf[i] + buf[i + 1]);
        }
        // 98: cuda.syncthreads()
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        // 99: buf[i] += change
        if (live1) {
            int t2 = i;
            buf[t2] = buf[t2] + change;
        }
        // 100: cuda.syncthreads()
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
}

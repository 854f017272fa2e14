#pragma OPENCL EXTENSION cl_khr_fp64 : enable

static inline long pg_wrap_index_long(long index, long extent) {
    return index < 0 ? index + extent : index;
}
// 75: def heat_equation(buf, steps, k):
__kernel void heat_equation_(
    __global double* buf_,
    long buf_n0_,
    long steps_,
    double k) {
    const int pg_blockDim_x = (int)get_local_size(0);
    // 75: def heat_equation(buf, steps, k):
    int pg_live1 = true;
    // 77: i = cuda.grid(1)
    long i = (long)get_group_id(0) * pg_blockDim_x + (int)get_local_id(0);
    // 78: if i == 0 or i >= buf.size - 1:
    if (i == 0L || i >= buf_n0_ - 1L) {
        // 79: return
        pg_live1 = false;
    }
    // 80: for _ in range(steps):
    long t1 = steps_;
    for (long u__ = 0L; u__ < t1; u__ += 1L) {
        double change_ = 0;
        // 81: change = k * (buf[i - 1] - 2.0 * buf[i] + buf[i + 1])
        if (pg_live1) {
            change_ = k * (buf_[pg_wrap_index_long(i - 1L, buf_n0_)] - 2.0 * buf_[i] + buf_[i + 1L]);
        }
        // 82: cuda.syncthreads()
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        // 83: buf[i] += change
        if (pg_live1) {
            long t2 = i;
            buf_[t2] = buf_[t2] + change_;
        }
        // 84: cuda.syncthreads()
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
}

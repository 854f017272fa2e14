#pragma OPENCL EXTENSION cl_khr_fp64 : enable

static inline long pg_wrap_index_long(long index, long extent) {
    return index < 0 ? index + extent : index;
}
// 91: def particles(p, q, weights):
__kernel void particles_(
    __global uchar* p,
    long p_n0,
    __global uchar* q,
    long q_offset_,
    long q_s0,
    __global const float* restrict weights_) {
    const int pg_blockDim_x = (int)get_local_size(0);
    // 91: def particles(p, q, weights):
    __global uchar* q_base_ = q + q_offset_;
    // 93: i = cuda.grid(1)
    long i = (long)get_group_id(0) * pg_blockDim_x + (int)get_local_id(0);
    // 94: if i < p.size:
    if (i < p_n0) {
        // 95: rec = q[i]
        __global uchar* rec_0_ = q_base_ + i * (q_s0 * 8L);
        // 96: rec.mass = p[i].mass * p["count"][i]
        ((__global double*)(rec_0_ + 16L))[0L] = as_double(vload8(0, p + (i * 25L + 16L))) * (double)as_int(vload4(0, p + 12L + i * 25L));
        // 97: for k in range(len(rec.position)):
        for (long k = 0L; k < 3L; k += 1L) {
            // 98: rec.position[k] += p.position[i, k] * weights[i]
            long t1 = k;
            ((__global float*)rec_0_)[t1] = ((__global float*)rec_0_)[t1] + as_float(vload4(0, p + (i * 25L + k * 4L))) * weights_[i];
        }
        // 99: cuda.atomic.add(q.count, 0, rec.kind)
        atomic_add((volatile __global int*)((__global int*)(q_base_ + 12L) + 0L), (int)(rec_0_ + 24L)[0L]);
        // 100: p[i] = p[p.size - 1 - i]
        for (long pg_byte2 = 0L; pg_byte2 < 25L; pg_byte2 += 1L) {
            (p + i * 25L)[pg_byte2] = (p + pg_wrap_index_long(p_n0 - 1L - i, p_n0) * 25L)[pg_byte2];
        }
    }
}

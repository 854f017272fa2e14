#pragma OPENCL EXTENSION cl_khr_fp64 : enable

static inline long pg_wrap_index_long(long index, long extent) {
    return index < 0 ? index + extent : index;
}
// 107: def particles(p, q, weights):
__kernel void particles(
    __global uchar* p,
    long p_n0,
    __global uchar* q,
    long q_offset,
    long q_s0,
    __global const float* restrict weights) {
    const int blockDim_x = (int)get_local_size(0);
    // 107: def particles(p, q, weights):
    __global uchar* q_base = q + q_offset;
    // 109: i = cuda.grid(1)
    long i = (long)get_group_id(0) * blockDim_x + (long)get_local_id(0);
    // 110: if i < p.size:
    if (i < p_n0) {
        // 111: rec = q[i]
        __global uchar* rec_0 = q_base + i * (q_s0 * 8L);
        // 112: rec.mass = p[i].mass * p["count"][i]
        ((__global double*)(rec_0 + 16L))[0L] = as_double(vload8(0, p + (i * 25L + 16L))) * (double)as_int(vload4(0, p + 12L + i * 25L));
        // 113: for k in range(len(rec.position)):
        for (long k = 0L; k < 3L; k += 1L) {
            // 114: rec.position[k] += p.position[i, k] * weights[i]
            long t1 = k;
            ((__global float*)rec_0)[t1] = ((__global float*)rec_0)[t1] + as_float(vload4(0, p + (i * 25L + k * 4L))) * weights[i];
        }
        // 115: cuda.atomic.add(q.count, 0, rec.kind)
        atomic_add((volatile __global int*)((__global int*)(q_base + 12L) + 0L), (int)(rec_0 + 24L)[0L]);
        // 116: p[i] = p[p.size - 1 - i]
        for (long byte2 = 0L; byte2 < 25L; byte2 += 1L) {
            (p + i * 25L)[byte2] = (p + pg_wrap_index_long(p_n0 - 1L - i, p_n0) * 25L)[byte2];
        }
    }
}

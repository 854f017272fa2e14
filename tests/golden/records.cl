#pragma OPENCL EXTENSION cl_khr_fp64 : enable

static inline int pg_wrap_index_int(int index, int extent) {
    return index < 0 ? index + extent : index;
}
// 91: def particles(p, q, weights):
__kernel void particles_(
    __global uchar* p,
    int p_n0,
    __global uchar* q,
    int q_offset_,
    int q_s0,
    __global const float* restrict weights_) {
    // 91: def particles(p, q, weights):
    __global uchar* q_base_ = q + q_offset_;
    // 93: i = cuda.grid(1)
    int i = (int)get_global_id(0);
    // 94: if i < p.size:
    if (i < p_n0) {
        // 95: rec = q[i]
        __global uchar* rec_0_ = q_base_ + i * (q_s0 * 8);
        // 96: rec.mass = p[i].mass * p["count"][i]
        ((__global double*)(rec_0_ + 16))[0] = as_double(vload8(0, p + (i * 25 + 16))) * (double)as_int(vload4(0, p + 12 + i * 25));
        // 97: for k in range(len(rec.position)):
        for (long k = 0L; k < 3L; k += 1L) {
            // 98: rec.position[k] += p.position[i, k] * weights[i]
            int t1 = (int)k;
            ((__global float*)rec_0_)[t1] = ((__global float*)rec_0_)[t1] + as_float(vload4(0, p + (i * 25 + (int)k * 4))) * weights_[i];
        }
        // 99: cuda.atomic.add(q.count, 0, rec.kind)
        atomic_add((volatile __global int*)((__global int*)(q_base_ + 12) + 0), (int)(rec_0_ + 24)[0]);
        // 100: p[i] = p[p.size - 1 - i]
        for (int pg_byte2 = 0; pg_byte2 < 25; pg_byte2 += 1) {
            (p + i * 25)[pg_byte2] = (p + pg_wrap_index_int(p_n0 - 1 - i, p_n0) * 25)[pg_byte2];
        }
    }
}

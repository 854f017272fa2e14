#pragma OPENCL EXTENSION cl_khr_fp64 : enable

static inline int pg_wrap_index_int(int index, int extent) {
    return index < 0 ? index + extent : index;
}
// 107: def particles(p, q, weights):
__kernel void particles(
    __global uchar* p,
    int p_n0,
    __global uchar* q,
    int q_offset,
    int q_s0,
    __global const float* restrict weights) {
    // 107: def particles(p, q, weights):
    __global uchar* q_base = q + q_offset;
    // 109: i = cuda.grid(1)
    int i = (int)get_global_id(0);
    // 110: if i < p.size:
    if (i < p_n0) {
        // 111: rec = q[i]
        __global uchar* rec_0 = q_base + i * (q_s0 * 8);
        // 112: rec.mass = p[i].mass * p["count"][i]
        ((__global double*)(rec_0 + 16))[0] = as_double(vload8(0, p + (i * 25 + 16))) * (double)as_int(vload4(0, p + 12 + i * 25));
        // 113: for k in range(len(rec.position)):
        for (long k = 0L; k < 3L; k += 1L) {
            // 114: rec.position[k] += p.position[i, k] * weights[i]
            int t1 = (int)k;
            ((__global float*)rec_0)[t1] = ((__global float*)rec_0)[t1] + as_float(vload4(0, p + (i * 25 + (int)k * 4))) * weights[i];
        }
        // 115: cuda.atomic.add(q.count, 0, rec.kind)
        atomic_add((volatile __global int*)((__global int*)(q_base + 12) + 0), (int)(rec_0 + 24)[0]);
        // 116: p[i] = p[p.size - 1 - i]
        for (int byte2 = 0; byte2 < 25; byte2 += 1) {
            (p + i * 25)[byte2] = (p + pg_wrap_index_int(p_n0 - 1 - i, p_n0) * 25)[byte2];
        }
    }
}

/* checked(x: float32[::1], limit: float32)
 *
 * OpenCL C of the kernel checked of exported_kernels.py, made by PortaGPU VERSION. Lines of Python are comments.
 * Arguments, in order:
 *   0: memory of x
 *   1: elements of x along axis 0
 *   2: limit
 *   3: the record of an exception
 */
static inline int pg_atomic_claim_fault_long_global(__global long* record, int code) {
    if (atomic_cmpxchg((volatile __global int*)record, 0, code) != 0) return 0;
    record[1] = get_local_id(0);
    record[4] = get_group_id(0);
    record[2] = get_local_id(1);
    record[5] = get_group_id(1);
    record[3] = get_local_id(2);
    record[6] = get_group_id(2);
    return 1;
}
// 59: def checked(x, limit):
__kernel void checked_(
    __global float* restrict x,
    int x_n0,
    float limit_,
    __global long* pg_fault) {
    // 61: i = cuda.grid(1)
    int i = (int)get_global_id(0);
    // 62: if i < x.size:
    if (i < x_n0) {
        // 63: if x[i] > limit:
        int t1 = i;
        if (!((long)t1 >= -(long)x_n0 && t1 < x_n0)) {
            if (pg_atomic_claim_fault_long_global(pg_fault, 1) != 0) {
                pg_fault[7] = (long)t1;
                pg_fault[8] = (long)((long)x_n0 | (long)((uint)get_local_id(0) >> 17));
            }
            return;
        }
        if (x[t1] > limit_) {
            // 64: raise ValueError("too large")
            pg_atomic_claim_fault_long_global(pg_fault, 2) != 0;
            return;
        }
        // 65: x[i] += 1
        int t2 = i;
        if (!((long)t2 >= -(long)x_n0 && t2 < x_n0)) {
            if (pg_atomic_claim_fault_long_global(pg_fault, 3) != 0) {
                pg_fault[7] = (long)t2;
                pg_fault[8] = (long)((long)x_n0 | (long)((uint)get_local_id(0) >> 19));
            }
            return;
        }
        int t3 = t2;
        x[t3] = x[t3] + 1.0f;
    }
}

/* warps(x: int32[::1])
 *
 * OpenCL C of the kernel warps of exported_kernels.py, made by PortaGPU VERSION. Lines of Python are comments.
 * Work-groups have at most 1024 work-items.
 * Arguments, in order:
 *   0: memory of x
 */
__attribute__((always_inline)) static inline int pg_warp_shuffle_int(__local ulong* cells, __local uchar* flags, int value, uint lane_or_delta, int mode) {
    // what the rows before have comes first, in 32 bits: compilers for CPUs then see that neighbours' numbers are, too
    const int row = ((int)get_local_id(2) * (int)get_local_size(1) + (int)get_local_id(1)) * (int)get_local_size(0);
    const int id = row + (int)get_local_id(0);
    const int lane = id & 31;
    const int first = id - lane;
    const int lanes = min(32, (int)(get_local_size(0) * get_local_size(1) * get_local_size(2)) - first);
    __local uint* values = (__local uint*)cells;
    values[id] = as_uint(value);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int operand = mode == 1 || mode == 2 ? (int)min(lane_or_delta, 64u) : (int)(lane_or_delta & 31);
    const int from = mode == 0 ? operand : mode == 1 ? lane - operand : mode == 2 ? lane + operand : lane ^ operand;
    const int source = mode == 0 ? first + operand : mode == 1 ? id - operand : mode == 2 ? id + operand : id ^ operand;
    int result = value;
    if (from >= 0 && from < lanes) result = as_int(values[source]);
    return result;
}
// 69: def warps(x):
__kernel void warps_(
    __global int* x) {
    __local ulong pg_warp[2048] __attribute__((aligned(128)));
    __local uchar pg_warp_flags[2048] __attribute__((aligned(128)));
    // 71: i = cuda.grid(1)
    int i = (int)get_global_id(0);
    // 72: x[i] = cuda.shfl_down_sync(0xFFFFFFFF, x[i], 1)
    int t1 = pg_warp_shuffle_int(pg_warp + 1024, pg_warp_flags + 1024, x[i], 1u, 2);
    x[i] = t1;
}

/* reversed_blocks(x: int32[::1])
 *
 * OpenCL C of the kernel reversed_blocks of exported_kernels.py, made by PortaGPU VERSION. Lines of Python are comments.
 * Arguments, in order:
 *   0: memory of x
 *   1: shared memory
 *   2: bytes of shared memory
 */
static inline int pg_floordiv_int(int a, int b) {
    if (b == 0) return 0;
    if (b == -1) return (int)(0 - (uint)a);
    int quotient = a / b;
    return (a - quotient * b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

static inline int pg_wrap_index_int(int index, int extent) {
    return index < 0 ? index + extent : index;
}
// 37: def reversed_blocks(x):
__kernel void reversed_blocks_(
    __global int* x,
    __local ulong16* pg_dynamic_shared,
    int pg_dynamic_bytes) {
    const int pg_blockDim_x = (int)get_local_size(0);
    // 39: tile = cuda.shared.array(0, np.int32)
    int t1 = pg_floordiv_int(pg_dynamic_bytes, 4);
    __local int* tile_0_ = (__local int*)pg_dynamic_shared;
    int tile_1_ = t1;
    // 40: i, t = cuda.grid(1), cuda.threadIdx.x
    int i = (int)get_global_id(0);
    int t = (int)get_local_id(0);
    // 41: tile[t] = x[i]
    tile_0_[t] = x[i];
    // 42: cuda.syncthreads()
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    // 43: x[i] = tile[cuda.blockDim.x - 1 - t]
    x[i] = tile_0_[pg_wrap_index_int(pg_blockDim_x - 1 - t, tile_1_)];
}

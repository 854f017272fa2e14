
static inline int pg_floordiv_int(int a, int b) {
    if (b == 0) return 0;
    if (b == -1) return (int)(0 - (uint)a);
    int quotient = a / b;
    return (a - quotient * b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

static inline long pg_wrap_index_long(long index, long extent) {
    return index < 0 ? index + extent : index;
}
// 9: def reverse_blocks(values):
__kernel void reverse_blocks_(
    __global int* values_,
    __local ulong16* pg_dynamic_shared,
    int pg_dynamic_bytes) {
    const int pg_blockDim_x = (int)get_local_size(0);
    // 11: tile = cuda.shared.array(0, np.int32)  # shape 0: the size comes with the launch
    int t1 = pg_floordiv_int(pg_dynamic_bytes, 4);
    __local int* tile_0_ = (__local int*)pg_dynamic_shared;
    long tile_1_ = (long)t1;
    // 12: i = cuda.grid(1)
    long i = (long)get_group_id(0) * pg_blockDim_x + (int)get_local_id(0);
    // 13: t = cuda.threadIdx.x
    int t = (int)get_local_id(0);
    // 14: tile[t] = values[i]
    tile_0_[(long)t] = values_[i];
    // 15: cuda.syncthreads()
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    // 16: values[i] = tile[cuda.blockDim.x - 1 - t]
    values_[i] = tile_0_[pg_wrap_index_long((long)pg_blockDim_x - 1L - (long)t, tile_1_)];
}

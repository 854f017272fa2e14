
static inline long pg_wrap_index_long(long index, long extent) {
    return index < 0 ? index + extent : index;
}
// 11: def histogram(values, counts):
__kernel void histogram_(
    __global const float* restrict values_,
    long values_n0_,
    __global int* counts_) {
    __local int block_counts_[64] __attribute__((aligned(128)));
    const int pg_blockDim_x = (int)get_local_size(0);
    int b = 0;
    // 14: for b in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
    for (int i1 = (int)get_local_id(0); i1 < 64; i1 += pg_blockDim_x) {
        b = i1;
        // 15: block_counts[b] = 0
        block_counts_[(long)b] = 0;
    }
    // 16: cuda.syncthreads()
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    // 19: for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
    long b_pi64_ = (long)b;
    for (long i = (long)get_group_id(0) * pg_blockDim_x + (int)get_local_id(0); i < values_n0_; i += (long)get_num_groups(0) * pg_blockDim_x) {
        // 20: b = min(int(values[i] * BINS), BINS - 1)
        b_pi64_ = min((long)(values_[i] * 64.0f), 63L);
        // 21: cuda.atomic.add(block_counts, b, 1)
        atomic_add((volatile __local int*)(block_counts_ + pg_wrap_index_long(b_pi64_, 64L)), 1);
    }
    // 22: cuda.syncthreads()
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    // 24: for b in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
    for (int i2 = (int)get_local_id(0); i2 < 64; i2 += pg_blockDim_x) {
        b = i2;
        // 25: cuda.atomic.add(counts, b, block_counts[b])
        atomic_add((volatile __global int*)(counts_ + (long)b), block_counts_[(long)b]);
        // 24: for b in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
        b_pi64_ = (long)b;
    }
}

// 24: def matmul_tiled(a, b, c):
__kernel void matmul_tiled_(
    __global const float* restrict a,
    long a_n0,
    long a_n1,
    __global const float* restrict b,
    long b_n0,
    long b_n1,
    __global float* c,
    long c_n0,
    long c_n1,
    long c_s0,
    long c_s1) {
    __local float tile_a_[256] __attribute__((aligned(128)));
    __local float tile_b_[256] __attribute__((aligned(128)));
    const int pg_blockDim_x = (int)get_local_size(0);
    const int pg_blockDim_y = (int)get_local_size(1);
    // 28: column, row = cuda.grid(2)
    long column_ = (long)get_group_id(0) * pg_blockDim_x + (int)get_local_id(0);
    long row_ = (long)get_group_id(1) * pg_blockDim_y + (int)get_local_id(1);
    // 29: tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    int tx_ = (int)get_local_id(0);
    int ty_ = (int)get_local_id(1);
    // 31: for start in range(0, a.shape[1], TILE):
    float total_ = 0.0f;
    for (long start_ = 0L; start_ < a_n1; start_ += 16L) {
        // 32: inside_a = row < a.shape[0] and start + tx < a.shape[1]
        int inside_a_ = row_ < a_n0 && start_ + (long)tx_ < a_n1;
        // 33: inside_b = column < b.shape[1] and start + ty < b.shape[0]
        int inside_b_ = column_ < b_n1 && start_ + (long)ty_ < b_n0;
        // 34: tile_a[ty, tx] = a[row, start + tx] if inside_a else 0.0
        tile_a_[(long)ty_ * 16L + (long)tx_] = inside_a_ ? a[row_ * a_n1 + (start_ + (long)tx_)] : 0.0f;
        // 35: tile_b[ty, tx] = b[start + ty, column] if inside_b else 0.0
        tile_b_[(long)ty_ * 16L + (long)tx_] = inside_b_ ? b[start_ + (long)ty_ + column_ * b_n0] : 0.0f;
        // 36: cuda.syncthreads()  # the tiles are complete
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        // 37: for k in range(TILE):
        for (int k = 0; k < 16; k += 1) {
            // 38: total += tile_a[ty, k] * tile_b[k, tx]
            total_ = total_ + tile_a_[(long)ty_ * 16L + (long)k] * tile_b_[(long)k * 16L + (long)tx_];
        }
        // 39: cuda.syncthreads()  # everybody is done with them
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
    // 40: if row < c.shape[0] and column < c.shape[1]:
    if (row_ < c_n0 && column_ < c_n1) {
        // 41: c[row, column] = total
        c[row_ * c_s0 + column_ * c_s1] = total_;
    }
}

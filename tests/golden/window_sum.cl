// 13: def window_sum(values, sums):
__kernel void window_sum_(
    __global const float* restrict values_,
    int values_n0_,
    __global float* sums_) {
    __local float tile_[134] __attribute__((aligned(128)));
    // 16: i = cuda.grid(1)
    int i = (int)get_global_id(0);
    // 17: t = cuda.threadIdx.x
    int t = (int)get_local_id(0);
    // 20: tile[t + RADIUS] = values[i] if i < n else 0.0
    tile_[t + 3] = i < values_n0_ ? values_[i] : 0.0f;
    // 21: if t < RADIUS:  # the first threads also fetch the halo on both sides
    if (t < 3) {
        // 22: left = i - RADIUS
        long left_ = (long)i - 3L;
        // 23: right = i + BLOCK
        long right_ = (long)i + 128L;
        // 24: tile[t] = values[left] if left >= 0 else 0.0
        tile_[t] = left_ >= 0L ? values_[(int)left_] : 0.0f;
        // 25: tile[t + RADIUS + BLOCK] = values[right] if right < n else 0.0
        tile_[t + 3 + 128] = right_ < (long)values_n0_ ? values_[(int)right_] : 0.0f;
    }
    // 26: cuda.syncthreads()
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    // 28: if i < n:
    if (i < values_n0_) {
        // 30: for offset in range(2 * RADIUS + 1):
        float total_ = 0.0f;
        for (int offset_ = 0; offset_ < 7; offset_ += 1) {
            // 31: total += tile[t + offset]
            total_ = total_ + tile_[t + offset_];
        }
        // 32: sums[i] = total
        sums_[i] = total_;
    }
}

// 9: def add(a, b, total):
__kernel void add_(
    __global const float* restrict a,
    __global const float* restrict b,
    __global float* restrict total_,
    long total_n0_) {
    const int pg_blockDim_x = (int)get_local_size(0);
    // 10: i = cuda.grid(1)
    long i = (long)get_group_id(0) * pg_blockDim_x + (int)get_local_id(0);
    // 11: if i < total.size:  # the last block has threads to spare
    if (i < total_n0_) {
        // 12: total[i] = a[i] + b[i]
        total_[i] = a[i] + b[i];
    }
}

// 9: def add(a, b, total):
__kernel void add_(
    __global const float* restrict a,
    __global const float* restrict b,
    __global float* restrict total_,
    long total_n0_) {
    // 10: i = cuda.grid(1)
    long i = (long)get_global_id(0);
    // 11: if i < total.size:  # the last block has threads to spare
    if (i < total_n0_) {
        // 12: total[i] = a[i] + b[i]
        total_[i] = a[i] + b[i];
    }
}

/* product(a: float32[:, ::1], b: float32[::1, :], c: float32[:, :])
 *
 * OpenCL C of the kernel product of exported_kernels.py, made by PortaGPU VERSION. Lines of Python are comments.
 * Arguments, in order:
 *   0: memory of a
 *   1: elements of a along axis 0
 *   2: elements of a along axis 1
 *   3: memory of b
 *   4: elements of b along axis 0
 *   5: elements of b along axis 1
 *   6: memory of c
 *   7: elements of c along axis 0
 *   8: elements of c along axis 1
 *   9: stride of c along axis 0, in units of 4 bytes
 *   10: stride of c along axis 1, in units of 4 bytes
 */
// 19: def product(a, b, c):
__kernel void product_(
    __global const float* restrict a,
    int a_n0,
    int a_n1,
    __global const float* restrict b,
    int b_n0,
    int b_n1,
    __global float* c,
    int c_n0,
    int c_n1,
    int c_s0,
    int c_s1) {
    __local float tile_[64] __attribute__((aligned(128)));
    // 22: i, j = cuda.grid(2)
    int i = (int)get_global_id(0);
    int j = (int)get_global_id(1);
    // 23: x, y = cuda.threadIdx.x, cuda.threadIdx.y
    int x = (int)get_local_id(0);
    int y = (int)get_local_id(1);
    // 25: for first in range(0, a.shape[1], 8):
    float total_ = 0.0f;
    for (int first_ = 0; first_ < a_n1; first_ += 8) {
        // 26: tile[x, y] = a[i, first + y] if i < a.shape[0] and first + y < a.shape[1] else 0
        tile_[x * 8 + y] = i < a_n0 && (long)first_ + (long)y < (long)a_n1 ? a[i * a_n1 + (first_ + y)] : 0.0f;
        // 27: cuda.syncthreads()
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        // 28: for k in range(8):
        for (int k = 0; k < 8; k += 1) {
            // 29: if first + k < b.shape[0] and j < b.shape[1]:
            if ((int)(0 | (int)((uint)get_local_id(0) >> 16)) < 1) {
                if ((long)first_ + (long)k < (long)b_n0 && j < b_n1) {
                    // 30: total += tile[x, k] * b[first + k, j]
                    total_ = total_ + tile_[x * 8 + k] * b[first_ + k + j * b_n0];
                }
            }
        }
        // 31: cuda.syncthreads()
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
    // 32: if i < c.shape[0] and j < c.shape[1]:
    if (i < c_n0 && j < c_n1) {
        // 33: c[i, j] = total
        c[i * c_s0 + j * c_s1] = total_;
    }
}

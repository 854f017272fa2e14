/* scaled(x: float32[::1], y: float32[::1], factor: float32, n: int32)
 *
 * OpenCL C of the kernel scaled of exported_kernels.py, made by PortaGPU VERSION. Lines of Python are comments.
 * Arguments, in order:
 *   0: memory of x
 *   1: memory of y
 *   2: elements of y along axis 0
 *   3: factor
 *   4: n
 */
// 11: def scaled(x, y, factor, n):
__kernel void scaled_(
    __global const float* restrict x,
    __global float* restrict y,
    int y_n0,
    float factor_,
    int n) {
    // 13: i = cuda.grid(1)
    int i = (int)get_global_id(0);
    // 14: if i < n and i < y.size:
    if (i < n && i < y_n0) {
        // 15: y[i] = factor * x[i] + math.sqrt(x[i])
        y[i] = factor_ * x[i] + sqrt(x[i]);
    }
}

#pragma OPENCL EXTENSION cl_khr_fp64 : enable
// 9: def escape_time(c_re, c_im, max_iterations):
static inline long escape_time(float c_re, float c_im, long max_iterations) {
    // 12: for i in range(max_iterations):
    long t1 = max_iterations;
    float z_re = 0.0f;
    float z_im = 0.0f;
    for (long i = 0L; i < t1; i += 1L) {
        // 13: z_re, z_im = z_re * z_re - z_im * z_im + c_re, 2.0 * z_re * z_im + c_im
        float t2 = 2.0f * z_re * z_im + c_im;
        z_re = z_re * z_re - z_im * z_im + c_re;
        z_im = t2;
        // 14: if z_re * z_re + z_im * z_im >= 4.0:
        if (z_re * z_re + z_im * z_im >= 4.0f) {
            // 15: return i
            return i;
        }
    }
    // 16: return max_iterations
    return max_iterations;
}

// 20: def mandelbrot(left, top, step, image, max_iterations):
__kernel void mandelbrot(
    double left,
    double top,
    double step_,
    __global int* restrict image,
    long image_n0,
    long image_n1,
    long max_iterations) {
    const int blockDim_x = (int)get_local_size(0);
    const int blockDim_y = (int)get_local_size(1);
    // 21: x, y = cuda.grid(2)
    long x = (long)get_group_id(0) * blockDim_x + (long)get_local_id(0);
    long y = (long)get_group_id(1) * blockDim_y + (long)get_local_id(1);
    // 22: if y < image.shape[0] and x < image.shape[1]:
    if (y < image_n0 && x < image_n1) {
        // 23: image[y, x] = escape_time(left + np.float32(x) * step, top + np.float32(y) * step, max_iterations)
        image[y * image_n1 + x] = (int)escape_time((float)left + (float)x * (float)step_, (float)top + (float)y * (float)step_, max_iterations);
    }
}

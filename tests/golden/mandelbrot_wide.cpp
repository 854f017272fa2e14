#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
// numbers are what the text says: no product is fused with a sum, and no sum is reordered
#pragma clang fp contract(off) reassociate(off)

namespace syclext = sycl::ext::oneapi;
namespace syclexp = sycl::ext::oneapi::experimental;

namespace portagpu {
static inline sycl::nd_item<3> pg_item() { return syclext::this_work_item::get_nd_item<3>(); }
// 1, which compilers cannot know, neither that it is small nor that it is not 0
static inline unsigned int pg_launch_number() {
    const unsigned int depth = (unsigned int)syclext::this_work_item::get_nd_item<3>().get_local_range(0);
    return (unsigned int)(depth != 0) + (depth >> 16);
}
// 9: def escape_time(c_re, c_im, max_iterations):
static inline long escape_time_(float c_re_, float c_im_, long max_iterations_) {
    // 12: for i in range(max_iterations):
    long t1 = max_iterations_;
    float z_re_ = 0.0f;
    float z_im_ = 0.0f;
    for (long i = 0L; i < t1; i += 1L) {
        // 13: z_re, z_im = z_re * z_re - z_im * z_im + c_re, 2.0 * z_re * z_im + c_im
        float t2 = 2.0f * z_re_ * z_im_ + c_im_;
        z_re_ = z_re_ * z_re_ - z_im_ * z_im_ + c_re_;
        z_im_ = t2;
        // 14: if z_re * z_re + z_im * z_im >= 4.0:
        if (z_re_ * z_re_ + z_im_ * z_im_ >= 4.0f) {
            // 15: return i
            return i;
        }
    }
    // 16: return max_iterations
    return max_iterations_;
}

// 20: def mandelbrot(left, top, step, image, max_iterations):
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<3>))
void mandelbrot_(
    double left_,
    double top_,
    double step_,
    int* __restrict image_,
    long image_n0_,
    long image_n1_,
    long max_iterations_) {
    const int pg_blockDim_x = (int)pg_item().get_local_range(2);
    const int pg_blockDim_y = (int)pg_item().get_local_range(1);
    // 21: x, y = cuda.grid(2)
    long x = (long)pg_item().get_group(2) * pg_blockDim_x + (int)pg_item().get_local_id(2);
    long y = (long)pg_item().get_group(1) * pg_blockDim_y + (int)pg_item().get_local_id(1);
    // 22: if y < image.shape[0] and x < image.shape[1]:
    if (y < image_n0_ && x < image_n1_) {
        // 23: image[y, x] = escape_time(left + np.float32(x) * step, top + np.float32(y) * step, max_iterations)
        image_[y * image_n1_ + x] = (int)escape_time_((float)left_ + (float)(x ^ (long)(pg_launch_number() >> 3)) * (float)step_, (float)top_ + (float)(y ^ (long)(pg_launch_number() >> 3)) * (float)step_, max_iterations_);
    }
}
}  // namespace portagpu

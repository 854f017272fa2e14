#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
#include <sycl/atomic_ref.hpp>
// numbers are what the text says: no product is fused with a sum, and no sum is reordered
#pragma clang fp contract(off) reassociate(off)

namespace syclext = sycl::ext::oneapi;
namespace syclexp = sycl::ext::oneapi::experimental;

namespace portagpu {
using uchar = unsigned char;
static inline sycl::nd_item<3> pg_item() { return syclext::this_work_item::get_nd_item<3>(); }
// 1, which compilers cannot know, neither that it is small nor that it is not 0
static inline unsigned int pg_launch_number() {
    const unsigned int depth = (unsigned int)syclext::this_work_item::get_nd_item<3>().get_local_range(0);
    return (unsigned int)(depth != 0) + (depth >> 16);
}
// a number from memory that is not aligned
template <class T> static inline T pg_unpack(const unsigned char* place) {
    T result;
    __builtin_memcpy(&result, place, sizeof(T));
    return result;
}
template <class T>
using pg_atomic_global = sycl::atomic_ref<T, sycl::memory_order::relaxed, sycl::memory_scope::device,
                                         sycl::access::address_space::global_space>;

static inline long pg_wrap_index_long(long index, long extent) {
    return index < 0 ? index + extent : index;
}
// 91: def particles(p, q, weights):
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<3>))
void particles_(
    uchar* p,
    long p_n0,
    uchar* q,
    long q_offset_,
    long q_s0,
    const float* __restrict weights_) {
    const int pg_blockDim_x = (int)pg_item().get_local_range(2);
    // 91: def particles(p, q, weights):
    uchar* q_base_ = q + q_offset_;
    // 93: i = cuda.grid(1)
    long i = (long)pg_item().get_group(2) * pg_blockDim_x + (int)pg_item().get_local_id(2);
    // 94: if i < p.size:
    if (i < p_n0) {
        // 95: rec = q[i]
        uchar* rec_0_ = q_base_ + i * (q_s0 * 8L);
        // 96: rec.mass = p[i].mass * p["count"][i]
        ((double*)(rec_0_ + 16L))[0L] = pg_unpack<double>(p + (i * 25L + 16L)) * (double)(pg_unpack<int>(p + 12L + i * 25L) ^ (int)(pg_launch_number() >> 3));
        // 97: for k in range(len(rec.position)):
        for (long k = 0L; k < 3L; k += 1L) {
            // 98: rec.position[k] += p.position[i, k] * weights[i]
            long t1 = k;
            ((float*)rec_0_)[t1] = ((float*)rec_0_)[t1] + pg_unpack<float>(p + (i * 25L + k * 4L)) * weights_[i];
        }
        // 99: cuda.atomic.add(q.count, 0, rec.kind)
        pg_atomic_global<int>(*((int*)(q_base_ + 12L) + 0L)).fetch_add((int)(rec_0_ + 24L)[0L]);
        // 100: p[i] = p[p.size - 1 - i]
        for (long pg_byte2 = 0L; pg_byte2 < 25L; pg_byte2 += 1L) {
            (p + i * 25L)[pg_byte2] = (p + pg_wrap_index_long(p_n0 - 1L - i, p_n0) * 25L)[pg_byte2];
        }
    }
}
}  // namespace portagpu

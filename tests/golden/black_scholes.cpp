#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
#include <sycl/builtins.hpp>
// numbers are what the text says: no product is fused with a sum, and no sum is reordered
#pragma clang fp contract(off) reassociate(off)

namespace syclext = sycl::ext::oneapi;
namespace syclexp = sycl::ext::oneapi::experimental;

namespace portagpu {
using sycl::erfc;
using sycl::exp;
using sycl::log;
using sycl::sqrt;
static inline sycl::nd_item<3> pg_item() { return syclext::this_work_item::get_nd_item<3>(); }
// 14: def normal_cdf(x):
static inline float normal_cdf_(float x) {
    // 15: return 0.5 * math.erfc(-x * math.sqrt(0.5))
    return 0.5f * erfc(-x * 0.70710677f);
}

// 19: def black_scholes(price, strike, years, rate, volatility, call, put):
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<3>))
void black_scholes_(
    const float* __restrict price_,
    int price_n0_,
    const float* __restrict strike_,
    const float* __restrict years_,
    double rate_,
    double volatility_,
    float* __restrict call_,
    float* __restrict put_) {
    // 20: for i in range(cuda.grid(1), price.size, cuda.gridsize(1)):
    for (int i = (int)pg_item().get_global_id(2); i < price_n0_; i += (int)pg_item().get_global_range(2)) {
        // 21: s, x, t = price[i], strike[i], years[i]
        float s = price_[i];
        float x = strike_[i];
        float t = years_[i];
        // 22: spread = volatility * math.sqrt(t)
        float spread_ = (float)volatility_ * sqrt(t);
        // 23: d1 = (math.log(s / x) + (rate + 0.5 * volatility * volatility) * t) / spread
        float d1 = (log(s / x) + (float)(rate_ + 0.5 * volatility_ * volatility_) * t) / spread_;
        // 24: d2 = d1 - spread
        float d2 = d1 - spread_;
        // 25: discounted = x * math.exp(-rate * t)
        float discounted_ = x * exp((float)-rate_ * t);
        // 26: call[i] = s * normal_cdf(d1) - discounted * normal_cdf(d2)
        call_[i] = s * normal_cdf_(d1) - discounted_ * normal_cdf_(d2);
        // 27: put[i] = discounted * normal_cdf(-d2) - s * normal_cdf(-d1)
        put_[i] = discounted_ * normal_cdf_(-d2) - s * normal_cdf_(-d1);
    }
}
}  // namespace portagpu

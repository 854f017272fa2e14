#pragma OPENCL EXTENSION cl_khr_fp64 : enable
// 14: def normal_cdf(x):
static inline float normal_cdf_(float x) {
    // 15: return 0.5 * math.erfc(-x * math.sqrt(0.5))
    return 0.5f * erfc(-x * 0.70710677f);
}

// 19: def black_scholes(price, strike, years, rate, volatility, call, put):
__kernel void black_scholes_(
    __global const float* restrict price_,
    long price_n0_,
    __global const float* restrict strike_,
    __global const float* restrict years_,
    double rate_,
    double volatility_,
    __global float* restrict call_,
    __global float* restrict put_) {
    const int pg_blockDim_x = (int)get_local_size(0);
    // 20: for i in range(cuda.grid(1), price.size, cuda.gridsize(1)):
    for (long i = (long)get_group_id(0) * pg_blockDim_x + (int)get_local_id(0); i < price_n0_; i += (long)get_num_groups(0) * pg_blockDim_x) {
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

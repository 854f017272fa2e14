#pragma OPENCL EXTENSION cl_khr_fp64 : enable
// 14: def normal_cdf(x):
static inline float normal_cdf(float x) {
    // 15: return 0.5 * math.erfc(-x * math.sqrt(0.5))
    return 0.5f * erfc(-x * 0.70710677f);
}

// 19: def black_scholes(price, strike, years, rate, volatility, call, put):
__kernel void black_scholes(
    __global const float* restrict price,
    long price_n0,
    __global const float* restrict strike,
    __global const float* restrict years,
    double rate,
    double volatility,
    __global float* restrict call,
    __global float* restrict put) {
    const int blockDim_x = (int)get_local_size(0);
    // 20: for i in range(cuda.grid(1), price.size, cuda.gridsize(1)):
    for (long i = (long)get_group_id(0) * blockDim_x + (long)get_local_id(0); i < price_n0; i += (long)get_num_groups(0) * blockDim_x) {
        // 21: s, x, t = price[i], strike[i], years[i]
        float s = price[i];
        float x = strike[i];
        float t = years[i];
        // 22: spread = volatility * math.sqrt(t)
        float spread = (float)volatility * sqrt(t);
        // 23: d1 = (math.log(s / x) + (rate + 0.5 * volatility * volatility) * t) / spread
        float d1 = (log(s / x) + (float)(rate + 0.5 * volatility * volatility) * t) / spread;
        // 24: d2 = d1 - spread
        float d2 = d1 - spread;
        // 25: discounted = x * math.exp(-rate * t)
        float discounted = x * exp((float)-rate * t);
        // 26: call[i] = s * normal_cdf(d1) - discounted * normal_cdf(d2)
        call[i] = s * normal_cdf(d1) - discounted * normal_cdf(d2);
        // 27: put[i] = discounted * normal_cdf(-d2) - s * normal_cdf(-d1)
        put[i] = discounted * normal_cdf(-d2) - s * normal_cdf(-d1);
    }
}

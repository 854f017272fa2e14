"""Black-Scholes option prices: math functions in a grid-stride loop.

F. Black, M. Scholes, "The Pricing of Options and Corporate Liabilities", J. Political Economy 81(3), 1973.
"""

import math

import numpy as np

from portagpu import cuda


@cuda.jit(device=True)
def normal_cdf(x):
    return 0.5 * math.erfc(-x * math.sqrt(0.5))


@cuda.jit
def black_scholes(price, strike, years, rate, volatility, call, put):
    for i in range(cuda.grid(1), price.size, cuda.gridsize(1)):
        s, x, t = price[i], strike[i], years[i]
        spread = volatility * math.sqrt(t)
        d1 = (math.log(s / x) + (rate + 0.5 * volatility * volatility) * t) / spread
        d2 = d1 - spread
        discounted = x * math.exp(-rate * t)
        call[i] = s * normal_cdf(d1) - discounted * normal_cdf(d2)
        put[i] = discounted * normal_cdf(-d2) - s * normal_cdf(-d1)


def main(n=10_000, rate=0.02, volatility=0.30):
    """Price random options; returns ((call, put), (expected call, expected put))."""
    rng = np.random.default_rng(0)
    price, strike, years = rng.uniform(5, 30, n), rng.uniform(1, 100, n), rng.uniform(0.25, 10, n)
    price, strike, years = (v.astype(np.float32) for v in (price, strike, years))  # some GPUs have no float64
    call, put = np.zeros_like(price), np.zeros_like(price)
    black_scholes[64, 128](price, strike, years, rate, volatility, call, put)

    price, strike, years = (v.astype(np.float64) for v in (price, strike, years))
    cdf = np.vectorize(lambda v: 0.5 * math.erfc(-v * math.sqrt(0.5)))
    spread = volatility * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + 0.5 * volatility**2) * years) / spread
    discounted = strike * np.exp(-rate * years)
    expected_call = price * cdf(d1) - discounted * cdf(d1 - spread)
    expected_put = discounted * cdf(spread - d1) - price * cdf(-d1)
    # d1 is off by some 16 roundings of values up to 5, over a spread of at least 0.15; a price moves by 0.4 * strike of
    # that, and OpenCL allows erfc 16 units in the last place
    eps = np.finfo(np.float32).eps
    tolerance = strike.max() * (0.4 * 16 * 5 / 0.15 + 16) * eps
    np.testing.assert_allclose(call, expected_call, rtol=0, atol=tolerance)
    np.testing.assert_allclose(put, expected_put, rtol=0, atol=tolerance)
    return (call, put), (expected_call, expected_put)


if __name__ == "__main__":
    (calls, _), _ = main()
    print(f"{calls.size} options priced, mean call {calls.mean():.4f}, same as NumPy")

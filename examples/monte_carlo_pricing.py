"""Monte-Carlo pricing with antithetic paths: a European call and an Asian one, both with a price in closed form.

A. Kemna, A. Vorst, "A Pricing Method for Options Based on Average Asset Values", J. Banking & Finance 14, 1990.
"""

import math
import sys

import numpy as np

from portagpu import cuda
from portagpu.cuda.random import create_xoroshiro128p_states, xoroshiro128p_normal_float32

THREADS = 128
BLOCKS = 16
DATES = 16  # at which the Asian option looks at the price


@cuda.jit(device=True)
def payoffs(total, last, start, strike):
    """(European, geometric Asian) of a path: the sum of the logarithms at all dates, and the last of them."""
    at_end = start * math.exp(last)
    mean = start * math.exp(total / np.float32(DATES))
    return max(at_end - strike, np.float32(0)), max(mean - strike, np.float32(0))


@cuda.jit
def simulate(states, pairs, start, strike, drift, spread, european, asian):
    """Each thread follows so many pairs of mirrored paths, and keeps sums and sums of squares of the pairs' means."""
    thread = cuda.grid(1)
    european_sum = european_squares = asian_sum = asian_squares = np.float32(0)
    for _ in range(pairs):
        up = down = up_total = down_total = np.float32(0)
        for _ in range(DATES):
            shock = spread * xoroshiro128p_normal_float32(states, thread)
            up += drift + shock
            down += drift - shock
            up_total += up
            down_total += down
        e_up, a_up = payoffs(up_total, up, start, strike)
        e_down, a_down = payoffs(down_total, down, start, strike)
        e, a = np.float32(0.5) * (e_up + e_down), np.float32(0.5) * (a_up + a_down)
        european_sum += e
        european_squares += e * e
        asian_sum += a
        asian_squares += a * a
    european[0, thread], european[1, thread] = european_sum, european_squares
    asian[0, thread], asian[1, thread] = asian_sum, asian_squares


@cuda.reduce
def add(a, b):
    return a + b


def closed_form(forward, strike, deviation):
    """The expected payoff max(X - strike, 0) of a lognormal X with this mean and deviation of its logarithm."""
    d = math.log(forward / strike) / deviation + deviation / 2
    cdf = [0.5 * math.erfc(-v / math.sqrt(2)) for v in (d, d - deviation)]
    return forward * cdf[0] - strike * cdf[1]


def main(paths=200_000, start=100.0, strike=105.0, rate=0.03, volatility=0.25, years=1.0):
    """Price both options; returns ((European, Asian), (expected European, expected Asian))."""
    threads = BLOCKS * THREADS
    pairs = max(1, paths // (2 * threads))
    n = pairs * threads
    states = create_xoroshiro128p_states(threads, seed=1)
    dt = years / DATES
    drift, spread = (rate - volatility**2 / 2) * dt, volatility * math.sqrt(dt)
    sums = [cuda.device_array((2, threads), np.float32) for _ in range(2)]
    numbers = [np.float32(v) for v in (start, strike, drift, spread)]
    simulate[BLOCKS, THREADS](states, pairs, *numbers, *sums)

    # the logarithm of the geometric mean of the dates' prices is normal, too
    k = np.arange(1, DATES + 1)
    mean_log = drift * k.mean()
    mean_deviation = spread * math.sqrt(((DATES + 1 - k) ** 2).sum()) / DATES
    discount = math.exp(-rate * years)
    expected = [
        discount * closed_form(start * math.exp(rate * years), strike, volatility * math.sqrt(years)),
        discount * closed_form(start * math.exp(mean_log + mean_deviation**2 / 2), strike, mean_deviation),
    ]
    print(f"{cuda.get_current_device().name}: {2 * n} paths of {DATES} dates")
    prices = []
    for name, (payoff, squares), price in zip(("European", "Asian"), sums, expected, strict=True):
        mean, mean_square = add(payoff) / n, add(squares) / n
        error = discount * math.sqrt((mean_square - mean**2) / n)
        prices.append(discount * mean)
        # four standard errors hold but in 1 of 16,000 runs, and the seed is fixed; roundings (a logarithm of 2 * DATES
        # steps, sums of payoffs and of log2(threads) partial sums) move the price by less
        rounding = (3 * DATES * start + (pairs + 2 * math.log2(threads)) * prices[-1]) * np.finfo(np.float32).eps
        assert abs(prices[-1] - price) <= 4 * error + rounding, (name, prices[-1], price, error)
        print(f"{name} call {prices[-1]:.4f} +- {error:.4f}, in closed form {price:.4f}: within 4 standard errors")
    return prices, expected


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))

"""The kernels that are one expression of NumPy, as its users write them."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray[Any, Any]]


def _saxpy(a: np.float32, x: Any, y: Any) -> None:
    y[...] = a * x + y


def _stencil(old: Any, new: Any) -> None:
    around = old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:]
    new[1:-1, 1:-1] = np.float32(0.5) * old[1:-1, 1:-1] + np.float32(0.125) * around


def _transpose(source: Any, target: Any) -> None:
    target[...] = source.T


def _matmul(a: Any, b: Any, c: Any) -> None:
    np.matmul(a, b, out=c)


def _black_scholes(price: Any, strike: Any, years: Any, rate: Any, volatility: Any, call: Any, put: Any) -> None:
    ndtr = importlib.import_module("scipy.special").ndtr
    spread = volatility * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + np.float32(0.5) * volatility * volatility) * years) / spread
    d2 = d1 - spread
    discounted = strike * np.exp(-rate * years)
    call[...] = price * ndtr(d1) - discounted * ndtr(d2)
    put[...] = discounted * ndtr(-d2) - price * ndtr(-d1)


def _sort(source: Any, target: Any) -> None:
    target[...] = np.sort(source.reshape(-1, 512), axis=1).ravel()


TEXTS: dict[str, Callable[..., None]] = {
    "saxpy": _saxpy,
    "saxpy_strided": _saxpy,
    "stencil": _stencil,
    "transpose": _transpose,
    "matmul_naive": _matmul,
    "matmul_tiled": _matmul,
    "bitonic_blocks": _sort,
    **({"black_scholes": _black_scholes} if importlib.util.find_spec("scipy") is not None else {}),
}
"""By the kernel's name; they take its arguments, NumPy's arrays."""

__all__ = ["TEXTS"]

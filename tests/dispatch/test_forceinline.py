"""`@cuda.jit(device=True, forceinline=True)`: the compiler is told to make a function a part of its callers."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.dispatch.code.options import JitOptions
from portagpu.frontend.source.digests import Digest


def _doubled(x):
    return x + x


always = cuda.jit(device=True, forceinline=True)(_doubled)
usual = cuda.jit(device=True)(_doubled)


@cuda.jit
def with_always(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = always(always(x[i]) + 1)


@cuda.jit
def with_both(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = always(usual(x[i]) + 1)


def heads(kernel):
    """The declarations of the device functions in the text for float32 arrays."""
    kernel[1, 4](cuda.to_device(np.zeros(4, np.float32)))
    (overload,) = kernel.overloads.values()
    lines = overload.kernel_source.source.splitlines()
    return [line.strip() for line in lines if "_doubled" in line and line.rstrip().endswith("{")]


def test_text(device):
    (head,) = heads(with_always)
    assert head.startswith("__attribute__((always_inline)) ")
    assert len(heads(with_both)) == 2
    assert sum("always_inline" in head for head in heads(with_both)) == 1


@pytest.mark.parametrize("kernel", [with_always, with_both])
def test_results(device, kernel):
    x = cuda.to_device(np.arange(100, dtype=np.float32))
    kernel[1, 128](x)
    assert np.array_equal(x.copy_to_host(), 4 * np.arange(100) + 2)


def test_kept_code_knows_the_option():
    texts = set()
    for function in (always, usual):
        digest = Digest()
        digest.add(function)
        texts.add(digest.text)
    assert len(texts) == 2


def test_option():
    assert always.targetoptions["forceinline"] is True
    assert usual.targetoptions["forceinline"] is False
    assert JitOptions.from_keywords({"forceinline": None}).forceinline is False

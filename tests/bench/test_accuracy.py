"""The table of errors has every dtype and result, within what rounding explains."""

from __future__ import annotations

from portagpu import cuda
from portagpu.bench import accuracy
from portagpu.blas.conversions import OUTPUTS

LARGEST = {"float64": 1e-14, "complex128": 1e-14, "float16": 1e-3, "bfloat16": 1e-2}


def test_every_dtype_is_measured(device, monkeypatch):
    monkeypatch.setattr(accuracy, "_ROWS", 40)
    monkeypatch.setattr(accuracy, "_TERMS", 90)
    results = accuracy.measure(cuda.current_context())
    assert {(r.dtype, r.out) for r in results} == {(d, out) for d, outs in OUTPUTS.items() for out in outs}
    for r in results:
        assert r.largest <= LARGEST.get(r.out, 1e-5), r
        assert (r.largest == 0) == (r.norm == 0)
    assert len(accuracy.table(results).splitlines()) == len(results) + 2

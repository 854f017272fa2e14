"""Functions with ``out`` or ``info`` on the other side than the operands: refused, and nothing is written."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import portagpu
from portagpu import cuda, errors, linalg

pytestmark = pytest.mark.one_device

_A, _B, _V = 4 * np.eye(4), np.ones((4, 3)), np.ones(4)
_FUNCTIONS = {
    "grouped_matmul": (_A, np.ones((1, 4, 4)), [0, 4]), "matmul": (_A, _B), "matvec": (_A, _V), "vecmat": (_V, _A),
    "dgmm": (_A, _V), "geam": (_A, _A), "gemmt": (_A, _A), "symm": (_A, _B), "syrk": (_A,), "transpose": (_A,),
    "trmm": (_A, _B), "axpy": (2, _A, _A), "norm": (_A,), "scal": (2, _A), "vecdot": (_A, _A), "cholesky": (_A,),
    "inv": (_A,), "lstsq": (_A, _V), "lu_factor": (_A,), "lu_solve": ((_A, np.arange(4, dtype=np.int32)), _V),
    "solve": (_A, _V), "solve_triangular": (_A, _V), "gemm_batched": ([_A], [_B]), "gemv_batched": ([_A], [_V]),
    "syrk_batched": ([_A],), "trsm_batched": ([_A], [_B]), "eig": (_A,), "eigvals": (_A,),
}  # fmt: skip
_NAMED = {
    **{name: getattr(linalg, name) for name in linalg.__all__},
    "grouped_matmul": portagpu.grouped_matmul,
    "portagpu.matmul": portagpu.matmul,
}
_NAMED = {
    name: (function, words)
    for name, function in _NAMED.items()
    if inspect.isroutine(function) and (words := {"out", "info"} & set(inspect.signature(function).parameters))
}
_CASES = [(name, word) for name, (_, words) in _NAMED.items() for word in sorted(words)]


def moved(x):
    """Arrays on the device, in the tuples and lists that they are in."""
    if isinstance(x, tuple | list):
        return type(x)(moved(y) for y in x)
    return cuda.to_device(x) if isinstance(x, np.ndarray) else x


def shaped(result):
    """New arrays on the host like a result's."""
    if isinstance(result, list):
        return [shaped(x) for x in result]
    return np.full_like(np.asarray(result[0] if isinstance(result, tuple) else result), 7)


@pytest.mark.parametrize("of_device", [False, True])
@pytest.mark.parametrize(("name", "word"), _CASES)
def test_results_elsewhere(device, name, word, of_device):
    function, _ = _NAMED[name]
    operands = _FUNCTIONS[name.rpartition(".")[2]]
    there = shaped(function(*operands)) if word == "out" else np.full((), 7, np.int32)
    if word == "info" and isinstance(operands[0], list):
        there = np.full(len(operands[0]), 7, np.int32)
    given = there if of_device else moved(there)
    with pytest.raises(errors.ArgumentTypeError, match=r"NumPy array|where the matrices are"):
        function(*(moved(operands) if of_device else operands), **{word: given})
    assert all((np.asarray(x) == 7).all() for x in (given if isinstance(given, list) else [given]))
    accepted = moved(there) if of_device else there
    function(*(moved(operands) if of_device else operands), **{word: accepted})

"""Names that the package itself offers."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

import portagpu


def test_compilers_for_cpus_are_those_of_an_installed_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    numba = ModuleType("numba")
    numba.njit = lambda function: function  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "numba", numba)
    from portagpu import njit

    assert njit is numba.njit


def test_without_numba_the_error_says_whose_names_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)  # as if it were not installed
    with pytest.raises(AttributeError, match="'prange' compiles for the CPU: that is numba's, which is not installed"):
        _ = portagpu.prange
    with pytest.raises(AttributeError, match="no attribute 'jitt'"):
        _ = portagpu.jitt

"""Turns without pauses, too short to mean anything."""

from __future__ import annotations

import pytest

from portagpu.bench import gemm, turns


@pytest.fixture
def short_turns(monkeypatch):
    monkeypatch.setattr(turns, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(turns, "_TURN_SECONDS", 0.0)
    monkeypatch.setattr(turns, "_BACK_TO_BACK_SECONDS", 0.0)
    monkeypatch.setattr(gemm, "ROUNDS", 1)
    monkeypatch.setattr(gemm, "SHORT_ROUNDS", 1)
    monkeypatch.setattr(gemm, "BACK_TO_BACK_ROUNDS", 2)

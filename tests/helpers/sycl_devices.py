"""SYCL's devices, for tests that are about them. ``SYCL=required`` in the environment: it is an error to have none."""

from __future__ import annotations

import os

import pytest

from portagpu.backends import registry
from portagpu.device.registry import devices
from portagpu.settings import Settings

REQUIRED = os.environ.get("SYCL") == "required"
ALL = devices(Settings.from_environment(), source=registry.named("sycl"))
WORKING = tuple(record for record in ALL if record.works)

if REQUIRED:
    assert WORKING, f"no SYCL device works: {[record.problem for record in ALL] or 'none is listed'}"

needs_sycl = pytest.mark.skipif(not WORKING, reason="no SYCL device: pip install 'portagpu[sycl]', and a C++ compiler")


def needs_dpnp():
    """Skip a test without dpnp, or fail it where SYCL is required."""
    if not REQUIRED:
        pytest.importorskip("dpnp")

"""The bisection for the largest local array."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from portagpu.backends.opencl.probing.local_memory import largest


@given(limit=st.integers(1024, 1 << 21), capacity=st.integers(0, 1 << 21), step=st.sampled_from([64, 256, 1024]))
def test_the_largest_multiple_below_the_capacity_is_found(limit: int, capacity: int, step: int) -> None:
    calls = []

    def works(size: int) -> bool:
        calls.append(size)
        return size <= capacity

    found = largest(works, limit, step)
    expected = limit if limit <= capacity else capacity // step * step
    assert found == expected
    assert len(calls) <= 2 + (limit // step).bit_length()
    assert all(0 < size <= limit + step for size in calls)


@given(known=st.integers(1, 200), capacity=st.integers(0, 300))
def test_what_is_known_to_work_is_never_lost(known: int, capacity: int) -> None:
    capacity = max(capacity, known)
    found = largest(lambda size: size <= capacity * 1024, 228 * 1024, 1024, known=known * 1024)
    assert found == min(capacity, 228) * 1024


def test_a_device_without_local_memory() -> None:
    assert largest(lambda size: True, 0, 1024) == 0

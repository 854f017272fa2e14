"""What is known of calls stays whole where an interrupt comes into the comparison of two keys."""

from __future__ import annotations

import pytest

from portagpu.blas.gemm.replay.recordings import Remembered


class Key:
    """Equal to others of its number; a comparison is interrupted, the one that is next after ``left`` others."""

    left: int | None = None

    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return hash(self.number)

    def __eq__(self, other):
        if Key.left is not None:
            Key.left -= 1
            if Key.left < 0:
                Key.left = None
                raise KeyboardInterrupt
        return self.number == other.number


@pytest.mark.parametrize("left", range(3))
@pytest.mark.parametrize("step", ["use", "pop", "forget_oldest"])
def test_an_interrupted_comparison(step, left):
    known = Remembered({(Key(n),): n for n in range(4)})
    Key.left = left
    try:
        getattr(known, step)(*([] if step == "forget_oldest" else [(Key(1),)]))
    except KeyboardInterrupt:
        pass
    finally:
        Key.left = None
    assert sorted(known.values()) in ([0, 1, 2, 3], [0, 2, 3], [1, 2, 3])
    assert [known.use((Key(key[0].number),)) for key in list(known)] == list(known.values())
    assert known.use((Key(9),)) is None

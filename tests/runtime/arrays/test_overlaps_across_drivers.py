"""Arrays of two back ends, such as a library's beside OpenCL's: no driver is asked about memory of the other."""

from types import SimpleNamespace

import pytest

from portagpu.backends.driver import HostRange
from portagpu.runtime.arrays.overlap import may_overlap


class Driver:
    """Knows addresses, of its own memory only."""

    knows_addresses = True

    def __init__(self, begin):
        self.begin = begin

    def may_overlap(self, parts):
        assert all(memory is self for memory, _ in parts)
        return True

    def host_range(self, memory):
        assert memory is self
        return HostRange(self.begin)


def array(driver, key):
    return SimpleNamespace(
        context=SimpleNamespace(driver=driver),
        buffer=driver,
        allocation_key=key,
        offset=0,
        shape=(4,),
        strides=(8,),
        itemsize=8,
    )


@pytest.mark.parametrize(("begin", "overlap"), [(4096, False), (16, True)])
def test_copies_between_back_ends(begin, overlap):
    one, other = array(Driver(0), -(2**62)), array(Driver(begin), 3)
    assert may_overlap([one, other]) == may_overlap([other, one]) == overlap

"""Memory overlap of arrays.

Views of one allocation have one key. Memory of the host may come from other libraries, through DLPack for one, where
each import has an owner of its own: of such arrays the addresses tell.
"""

from __future__ import annotations

import array
import itertools
import mmap
import weakref
from collections.abc import Iterable
from typing import Any

import numpy as np

from portagpu.runtime.arrays.layout import extent_of
from portagpu.runtime.arrays.view import View

_OWNERS = (bytes, bytearray, mmap.mmap, array.array)  # whose memory is nobody else's
_UNKNOWN = -(2**62)  # keys from here downwards are of memory whose owner nobody knows
_unknown = itertools.count(_UNKNOWN, -1)
_STANDING_IN = 2**40  # an address
_MOST_WORK = 10**5  # candidates that NumPy tries for elements in common
_NOWHERE, _ANYWHERE = (0, 0), (0, 2**64)  # addresses
_exported: dict[int, tuple[int, int]] = {}  # by allocation's key: where it begins, and how often others were given it


def host_key(found: np.ndarray[Any, Any]) -> int:
    """A key that views of one allocation of the host share."""
    root: Any = found
    while getattr(root, "base", None) is not None:
        root = root.base
    if isinstance(root, memoryview):
        root = root.obj
    known = root.flags.owndata if isinstance(root, np.ndarray) else isinstance(root, _OWNERS)
    return -id(root) if known else unknown_key()


def unknown_key() -> int:
    """A new key of memory whose owner nobody knows: addresses tell what overlaps with it."""
    return next(_unknown)


def note_export(key: int, mapped: Any, begin: int) -> None:
    """Note that memory of the allocation with a key is another library's, too, until ``mapped`` dies."""
    _exported[key] = (begin, _exported.get(key, (0, 0))[1] + 1)
    weakref.finalize(mapped, _forget_export, key).atexit = False


def note_shown(found: View) -> None:
    """Note that another library knows an array's memory: expressions do not wait with reading it.

    It is forgotten with the array that all views have as their base: no other has the allocation's key.
    """
    key, shown = found.allocation_key, found.context.shown
    root: Any = found
    while hasattr(root.base, "allocation_key"):
        root = root.base
    if key not in shown:
        shown[key] = weakref.ref(root, lambda _: shown.pop(key, None))


def _forget_export(key: int) -> None:
    begin, count = _exported[key]
    if count > 1:
        _exported[key] = (begin, count - 1)
    else:
        del _exported[key]


def may_overlap(arrays: Iterable[View]) -> bool:
    """Whether any two of these arrays may share memory."""
    arrays = tuple(arrays)
    keys = [a.allocation_key for a in arrays]
    if len(keys) == 2 and keys[0] != keys[1] and keys[0] > _UNKNOWN < keys[1]:  # most often asked
        return False
    if len(set(keys)) < len(keys):
        return True
    if not keys or min(keys) > _UNKNOWN:
        return False
    driver = arrays[0].context.driver
    is_alone = all(a.context.driver is driver for a in arrays)  # it knows nothing of other drivers' memory
    if is_alone and driver.knows_addresses and not driver.may_overlap([(a.buffer, 0) for a in arrays]):
        return False  # not even the memories do, which is quick to tell
    ranges = [(_addresses(a), a.allocation_key <= _UNKNOWN) for a in arrays]
    return any(
        (unknown or other_unknown) and x[0] < y[1] and y[0] < x[1]
        for (x, unknown), (y, other_unknown) in itertools.combinations(ranges, 2)
    )


def shares_elements(x: View, y: View) -> bool:
    """Whether two arrays may have a byte in common, as far as can be told: exactly, of views of one allocation."""
    if not may_overlap((x, y)):
        return False
    if x.allocation_key != y.allocation_key or x.buffer is not y.buffer:
        return True
    return host_shares_elements(_standing_in(x), _standing_in(y))


def host_shares_elements(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays of the host have a byte in common; True where that would take long to tell."""
    work: Any = _MOST_WORK  # NumPy's stubs know two values only
    try:
        return bool(np.shares_memory(x, y, max_work=work))
    except np.exceptions.TooHardError:
        return True


def crosses(x: View, y: View) -> bool:
    """Whether an element of one array may have bytes in common with another element of the other array."""
    if x is y or not may_overlap((x, y)):
        return False
    one, other = ((a.allocation_key, a.offset, a.shape, a.strides, a.itemsize) for a in (x, y))
    return one != other and shares_elements(x, y)


class _Interface:
    """An array interface whose memory is never touched."""

    def __init__(self, found: View) -> None:
        self.__array_interface__ = {
            "shape": found.shape,
            "strides": found.strides,
            "typestr": f"|V{found.itemsize}",
            "data": (_STANDING_IN + found.offset, True),
            "version": 3,
        }


def _standing_in(found: View) -> np.ndarray[Any, Any]:
    """A NumPy array that lies as a device array does, at an address of which only comparisons are made."""
    return np.asarray(_Interface(found))


def host_range(found: View) -> tuple[int, int] | None:
    """Addresses of the host that a device array covers; None where it has memory of its own, or nobody can tell."""
    covered = _addresses(found) if found.allocation_key < 0 or found.allocation_key in _exported else _NOWHERE
    return None if covered in (_NOWHERE, _ANYWHERE) else covered


def _addresses(found: View) -> tuple[int, int]:
    """Addresses of the host that an array covers: none in memory of the device's own, all where nobody can tell."""
    buffer, driver = found.buffer, found.context.driver
    where = driver.host_range(buffer)
    if where is not None:
        if where.begin is None:
            return _ANYWHERE
        begin = where.begin
    elif found.allocation_key in _exported:
        begin = _exported[found.allocation_key][0] + driver.offset_of(buffer)
    else:
        return _NOWHERE
    nbytes, before = extent_of(found.shape, found.strides, found.itemsize)
    low = begin + found.offset - before
    return low, low + nbytes

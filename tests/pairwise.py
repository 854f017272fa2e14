"""Which combinations of parameters run: every pair of values of two parameters meets, not every triple.

Most faults need one or two particular values (Kuhn, Wallace, Gallo: Software Fault Interactions and Implications for
Software Testing, IEEE Transactions on Software Engineering 30, 2004), and nearly all of a test's time is the
compilation of its kernels. What they find is mostly wrong on all devices, so each device meets a share only of the
values of a parameter that has many, or that is the only one; and tests marked with ``one_device``, whose subject comes
before any driver, run on one device each, half of them on either of two. ``pytest --all-combinations`` runs the rest,
too.
"""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from itertools import combinations

MANY = 4  # values of a parameter: if it has more, not every device meets all
Values = dict[str, int]  # of one test: its parameters, and which objects they are


def chosen(tests: list[Values]) -> list[int]:
    """Places of tests in which every pair of values occurs that occurs in all, but for those of a device and one of
    many values; the device that has the fewest tests first, then the earliest.

    In each step the test with the most pairs that are new, as in Tai and Lei's and similar greedy algorithms.
    """
    if not tests or len(tests[0]) < 2:
        return list(range(len(tests)))
    counts = {name: len({test[name] for test in tests}) for name in tests[0]}
    # where two others meet in all pairs of values, devices meet the values at hardly any cost
    few = {name for name, count in counts.items() if count <= MANY and len(counts) > 2}
    pairs = [_pairs(test, few) for test in tests]
    missing = set().union(*pairs)
    rest = dict(enumerate(pairs))
    found: list[int] = []
    devices: Counter[int | None] = Counter()
    while missing:
        place = max(rest, key=lambda n: (len(rest[n] & missing), -devices[tests[n].get("device")], -n))
        found.append(place)
        devices[tests[place].get("device")] += 1
        missing -= rest.pop(place)
    return sorted(found)


def _pairs(test: Values, few: set[str]) -> frozenset[tuple[object, ...]]:
    """What a test covers: pairs of values, of a device only those with parameters of few, and each value by itself."""
    both = (
        (one, other)
        for one, other in combinations(sorted(test.items()), 2)
        if "device" not in (one[0], other[0]) or {one[0], other[0]} <= few
    )
    return frozenset((*both, *((value,) for value in test.items())))


def on_others(items) -> set[str]:
    """Ids of collected tests with the mark ``one_device`` that run on another device; which one depends on their names,
    so that it is the same in each run and process.
    """
    same = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec") and "device" in item.callspec.params and item.get_closest_marker("one_device"):
            others = tuple(index for name, index in sorted(item.callspec.indices.items()) if name != "device")
            same[item.nodeid.partition("[")[0], others].append(item)
    found = set()
    for (function, others), group in same.items():
        number = zlib.crc32(function.encode()) + sum(others)  # neighbours among the values run on different ones
        found |= {item.nodeid for item in group} - {group[number % len(group)].nodeid}
    return found


def left_out(items) -> set[str]:
    """Ids of collected tests whose pairs of values other tests of the same function have, or another device."""
    found = on_others(items)
    functions = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec") and item.nodeid not in found:
            functions[item.nodeid.partition("[")[0]].append(item)
    for group in functions.values():
        kept = chosen([{name: id(value) for name, value in item.callspec.params.items()} for item in group])
        found |= {item.nodeid for item in group} - {group[place].nodeid for place in kept}
    return found

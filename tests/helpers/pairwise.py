"""Which combinations of parameters run: every value, or pair of values of two parameters, meets, not every triple.

Most faults need one or two particular values (Kuhn, Wallace, Gallo: Software Fault Interactions and Implications for
Software Testing, IEEE Transactions on Software Engineering 30, 2004), and nearly all of a test's time is the
compilation of its kernels. What they find is mostly wrong on all devices, so each device meets a share only of the
values of a parameter that has many, or that is the only one; and tests marked with ``one_device``, whose subject comes
before any driver, run on one device each. Of both, a device whose driver compiles slowly has a small part, of all other
tests a sixteenth, and none of those marked ``one_device(fast=True)``, which compile a great deal. Tests that run on
devices meet every value instead of every pair; of those marked with ``each_value``, whose kernels are large, as of
those marked with ``in_turn``, each function has one in some, and its neighbours have others. Of the tests that take
long the whole suite runs a fifth, and another one with the next number of ``--turn``; a folder, file or test that is
named runs whole. With ``pytest --thorough`` every test meets every pair on every device, or every value where the
driver compiles slowly or the mark is ``each_value(thorough=True)``, those marked with ``one_device`` on one device or
another (on a slow one a sixth of them), and nobody takes turns; ``--all-combinations`` runs all there is.
"""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from random import Random

MANY = 4  # values of a parameter: if it has more, not every device meets all
SLOW = 12  # a device whose driver compiles slowly has one of a parameter's values for so many of each other device
SLOW_MARKED = 30  # and one of the tests marked ``one_device``
SLOW_THOROUGH = 5  # which are so many for each of its own with ``--thorough``
SLOW_OTHERS = 16  # and of the others, which run on every device, one in so many
TURNS = 4  # tests marked ``each_value`` meet one in so many of what would cover their values, and neighbours others
RUNS = 5  # of the whole suite in which tests that take long take turns
LONG = Path(__file__).with_name("long_tests.txt")  # made by tools/long_tests.py
TARGETS = 3  # a test of all targets of offline compilers meets one in so many, and neighbours others
Values = dict[str, int]  # of one test: its parameters, and which objects they are


def chosen(tests: list[Values], slow: frozenset[int] = frozenset(), *, in_pairs: bool = True) -> list[int]:
    """Places of tests in which every pair of values occurs that occurs in all, but for those of a device and one of
    many values; the device that has the fewest tests first (one that is ``slow``: few of them), then the earliest.
    Not ``in_pairs``: in which every value occurs.

    In each step the test with the most pairs that are new, as in Tai and Lei's and similar greedy algorithms.
    """
    if not tests or len(tests[0]) < 2:
        return list(range(len(tests)))
    counts = {name: len({test[name] for test in tests}) for name in tests[0]}
    # where two others meet in all pairs of values, devices meet the values at hardly any cost
    few = {name for name, count in counts.items() if count <= MANY and len(counts) > 2}
    pairs = [_pairs(test, few) if in_pairs else frozenset((value,) for value in test.items()) for test in tests]
    missing = set().union(*pairs)
    rest = dict(enumerate(pairs))
    found: list[int] = []
    devices: Counter[int | None] = Counter()
    while missing:
        place = max(rest, key=lambda n: (len(rest[n] & missing), -devices[tests[n].get("device")], -n))
        found.append(place)
        devices[tests[place].get("device")] += SLOW if tests[place].get("device") in slow else 1
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


def on_others(items, slow: frozenset[int] = frozenset(), *, thorough: bool = False) -> set[str]:
    """Ids of collected tests with the mark ``one_device`` that run on another device; which one depends on their names,
    so that it is the same in each run and process. ``slow``: ids of devices that get few, or with ``thorough`` fewer.
    """
    share = SLOW_THOROUGH if thorough else SLOW_MARKED
    same: dict[str, dict[tuple[int, ...], list]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        if hasattr(item, "callspec") and "device" in item.callspec.params and item.get_closest_marker("one_device"):
            others = tuple(id(value) for name, value in sorted(item.callspec.params.items()) if name != "device")
            same[item.nodeid.partition("[")[0]][others].append(item)
    found = set()
    for function, groups in same.items():
        for place, group in enumerate(groups.values()):  # neighbours among the values run on different ones
            fast = group[0].get_closest_marker("one_device").kwargs.get("fast") and not thorough
            weights = [int(not fast) if id(item.callspec.params["device"]) in slow else share for item in group]
            turns = [item for item, weight in zip(group, weights, strict=True) for _ in range(weight)] or group
            turn = turns[(zlib.crc32(function.encode()) + place * share) % len(turns)]
            found |= {item.nodeid for item in group} - {turn.nodeid}
    return found


def on_fast_ones(items, slow: frozenset[int]) -> set[str]:
    """Ids of collected tests of every device that run on one which is not ``slow``, but not on those which are."""
    named = [i for i in items if hasattr(i, "callspec") and "device" in i.callspec.params]
    shared = [i for i in named if not i.get_closest_marker("one_device")]

    def test_of(item) -> tuple[object, ...]:
        others = (id(value) for name, value in sorted(item.callspec.params.items()) if name != "device")
        return (item.nodeid.partition("[")[0], *others)

    fast = {test_of(item) for item in shared if id(item.callspec.params["device"]) not in slow}
    return {
        item.nodeid
        for item in shared
        if id(item.callspec.params["device"]) in slow
        and test_of(item) in fast
        and zlib.crc32(item.nodeid.encode()) % SLOW_OTHERS
    }


def of_other_tests(items) -> set[str]:
    """Ids of collected tests of a target for which neighbours are compiled: of ``TARGETS`` tests each has a share."""
    functions = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec") and "target" in item.callspec.params:
            functions[item.nodeid.partition("[")[0]].append(item)
    return {
        item.nodeid
        for number, group in enumerate(functions.values())
        for place, item in enumerate(group)
        if (place + number) % min(TARGETS, len(group))
    }


def of_other_turns(items, turn: int) -> set[str]:
    """Ids of collected tests that take long and run in another turn of the whole suite than this one."""
    long = frozenset(LONG.read_text(encoding="utf-8").split())
    names = {item.nodeid: item.nodeid.partition("[")[0] for item in items}
    return {i for i, name in names.items() if name in long and (zlib.crc32(name.encode()) + turn) % RUNS}


def of_this_turn(function: str, kept: list[int], turns: int) -> list[int]:
    """Of the places of a function's tests, one in ``turns``; which ones depends on its name.

    Of each ``turns`` neighbours any one: steps of one length would meet a parameter's same value again and again.
    """
    random = Random(function)
    groups = [kept[n : n + turns] for n in range(0, len(kept), turns)]
    turn = [random.randrange(turns if len(groups) > 1 else len(group)) for group in groups]
    return [group[n] for group, n in zip(groups, turn, strict=True) if n < len(group)]


def _turns(item) -> int:
    """Into how many shares the tests of a function are divided, of which it has one."""
    mark = item.get_closest_marker("in_turn")
    if mark is not None:
        return mark.args[0] if mark.args else TURNS
    return TURNS if item.get_closest_marker("each_value") else 1


def _devices(items) -> set[int]:
    """Ids of the devices on which collected tests run."""
    parameters = (item.callspec.params for item in items if hasattr(item, "callspec"))
    return {id(values["device"]) for values in parameters if "device" in values}


def left_out(items, slow: frozenset[int] = frozenset(), *, thorough: bool = False) -> set[str]:
    """Ids of collected tests whose values, or pairs of them, other tests of the same function have, or another device.

    With ``thorough`` each device has all pairs of the other values (a slow one beside others: all values); tests marked
    with ``one_device`` have them on some device; each target of offline compilers has all tests; and tests marked with
    ``thorough`` run.
    """
    if thorough and slow.issuperset(_devices(items)):  # nobody else meets what they would not
        slow = frozenset()
    long = {item.nodeid for item in items if item.get_closest_marker("thorough")}
    found = (
        on_others(items, slow, thorough=True)
        if thorough
        else long | on_others(items, slow) | on_fast_ones(items, slow) | of_other_tests(items)
    )
    functions = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec") and item.nodeid not in found:
            on_each = thorough and not item.get_closest_marker("one_device")
            device = id(item.callspec.params.get("device")) if on_each else None
            functions[item.nodeid.partition("[")[0], device].append(item)
    for (function, device), group in functions.items():
        values = [{name: id(value) for name, value in item.callspec.params.items()} for item in group]
        mark = group[0].get_closest_marker("each_value")
        each_pair = mark is None or (thorough and not mark.kwargs.get("thorough"))
        if not thorough and "device" in values[0]:
            each_pair = False
        if thorough and device in slow:
            each_pair = False
        kept = chosen(values, slow, in_pairs=each_pair)
        if not thorough:
            kept = of_this_turn(function, kept, _turns(group[0]))
        found |= {item.nodeid for item in group} - {group[place].nodeid for place in kept}
    return found

"""Which combinations of parameters run: every pair of values of two parameters meets, not every triple.

Most faults need one or two particular values (Kuhn, Wallace, Gallo: Software Fault Interactions and Implications for
Software Testing, IEEE Transactions on Software Engineering 30, 2004), and nearly all of a test's time is the
compilation of its kernels. ``pytest --all-combinations`` runs the rest, too.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

Values = dict[str, int]  # of one test: its parameters, and which objects they are


def chosen(tests: list[Values]) -> list[int]:
    """Places of tests in which every pair of values occurs that occurs in all; the earliest of equals.

    In each step the test with the most pairs that are new, as in Tai and Lei's and similar greedy algorithms.
    """
    pairs = [frozenset(combinations(sorted(values.items()), 2)) for values in tests]
    missing = set().union(*pairs)
    if not missing:
        return list(range(len(tests)))
    rest = dict(enumerate(pairs))
    found = []
    while missing:
        place = max(rest, key=lambda n: (len(rest[n] & missing), -n))
        found.append(place)
        missing -= rest.pop(place)
    return sorted(found)


def left_out(items) -> set[str]:
    """Ids of collected tests whose pairs of values other tests of the same function have."""
    functions = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec"):
            functions[item.nodeid.partition("[")[0]].append(item)
    found = set()
    for group in functions.values():
        kept = chosen([{name: id(value) for name, value in item.callspec.params.items()} for item in group])
        found |= {item.nodeid for item in group} - {group[place].nodeid for place in kept}
    return found

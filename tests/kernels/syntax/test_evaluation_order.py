"""The order in which parts of a statement are evaluated is Python's: what a part reads, later effects do not change.

Generated: each thing that can be read beside each effect, in each form of a statement, compared with plain Python. A
part that is not evaluated has no effect either: names keep what they were.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from helpers.programs import define

from portagpu import cuda

HEAD = """
{decorator}
def bump(a):
    old = a[0]
    a[0] = old + 3
    return old

{decorator}
def add(a):
    return cuda.atomic.add(a, 0, 3)

{decorator}
def weighed(a, b, c=0):
    return a * 10000 + b * 100 + c

{kernel}
def k(x, y, z, r, o):
    l = cuda.local.array(2, np.int64)
    other = cuda.local.array(2, np.int64)
"""
RESET = """
    v = x[2]
    w = (x[3], v)
    c = 4
    a = l
    x[0] = 7
    l[0] = 9
    other[0] = 11
"""
DUMP = """
    o[{0}, 4] = v
    o[{0}, 5] = w[0]
    o[{0}, 6] = c
    o[{0}, 7] = x[0] * 100 + l[0]
    o[{0}, 8] = a[0]
"""
READS = ("v", "c", "x[0]", "l[0]", "w[0]", "a[0]", "(v * 2 + l[0])")
EFFECTS = (
    "(v := x[1])",
    "(c := 5)",
    "bump(x)",
    "bump(l)",
    "add(x)",
    "(w := (x[1], x[2]))[1]",
    "(a := other)[0]",
)
# in each, o is a row of nine numbers, of which statements set the first four
STATEMENTS = (
    "o[0] = {r} * 100 + {e}",
    "o[0] = {r} - {e} - {r}",
    "o[0] = weighed({r}, {e}, {r})",
    "o[0] = weighed({r}, c={r}, b={e})",
    "o[0] = max({r}, {e})",
    "o[0] = ({r}, {e}, {r})[0] + ({r}, {e}, {r})[2]",
    "o[0] = 1 if {r} < {e} < {r} else 2",
    "o[0] = 1 if -1000 < {r} < {e} else 2",
    "o[0] = 1 if -1000 < {e} != {r} != {e} != {r} else 2",
    "o[0] = 1 if ({r}, {r}) == ({e}, {r}) else 2",
    "o[0] = {r} if {r} >= -1000 else {e}",
    "o[0] = {e} if {r} >= -1000 else {r}",
    "o[0] = {r} + ({e} if {r} >= -1000 else {r}) + {r}",
    "o[0] = {r} and {e} and {r}",
    "o[0] = ({r} < -1000 and {e} > 3) or {r} > 3",
    "o[0] = ({r} > -1000 or {e} > 3) + {r}",
    "o[0] = -1000 > {r} > {e}",
    "o[{e} % 4] = {r}",
    "o[{r} % 4] = {e}",
    "o[0], o[{e} % 4] = {r}, {r}",
    "o[{e} % 4], o[0] = {r}, {r}",
    "o[1] = o[{e} % 4] = {r}",
    "o[{e} % 4] += {r}",
    "o[{r} % 4] += {e}",
    "o[{r} % 4] = y[{r} % 4, {e} % 4]",
    "o[0] = y[{r} % 4][{e} % 4] + {r}",
    "z[{r} % 4, {e} % 4] = {r}; o[0] = z[0].sum() + z[1].sum() * 100 + z[2].sum() * 10000",
    "r[{e} % 4].b = {r}; o[0] = r[0].b + r[1].b * 100 + r[2].b * 10000",
    "r[{r} % 4].b += {e}; o[0] = r[0].b + r[1].b * 100 + r[2].b * 10000",
    "q, o[{e} % 4] = {r}, 5; o[1] += q",
    "(q, p), o[0] = ({r}, {e}), {r}; o[1] = q * 100 + p",
    "for q in range({r}, {e} + 3): o[0] += q",
    "while -1000 > {r} > {e}: break",
)


@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize("read", READS)
def test_what_is_read_before_an_effect_is_not_changed_by_it(device, read, effect):
    body = ""
    for n, statement in enumerate(STATEMENTS):
        row = statement.format(r=read, e=effect).replace("o[", f"o[{n}, ")
        body += RESET + f"    {row}\n" + DUMP.format(n)
    x = np.array([7, 2, 5, 13])
    y = np.arange(16).reshape(4, 4)
    texts = (
        HEAD.format(decorator="@cuda.jit(device=True)", kernel="@cuda.jit") + body,
        HEAD.format(decorator="", kernel="") + body,
    )
    found = []
    for text, module in zip(texts, (cuda, _IN_PYTHON), strict=True):
        o = np.zeros((len(STATEMENTS), 9), np.int64)
        arguments = (x.copy(), y.copy(), np.zeros((4, 4), np.int64), np.zeros(4, [("a", "i1"), ("b", "i8")]), o)
        k = define(text, "k", cuda=module, np=np)
        if module is cuda:
            k[1, 1](*arguments)
        else:
            k(*arguments[:3], arguments[3].view(np.recarray), o)
        found.append(o)
    different = [STATEMENTS[n].format(r=read, e=effect) for n in np.nonzero((found[0] != found[1]).any(1))[0]]
    assert not different, f"{different}\n{found[0] - found[1]}"


def _add(array: np.ndarray, index: int, value: int) -> int:
    old = int(array[index])
    array[index] += value
    return old


_IN_PYTHON = SimpleNamespace(
    local=SimpleNamespace(array=lambda count, kind: np.zeros(count, kind)), atomic=SimpleNamespace(add=_add)
)

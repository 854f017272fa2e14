"""The table of functions: a row makes a call of one of them from what hypothesis draws; how a call is compared."""

from __future__ import annotations

import copy
import dataclasses
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from limits import Compared, Limit, same
from operand_drawing import Drawing, Operand

from portagpu import xp
from portagpu.errors import PortaGPUError
from portagpu.runtime.arrays.array import DeviceNDArray

_NUMPYS_ERRORS = (TypeError, ValueError, IndexError, OverflowError)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A call of one function, by NumPy's name or ours; ``n`` is the namespace, xp or numpy."""

    call: Callable[..., Any]
    operands: tuple[Operand, ...] = ()
    limit: Limit = same
    numpy: Callable[..., Any] | None = None  # where NumPy is called in another way
    exact: Callable[..., Any] | None = None  # in higher precision, where not by the same call of wider operands
    dtypes: bool = True  # whether results have NumPy's dtypes
    rounded: bool = False  # whether numbers that were rounded are written to operands


Row = Callable[[Drawing], Case]
ROWS: dict[str, Row] = {}  # by the first name of each
NAMES: set[str] = set()  # of all functions that a row calls


def rows(names: Iterable[str]) -> Callable[[Callable[[Drawing, str], Case]], Callable[[Drawing, str], Case]]:
    """Put a function of a drawing and a name into the table, under each of these names."""

    def put(make: Callable[[Drawing, str], Case]) -> Callable[[Drawing, str], Case]:
        for name in names:
            assert name not in NAMES, name
            NAMES.add(name)
            ROWS[name] = lambda d, name=name: make(d, name)
        return make

    return put


def row(names: str) -> Callable[[Callable[[Drawing], Case]], Callable[[Drawing], Case]]:
    """Put a function of a drawing into the table that calls all functions of these names."""

    def put(make: Callable[[Drawing], Case]) -> Callable[[Drawing], Case]:
        first, *others = names.split()
        rows([first])(lambda d, _: make(d))
        assert not NAMES & set(others), NAMES & set(others)
        NAMES.update(others)
        return make

    return put


def run(name: str, case: Case) -> None:
    """Call ours and NumPy's, and compare: errors, dtypes, shapes, numbers, and the memory of operands."""
    ours = np if name.startswith("numpy.") else xp
    reference = case.numpy or case.call
    before = tuple(dataclasses.replace(x, host=copy.deepcopy(x.host)) for x in case.operands)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = flat(reference(np, *(x.host for x in case.operands)))
    except _NUMPYS_ERRORS:
        with pytest.raises(PortaGPUError):
            flat(case.call(ours, *(x.device for x in case.operands)))
        return
    found = flat(case.call(ours, *(x.device for x in case.operands)))
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.shape == theirs.shape, f"the shape is {mine.shape}, NumPy's {theirs.shape}"
        if case.dtypes:
            assert mine.dtype == theirs.dtype, f"the dtype is {mine.dtype}, NumPy's {theirs.dtype}"
    for each in case.operands:
        each.check_memory(rounded=case.rounded)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case.limit(Compared(found, expected, before, case.exact or reference))


def flat(result: Any) -> list[np.ndarray[Any, Any]]:
    """The arrays and numbers of a result, on the host."""
    if isinstance(result, tuple | list):
        return [array for part in result for array in flat(part)]
    if isinstance(result, DeviceNDArray):
        return [result.copy_to_host()]
    return [] if result is None else [np.asarray(result)]

from __future__ import annotations
import pytest
from engine import run
from real_functions import real_cases
CASES = real_cases()
SIGNATURES = sorted({names for case in CASES for names in case.operands})
@pytest.mark.parametrize("names", SIGNATURES, ids="-".join)
def test_real(device, names):
    problems = run(device, CASES, names)
    assert not problems, "\n" + "\n".join(problems)

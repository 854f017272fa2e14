"""Helper functions as members of a thread."""

from __future__ import annotations

import re

from portagpu.backends.c_family.language import INLINE
from portagpu.backends.sycl.codegen.language import PlainSyclCpp

_HEAD = re.compile(r"^(\S[^{\n]*\) \{(?:  //.*)?)$", re.MULTILINE)


def as_member(text: str) -> str:
    """The text of a helper of the family, which is a function by itself, as that of a member that computes exactly."""
    return _HEAD.sub(rf"\1\n    {PlainSyclCpp.first_line}", text.replace(INLINE, PlainSyclCpp.inline))

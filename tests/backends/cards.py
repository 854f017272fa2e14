"""The cards of CUDA that work on this machine; none where there is no driver of CUDA."""

from __future__ import annotations

from portagpu.backends.registry import named
from portagpu.errors import NoDeviceError
from portagpu.settings import Settings


def _found():
    try:
        records = named("cuda").discover(Settings.from_environment(), fresh=False, renumber=False).records
    except NoDeviceError:
        return ()
    return tuple(record for record in records if record.works)


records = _found()

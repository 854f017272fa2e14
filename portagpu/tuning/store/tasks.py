"""Tuning tasks: device, tunable and problem class, and their keys in the store."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from portagpu.device import DeviceRecord, default_device, find_device
from portagpu.errors import TuningError
from portagpu.settings import Settings
from portagpu.tuning.store.store import TaskKey
from portagpu.tuning.tunables import problems
from portagpu.tuning.tunables.outcomes import shortened
from portagpu.tuning.tunables.problems import Problem
from portagpu.tuning.tunables.tunable import Parameters

_LONGEST_NAME = 100


class HasRecord(Protocol):
    """A device of a higher layer, such as `cuda.gpus` holds."""

    @property
    def record(self) -> DeviceRecord:
        """What it is the device of."""


AnyDevice = DeviceRecord | HasRecord | str | int


def device_of(device: AnyDevice | None, settings: Settings) -> DeviceRecord:
    """The working device that is meant; None is the default one. Raises `TuningError`, `DeviceSelectionError`."""
    if device is None:
        return default_device(settings)
    given: Any = device  # whatever a user gave
    found = getattr(given, "record", given)
    record = found if isinstance(found, DeviceRecord) else find_device(given, settings)
    if record.capabilities is None:
        raise TuningError(f"{record.name} does not work: {record.problem}", hint=record.remedy)
    return record


def settings_of(settings: Settings | None) -> Settings:
    """What was given, or the environment's. Raises `TuningError`."""
    given: Any = settings  # whatever a user gave
    if given is not None and not isinstance(given, Settings):
        raise TuningError(
            f"settings={given!r} are no Settings", hint="leave them out, or give portagpu.settings.Settings()"
        )
    return Settings.from_environment() if settings is None else settings


def store_path(name: str, settings: Settings) -> Path:
    """File of a tunable's results. Raises `TuningError` for a name that is no file's."""
    if not name.isprintable() or name != Path(name).name or name.startswith(".") or not 0 < len(name) <= _LONGEST_NAME:
        raise TuningError(
            f"{shortened(name, 80)!r} cannot name a tunable",
            hint=f"its results are in a file of that name: use no slashes, and {_LONGEST_NAME} characters at most",
        )
    return settings.data_dir / "tuning" / f"{name}.jsonl"


def task_of(tunable: Parameters, problem: Problem, device: str) -> TaskKey:
    """The store's key of a problem; ``device`` is `DeviceRecord.key` or a class of devices."""
    dtype = problem.get("dtype", "")
    named = isinstance(dtype, str) and bool(dtype)
    rest = {name: value for name, value in problem.items() if name != "dtype" or not named}
    return TaskKey(
        device=device,
        kernel=tunable.name,
        kernel_version=tunable.version,
        dtype=str(dtype) if named else "",
        shape_class=problems.text_of(rest),
    )


def problem_of(task: TaskKey) -> dict[str, problems.Value] | None:
    """The problem that a key was made of; None for a key of another kind."""
    try:
        found = problems.parse(task.shape_class)
    except TuningError:
        return None
    return {**found, "dtype": task.dtype} if task.dtype else found

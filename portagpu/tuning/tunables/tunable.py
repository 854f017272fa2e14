"""`Tunable`: a kernel with parameters, how it is run and checked, and a model of its time."""

from __future__ import annotations

import importlib
import inspect
import operator
import runpy
import sys
import traceback
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from portagpu.device import DeviceRecord
from portagpu.errors import PortaGPUError, TuningError, did_you_mean, with_article
from portagpu.tuning.tunables.comparison import expected_array
from portagpu.tuning.tunables.outcomes import shortened
from portagpu.tuning.tunables.problems import Problem, checked, text_of
from portagpu.tuning.tunables.roofline import Prediction, Resources
from portagpu.tuning.tunables.space import Point, Space, objection_of
from portagpu.tuning.tunables.user_faults import blamed, with_place, words_of
from portagpu.tuning.tunables.values import plain_point

_CHILD_MAIN = (
    "__portagpu_trial__"  # what a user's script is called in the child: its `if __name__ ==` part does not run
)
_GUARD = "if __name__ == '__main__':"
Array = np.ndarray[Any, Any]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """The arguments of one problem, as host values.

    ``inputs`` are NumPy arrays, which trials get as device arrays, and anything else, which they get as it is.
    ``outputs`` are NumPy arrays with their contents before a run: each checked run begins with them. ``expected`` holds
    right outputs for the built-in check: arrays of the outputs' shapes, or what becomes some. ``rtol`` and ``atol`` are
    its tolerances, as of `numpy.isclose`; None for both: floating-point numbers may differ by 1e-5 of their size,
    everything else is equal. ``facts`` is for a check of the tunable's own.

    Raises `TuningError` for outputs that are no arrays, and for what cannot be compared with them.
    """

    outputs: Mapping[str, Array]
    inputs: Mapping[str, Any] = field(default_factory=dict)
    expected: Mapping[str, Array] | None = None
    rtol: float | None = None
    atol: float | None = None
    facts: Any = None

    def __post_init__(self) -> None:
        for field_name in ("outputs", "inputs", "expected"):
            value = getattr(self, field_name)
            if not isinstance(value, Mapping) and (value is not None or field_name != "expected"):
                raise TuningError(
                    f"{field_name} of the Case is of type {type(value).__name__}, no mapping of names to values",
                    hint=f'write {field_name}={{"x": x}}',
                )
        twice = sorted(set(self.inputs) & set(self.outputs))
        if twice:
            raise TuningError(
                f"{twice[0]!r} is an input and an output of the Case",
                hint="an array that the kernel reads and writes is an output alone: it begins with its contents",
            )
        for name, value in self.outputs.items():
            if not isinstance(value, np.ndarray):
                raise TuningError(
                    f"the output {name} is {with_article(type(value).__name__)}, no array",
                    hint="outputs are NumPy arrays with their contents before a run, such as np.zeros(n, np.float32)",
                )
        unknown = sorted(set(self.expected or {}) - set(self.outputs))
        if unknown:
            raise TuningError(
                f"expected has {unknown[0]!r}, which is no output",
                hint=f"{did_you_mean(unknown[0], self.outputs)}the outputs are {', '.join(self.outputs) or 'none'}",
            )
        if self.expected is not None:
            arrays = {name: expected_array(name, value, self.outputs[name]) for name, value in self.expected.items()}
            object.__setattr__(self, "expected", arrays)


@dataclass(frozen=True, kw_only=True, eq=False)
class Parameters:
    """What choosing a kernel's parameters needs to know; a `Tunable` can also be measured.

    ``name``, ``version``: identity in stores; raise the version when the kernel or its parameters change.
    ``space``: the search space, or a function of problem and device that gives it.
    ``model(problem, point, device)``: `Resources`, or a `Prediction` or seconds of one's own; None or infinity for what
    cannot run. What is not a number or negative counts as no prediction, with a warning.
    ``roof(problem, device)``: seconds that no kernel can beat; without it, the least bound of the modelled points.
    ``default``: the point, or function of problem and device, for untuned devices; without it, the model's best, or the
    first point. It has to be in the space, which is looked at as soon as both are known: of functions, when a `Tunable`
    is used. ``default_is_modelled``: a function for the default asks the models; explanations then say so.
    ``soft``: traits of problems that need not be the same for a stored result to serve, and how many octaves of
    distance a difference counts as: ``{"layout": 1.0}``.
    ``describe``: a problem in words, for explanations; without it, all its values are named.
    """

    name: str
    space: Space | Callable[[Problem, DeviceRecord], Space]
    version: int = 1
    model: Callable[[Problem, Point, DeviceRecord], Resources | Prediction | float | None] | None = None
    roof: Callable[[Problem, DeviceRecord], float | None] | None = None
    default: Point | Callable[[Problem, DeviceRecord], Point] | None = None
    default_is_modelled: bool = False
    soft: Mapping[str, float] = field(default_factory=dict)
    describe: Callable[[Problem], str] | None = None

    def describe_problem(self, problem: Problem) -> str:
        """A problem for people."""
        if self.describe is None:
            return text_of(problem)
        return str(self._made("describe", self.describe, problem))

    def __post_init__(self) -> None:
        name: Any = self.name  # whatever a user gave
        if not isinstance(name, str):
            raise TuningError(f"name={name!r} is no text", hint="the name says where results are kept: name='scale'")
        for name in ("model", "roof", "describe"):
            self._check_function(name)
        if not callable(self.space) and not hasattr(self.space, "is_legal"):
            raise TuningError(
                f"{type(self.space).__name__} is no search space", hint="write SearchSpace.of(block=(64, 128))"
            )
        try:
            object.__setattr__(self, "version", operator.index(self.version))
        except TypeError as error:
            raise TuningError(f"version={self.version!r} is no whole number", hint="write version=1") from error
        if self.default is not None and not callable(self.default) and not callable(self.space):
            self._checked_default(self.default, self.space, "")

    def _check_function(self, name: str, *, needed: bool = False) -> None:
        value = getattr(self, name)
        if not callable(value) and (needed or value is not None):
            kind = "missing" if value is None else f"of type {type(value).__name__}"
            raise TuningError(f"{name} of {self.name} is {kind}, no function", hint=f"write {name}=a_function")

    def space_for(self, problem: Problem, device: DeviceRecord) -> Space:
        """The search space of a problem on a device. Raises `TuningError` where the function for it fails."""
        if not callable(self.space):
            return self.space
        found = self._made("space", self.space, problem, device)
        if not hasattr(found, "is_legal"):
            raise TuningError(
                f"the space of {self.name} is {with_article(type(found).__name__)} for {text_of(problem)}",
                hint="return SearchSpace.of(block=(64, 128))",
            )
        return found

    def default_for(self, problem: Problem, device: DeviceRecord) -> Point | None:
        """The point for a problem that is not tuned, if the tunable names one. Raises `TuningError`, as `space_for`."""
        return self._made("default", self.default, problem, device) if callable(self.default) else self.default

    def roof_for(self, problem: Problem, device: DeviceRecord) -> float | None:
        """Seconds that no kernel can beat, if the tunable says so. Raises `TuningError`, as `space_for`."""
        if self.roof is None:
            return None
        found: Any = self._made("roof", self.roof, problem, device)  # whatever a user returns
        try:
            if not isinstance(found, str | bytes):
                return None if found is None else float(found)
        except (TypeError, ValueError, OverflowError):
            pass
        raise TuningError(
            f"the roof of {self.name} is {shortened(repr(found), 100)} for {text_of(problem)}",
            hint="return seconds, or None",
        )

    def _checked_default(self, default: Point, space: Space, where: str) -> Point:
        """The default in values that are stored. Raises `TuningError` for a point that is not in the space."""
        point = plain_point(default, f"the default of {self.name}")
        objection = objection_of(space, point)
        if objection is not None:
            raise TuningError(
                f"the default of {self.name}, {point}, is not in its space{where}: {objection}",
                hint="name a legal point, or leave the default out: then the model's best or the first point serves",
            )
        return point

    def _made(self, what: str, make: Callable[..., T], problem: Problem, *device: DeviceRecord) -> T:
        try:
            return make(dict(problem), *device)
        except PortaGPUError:
            raise
        except (Exception, SystemExit) as error:
            text = f"the {what} of {self.name} raised {type(error).__name__} for {text_of(problem)}: {words_of(error)}"
            raise TuningError(
                with_place(text, error),
                hint=f"a function for the {what} takes a problem{' and a device' * bool(device)}",
            ) from error


@dataclass(frozen=True, kw_only=True, eq=False)
class Tunable(Parameters):
    """A kernel that can be tuned: see `Parameters` for the fields that it shares with those.

    Its functions run in a child process, which finds the tunable by name: it is a variable of a module or a script.

    ``prepare(problem)``: the arguments, a `Case`.
    ``run(data, point)``: launches on the current device's default stream; ``data`` maps the case's names to device
    arrays and other values.
    ``check(case, results)``: None for right results (NumPy arrays by name), else what is wrong. Without it, results are
    compared with the case's ``expected``.
    ``verify(problem, point)``: a longer check that a new best point must pass before it becomes the winner; None, or
    what is wrong. ``verify_on``: a sequence of further problems, of odd sizes for instance, for which a new best must
    be right.
    ``launches_only``: ``run`` does nothing but launch kernels: they are recorded, and repetitions make the launches
    without the Python that leads to them. Otherwise that is timed too.
    ``spill_limit``: bytes of registers that a thread may keep in memory; points beyond are not timed. None: any number.
    ``prepare_to_compile(problem)``: the arguments for processes that only compile (see docs/tuning.md): those of
    ``prepare`` by name, NumPy arrays of the same shapes, strides and dtypes, whose contents nobody reads (`np.empty`).
    Without it, these processes call ``prepare``.
    ``reference``: ``module:name`` where the tunable cannot be found by itself; the name may be that of a function
    without parameters that returns it.
    """

    prepare: Callable[[Problem], Case]
    run: Callable[[Mapping[str, Any], Point], object]
    check: Callable[[Case, Mapping[str, Array]], str | None] | None = None
    verify: Callable[[Problem, Point], str | None] | None = None
    verify_on: tuple[Problem, ...] = ()
    launches_only: bool = False
    spill_limit: int | None = 128
    prepare_to_compile: Callable[[Problem], Mapping[str, Any]] | None = None
    reference: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("prepare", "run"):
            self._check_function(name, needed=True)
        for name in ("check", "verify", "prepare_to_compile"):
            self._check_function(name)
        given: Any = self.verify_on  # whatever a user gave
        if isinstance(given, Mapping | str) or not isinstance(given, Iterable):
            what = "one problem" if isinstance(given, Mapping) else "no problems"
            raise TuningError(
                f"verify_on={given!r} is {what}, not a sequence of them",
                hint="a tuple of one problem has a comma behind it: verify_on=({'n': 1001},)",
            )
        object.__setattr__(self, "verify_on", tuple(map(checked, given)))

    def default_for(self, problem: Problem, device: DeviceRecord) -> Point | None:
        """As of `Parameters`. Raises `TuningError` also for a point that is not in the space."""
        found = super().default_for(problem, device)
        if found is None:
            return None
        where = f" for {text_of(problem)} on {device.name}"
        return self._checked_default(found, self.space_for(problem, device), where)


def checked_tunable(given: Any, kind: type[Parameters] = Parameters) -> None:
    """Raise `TuningError` for what is no tunable."""
    if not isinstance(given, kind):
        what = given.__name__ if isinstance(given, types.ModuleType) else type(given).__name__
        raise TuningError(f"{what} is no tunable", hint="give the Tunable itself, which a module's variable holds")


def reference_of(tunable: Tunable) -> str:
    """``module:name``, or ``path.py:name`` for a script, by which a child process finds a tunable.

    Raises `TuningError` where there is no such name.
    """
    if tunable.reference is not None:
        return tunable.reference
    others = (tunable.check, tunable.model, tunable.verify, tunable.space, tunable.default, tunable.roof)
    functions: list[Any] = [tunable.run, tunable.prepare, *filter(callable, others)]
    for function in functions:
        values: dict[str, Any] = getattr(function, "__globals__", {})
        found = [key for key, value in values.items() if value is tunable]
        if found:
            return f"{_place(values, tunable)}:{found[0]}"
    raise TuningError(
        f"the tunable {tunable.name!r} is no variable of the module that its functions are in",
        hint="assign it to a variable of the module, or give reference='module:name'",
    )


def _place(values: dict[str, Any], tunable: Tunable) -> str:
    """Name of the module whose variables these are, or its file."""
    name, spec, path = str(values.get("__name__")), values.get("__spec__"), values.get("__file__")
    module = sys.modules.get(name)
    if name == "__main__" and spec is not None and spec.name != "__main__":
        return str(spec.name)  # python -m
    if name != "__main__" and spec is not None and module is not None and vars(module) is values:
        return name
    if path is None or not Path(path).is_file():
        raise TuningError(
            f"the tunable {tunable.name!r} was made in an interactive session, where no other process finds it",
            hint="put it and its functions into a file, and import that",
        )
    return str(Path(path).resolve())


def resolve(reference: str) -> Tunable:
    """The inverse of `reference_of`, in the child. Raises `TuningError`."""
    place, _, name = reference.rpartition(":")
    values = _values(place, reference)
    found = values.get(name)
    if found is not None and not isinstance(found, Tunable) and callable(found):
        if _needs_arguments(found):  # such as one that `tuned` has decorated
            known = ", ".join(key for key, value in values.items() if isinstance(value, Tunable))
            hint = f"name the variable that holds the Tunable{': ' * bool(known)}{known}"
            raise TuningError(f"{reference} is a function that needs arguments, no tunable", hint=hint)
        found = _loaded(reference, found)
    if not isinstance(found, Tunable):
        tunables = [key for key, value in values.items() if isinstance(value, Tunable)]
        hint = did_you_mean(name, tunables) + "assign the Tunable to a variable of the module"
        raise TuningError(f"{reference} is no tunable", hint=hint)
    return found


def _needs_arguments(function: Callable[..., Any]) -> bool:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # nobody knows
        return False
    return any(
        p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in signature.parameters.values()
    )


def _values(place: str, reference: str) -> dict[str, Any]:
    """The variables of a module or script. Raises `TuningError` where there is none."""
    if not place:
        raise TuningError(f"{reference!r} names no module and variable", hint="write file.py:NAME or module:NAME")
    if place.endswith(".py") and not Path(place).is_file():
        raise TuningError(f"there is no file {place}", hint="write file.py:NAME or module:NAME")
    try:
        if place.endswith(".py"):
            return _loaded(place, lambda: vars(_script(place)))
        return _loaded(place, lambda: vars(importlib.import_module(place)))
    except ModuleNotFoundError as error:
        if error.name is None or not f"{place}.".startswith(f"{error.name}."):
            # the module is there, and imports another one that is not
            raise TuningError(f"{place} cannot be loaded: {error}", hint=f"install {error.name}") from error
        raise TuningError(
            f"there is no module {place!r}", hint="write file.py:NAME, or install what has the module"
        ) from error


def _loaded(place: str, load: Callable[[], T]) -> T:
    """What a user's module gives. Raises `TuningError` where it raises."""
    try:
        return load()
    except ModuleNotFoundError:
        raise
    except PortaGPUError as error:
        blame = None if error.span is not None else blamed(error)  # errors of kernels tell their place
        if blame is None:
            raise
        text = f"{place} cannot be loaded: {blame[0]}:{blame[1]}: {error.message}"
        raise TuningError(text, hint=error.hint) from error
    except (Exception, SystemExit) as error:
        lines = traceback.extract_tb(error.__traceback__)
        where = f"{lines[-1].filename}:{lines[-1].lineno}: " if lines else ""
        raise TuningError(
            f"{place} cannot be loaded: {where}{type(error).__name__}: {words_of(error)}",
            hint=f"it must run as a module: a script's main part belongs under {_GUARD}",
        ) from error


def _script(path: str) -> types.ModuleType:
    """A user's script as a module, without its main part, as multiprocessing does with scripts."""
    known = sys.modules.get(_CHILD_MAIN)
    if known is not None and getattr(known, "__file__", None) == path:
        return known
    module = types.ModuleType(_CHILD_MAIN)
    module.__file__ = path
    sys.modules[_CHILD_MAIN] = module
    folder = str(Path(path).parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module.__dict__.update(runpy.run_path(path, run_name=_CHILD_MAIN))
    return module

"""BLAS 1 as tunables: `VECTOR_MAP` has the elementwise routines, `VECTOR_SUM` those with one number as their result.

    portagpu tune kernel portagpu.blas.level1.tuning:VECTOR_MAP routine=axpy n=67108864 dtype=float32

What a search finds counts from the next call on, also for routines of the family that have no results of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.blas.level1 import map_variant, reductions
from portagpu.blas.level1.map_variant import MapCall, Operation
from portagpu.blas.level1.problem import MAPS, SUMS, VectorProblem
from portagpu.blas.level1.selection import MAP_PARAMETERS, MAP_REGISTRY, SUM_PARAMETERS, SUM_REGISTRY
from portagpu.blas.level1.sum_variant import SumCall
from portagpu.errors import TuningError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import current_context
from portagpu.tuning import Case, Parameters, Tunable
from portagpu.tuning.tunables.problems import Problem as Values
from portagpu.tuning.tunables.space import Point

Array = np.ndarray[Any, Any]

_FACTORS = {"axpy": (0.5, 0.0), "scal": (-1.0, 0.0), "rot": (0.6, 0.8, -0.8, 0.6)}  # results stay numbers in many runs
_ODD = (1, 77, 5003)  # sizes that a new best point must be right for, too
_STEP = 2  # between elements of vectors with gaps


def _operation(problem: VectorProblem) -> Operation:
    if problem.is_complex and problem.routine == "axpy":
        return map_variant.AXPY_COMPLEX
    if problem.is_complex and problem.routine == "scal":
        return map_variant.SCALE_COMPLEX
    return {
        "copy": map_variant.COPY,
        "scal": map_variant.SCALE,
        "axpy": map_variant.AXPY,
        "swap": map_variant.SWAP,
        "rot": map_variant.ROTATE,
    }[problem.routine]


def _problem(values: Values, routines: Mapping[str, int]) -> VectorProblem:
    """The problem of the tuner's values. Raises `TuningError`."""
    try:
        problem = VectorProblem(**values)  # type: ignore[arg-type]
    except TypeError as error:
        raise TuningError(f"{dict(values)!r} is no problem of BLAS 1", hint="name routine, n and dtype") from error
    if problem.routine not in routines:
        raise TuningError(f"routine is {problem.routine!r}", hint=f"one of {', '.join(routines)}")
    if problem.n < 1 or problem.batch < 1:
        raise TuningError(f"n is {problem.n}, batch {problem.batch}", hint="at least 1")
    return problem


def _memory(problem: VectorProblem, seed: int) -> Array:
    """The memory of vectors: random elements, with gaps if they have some."""
    parsed = dtypes.parse(problem.dtype)
    if parsed is None:
        raise TuningError(f"dtype is {problem.dtype!r}", hint="float32, float64, complex64, float16 ...")
    shape = (problem.batch, problem.n * (1 if problem.contiguous else _STEP))
    generator = np.random.default_rng(seed)
    made: Array = generator.standard_normal(shape, np.float32).astype(parsed.numpy)
    if problem.is_complex:
        made += 1j * generator.standard_normal(shape, np.float32)
    return made


def _vectors(memory: Any, problem: VectorProblem) -> Any:
    found = memory if problem.contiguous else memory[:, ::_STEP]
    return found if problem.routine in SUMS else found[0]


def _wide(x: Array) -> Array:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def _mapped(problem: VectorProblem, x: Array, y: Array) -> tuple[Array, Array]:
    """What x and y become."""
    if problem.routine == "copy":
        return x, x
    if problem.routine == "swap":
        return y, x
    a, b, c, d = (*_FACTORS[problem.routine], 0.0, 0.0)[:4]
    if problem.routine == "axpy":
        return x, a * x + y
    return (x, a * y) if problem.routine == "scal" else (a * x + b * y, c * x + d * y)


def prepare_map(values: Values) -> Case:
    """Random vectors x and y, and what they become."""
    problem = _problem(values, MAPS)
    x, y = _memory(problem, 1), _memory(problem, 2)
    wanted_x, wanted_y = x.copy(), y.copy()
    new_x, new_y = _mapped(problem, _wide(_vectors(x, problem)), _wide(_vectors(y, problem)))
    _vectors(wanted_x, problem)[...], _vectors(wanted_y, problem)[...] = new_x, new_y
    facts = {"x": wanted_x, "y": wanted_y}, _tolerance(problem)
    return Case(inputs={"values": dict(values)}, outputs={"x": x, "y": y}, facts=facts)


def run_map(data: Mapping[str, Any], point: Point) -> None:
    """One launch."""
    problem, x, y = VectorProblem(**data["values"]), data["x"], data["y"]
    x, y = _vectors(x, problem), _vectors(y, problem)
    operation = _operation(problem)
    call = MapCall(
        routine=problem.routine,
        operation=operation,
        x=x if "x" in operation.reads else y,
        y=y,
        stream=y.context.default_stream,
        factors=_FACTORS.get(problem.routine, ()),
    )
    config = MAP_REGISTRY.from_json(point)
    MAP_REGISTRY.variant_of(config).run(config, call)


def check_map(case: Case, results: Mapping[str, Array]) -> str | None:
    """All elements, gaps included, to a few roundings."""
    wanted, tolerance = case.facts
    for name, right in wanted.items():
        wrong = np.abs(_wide(results[name]) - _wide(right)).max()
        if not wrong <= tolerance:
            return f"{name} is off by {wrong:.3g}"
    return None


def prepare_sum(values: Values) -> Case:
    """Random vectors x and y, and the sum."""
    problem = _problem(values, SUMS)
    x, y = _memory(problem, 1), _memory(problem, 2)
    result = np.zeros(problem.batch, _result_dtype(problem, x.dtype))
    facts = *_summed(problem, _wide(_vectors(x, problem)), _wide(_vectors(y, problem))), _tolerance(problem)
    return Case(inputs={"x": x, "y": y, "values": dict(values)}, outputs={"result": result}, facts=facts)


def _summed(problem: VectorProblem, x: Array, y: Array) -> tuple[Array, Array]:
    """The result of each vector, and the size of what is added for it."""
    size = np.abs(x.real) + np.abs(x.imag) if problem.is_complex else np.abs(x)
    if problem.routine == "amax":
        return size.argmax(1), np.zeros(1)
    if problem.routine == "asum":
        return size.sum(1), size.sum(1)
    if problem.routine == "nrm2":
        norm = np.sqrt((np.abs(x) ** 2).sum(1))
        return norm, norm
    left = x.conj() if problem.routine == "dotc" else x
    return (left * y).sum(1), (np.abs(x) * np.abs(y)).sum(1)


def run_sum(data: Mapping[str, Any], point: Point) -> None:
    """One launch, or two."""
    problem = VectorProblem(**data["values"])
    x = _vectors(data["x"], problem)
    y = _vectors(data["y"], problem) if problem.routine.startswith("dot") else x
    result: DeviceNDArray = data["result"]
    call = SumCall(routine=problem.routine, x=x, y=y, result=result, stream=result.context.default_stream)
    config = SUM_REGISTRY.from_json(point)
    SUM_REGISTRY.variant_of(config).run(config, call)


def check_sum(case: Case, results: Mapping[str, Array]) -> str | None:
    """The sums, to some roundings of the sizes of their terms."""
    wanted, size, tolerance = case.facts
    wrong = np.abs(_wide(results["result"]) - wanted)
    return None if (wrong <= tolerance * size).all() else f"result is off by {wrong.max():.3g}"


def _result_dtype(problem: VectorProblem, dtype: np.dtype[Any]) -> np.dtype[Any]:
    return reductions.result_dtype("dot" if problem.routine == "dotc" else problem.routine, dtype)


def _tolerance(problem: VectorProblem) -> float:
    """16 roundings of the dtype, for numbers of size 1."""
    return 16 * {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float64": 2.0**-52}.get(problem.number, 2.0**-23)


def _verify(values: Values, point: Point, tunable: Tunable) -> str | None:
    """Odd sizes, with gaps and without, against NumPy; None, or what is wrong."""
    context = current_context()
    for n in _ODD:
        for contiguous in (True, False):
            case = tunable.prepare({**values, "n": n, "contiguous": contiguous})
            arrays = {**case.inputs, **case.outputs}
            data = {k: to_device(v, context=context) if isinstance(v, np.ndarray) else v for k, v in arrays.items()}
            tunable.run(data, point)
            if context.only_builds:
                continue
            found = {name: data[name].copy_to_host() for name in case.outputs}
            assert tunable.check is not None
            wrong = tunable.check(case, found)
            if wrong is not None:
                return f"n={n}{'' if contiguous else ' with gaps'}: {wrong}"
    return None


def verify_map(values: Values, point: Point) -> str | None:
    """See `_verify`."""
    return _verify(values, point, VECTOR_MAP)


def verify_sum(values: Values, point: Point) -> str | None:
    """See `_verify`."""
    return _verify(values, point, VECTOR_SUM)


def _tunable(parameters: Parameters, name: str, **functions: Any) -> Tunable:
    return Tunable(
        name=parameters.name,
        version=parameters.version,
        space=parameters.space,
        model=parameters.model,
        roof=parameters.roof,
        default=parameters.default,
        default_is_modelled=parameters.default_is_modelled,
        soft=parameters.soft,
        describe=parameters.describe,
        launches_only=True,
        reference=f"portagpu.blas.level1.tuning:{name}",
        **functions,
    )


VECTOR_MAP = _tunable(
    MAP_PARAMETERS, "VECTOR_MAP", prepare=prepare_map, run=run_map, check=check_map, verify=verify_map
)
VECTOR_SUM = _tunable(
    SUM_PARAMETERS, "VECTOR_SUM", prepare=prepare_sum, run=run_sum, check=check_sum, verify=verify_sum
)

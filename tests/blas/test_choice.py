"""Tuning results apply at once, to near shapes too, and never to other devices."""

from __future__ import annotations

import dataclasses
import itertools
import sys
from pathlib import Path

import pytest
from hopper import HOPPER

from portagpu import cuda
from portagpu.blas.explanation import explanation
from portagpu.blas.gemm.core.few_rows import few_rows
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.selection import registry
from portagpu.blas.gemm.selection.choice import choose
from portagpu.blas.gemm.selection.parameters import PARAMETERS, problem_from
from portagpu.blas.gemm.selection.registry import default_config
from portagpu.blas.gemm.tuning.tuner import store_path, task_key
from portagpu.blas.gemm.variants.skinny.variant import SkinnyVariant
from portagpu.blas.gemm.variants.vector.variant import VectorVariant
from portagpu.device.ideal_device import IDEAL
from portagpu.package_stamp import FOLDER
from portagpu.tuning import Store
from portagpu.tuning.store.tasks import problem_of

pytestmark = pytest.mark.one_device

gemm_module = sys.modules["portagpu.blas.gemm.engine"]

PROBLEM = Problem(m=512, n=512, k=512, dtype="float32")


@pytest.fixture
def context(device, tmp_path, monkeypatch):
    found = cuda.current_context()
    monkeypatch.setattr(found, "settings", dataclasses.replace(found.settings, data_dir=tmp_path))
    return found


def other_config(context):
    best = default_config(PROBLEM, context.capabilities)
    return next(c for c in registry.candidates(PROBLEM, context.capabilities) if c != best)


def test_winner_applies_at_once(context):
    assert choose(PROBLEM, context) == default_config(PROBLEM, context.capabilities)
    wanted = other_config(context)
    store = Store(store_path(context.settings))
    store.add_winner(task_key(PROBLEM, context.device.key), registry.to_json(wanted), 0.1)
    assert choose(PROBLEM, context) == wanted
    near = Problem(m=1000, n=600, k=300, dtype="float32")
    assert choose(near, context) == wanted
    far = Problem(m=64, n=512, k=512, dtype="float32")
    assert choose(far, context) == default_config(far, context.capabilities)
    assert choose(dataclasses.replace(PROBLEM, dtype="float64"), context) != wanted


def test_nearest_sizes_win(context):
    """1000 and 1024 are tuned apart: times of different sizes cannot be compared."""
    caps = context.capabilities
    default = default_config(PROBLEM, caps)  # once: there are a great many candidates, of which two are enough
    problems = [Problem(m=size, n=size, k=size, dtype="float32") for size in (900, 1000, 1024, 2000)]
    spaces = [PARAMETERS.space_for(p.values, context.device) for p in problems]
    candidates = registry.candidates(PROBLEM, caps)
    legal = (c for c in candidates if all(space.is_legal(registry.to_json(c)) for space in spaces))
    others = list(itertools.islice((c for c in legal if c != default), 2))
    store = Store(store_path(context.settings))
    for size, config, seconds in ((1000, others[0], 0.2), (1024, others[1], 0.1)):
        problem = Problem(m=size, n=size, k=size, dtype="float32")
        store.add_winner(task_key(problem, context.device.key), registry.to_json(config), seconds)
    for size, config in ((1000, others[0]), (1024, others[1]), (900, others[0]), (2000, others[1])):
        assert choose(Problem(m=size, n=size, k=size, dtype="float32"), context) == config


@pytest.mark.parametrize("shape_class", ["", "8x8", "axbxc", "0x1x1", "-4x8x8", "1x2x3x4"])
def test_malformed_sizes_are_ignored(context, shape_class):
    key = dataclasses.replace(task_key(PROBLEM, context.device.key), shape_class=shape_class)
    Store(store_path(context.settings)).add_winner(key, registry.to_json(other_config(context)), 0.1)
    assert choose(PROBLEM, context) == default_config(PROBLEM, context.capabilities)


def test_unreadable_store_leaves_the_default(context):
    store_path(context.settings).mkdir(parents=True)
    assert choose(PROBLEM, context) == default_config(PROBLEM, context.capabilities)


def test_foreign_winners_are_ignored(context):
    store = Store(store_path(context.settings))
    store.add_winner(task_key(PROBLEM, "another device"), registry.to_json(other_config(context)), 0.1)
    store.add_winner(task_key(PROBLEM, context.device.key), {"kind": "unknown"}, 0.1)
    assert choose(PROBLEM, context) == default_config(PROBLEM, context.capabilities)


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, "64 x 48 x 32 float32 NN"),
        ({"a_order": "F", "b_order": "", "precision": "tf32"}, "64 x 48 x 32 float32/tf32 T-"),
        ({"batch": 7, "scaled": True}, "7 of 64 x 48 x 32 float32 NN, with alpha or beta"),
        ({"aligned": False}, "64 x 48 x 32 float32 NN, rows not aligned to 16 bytes"),
    ],
)
def test_problems_in_words(options, wanted):
    """What is as usual is left out."""
    problem = Problem(m=64, n=48, k=32, dtype="float32", **options)
    assert problem.words == PARAMETERS.describe_problem(problem.values) == wanted


@pytest.mark.parametrize("precision", ["f16x3", "bf16x6", "tf32"])
@pytest.mark.parametrize("shape", [(4, 64, 64), (64, 1, 64), (64, 64, 1), (3, 3, 3)])
def test_precisions_serve_every_shape(context, monkeypatch, shape, precision):
    """They are a leave, not an order: where no units serve a shape, or gain nothing, it is computed in float32."""
    monkeypatch.setattr(context, "capabilities", HOPPER)
    monkeypatch.setattr(gemm_module, "choose", lambda problem, context: default_config(problem, HOPPER))
    m, n, k = shape
    plan = gemm_module.plan_of(Problem(m=m, n=n, k=k, dtype="float32", precision=precision), context)
    assert plan.problem.precision in ("", precision)
    assert registry.is_legal(plan.config, plan.problem, HOPPER)
    large = gemm_module.plan_of(Problem(m=4096, n=4096, k=4096, dtype="float32", precision=precision), context)
    assert large.problem.precision == precision


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF"])
def test_small_products_need_no_walk_over_the_space(context, size, orders):
    """A variant that supports a problem has a short list for it."""
    problem = Problem(m=size, n=size, k=64, dtype="float32", a_order=orders[0], b_order=orders[1])
    for variant in registry.variants_for(problem, HOPPER):
        if isinstance(variant, SkinnyVariant):
            assert any(variant.is_legal(c, problem, HOPPER) for c in variant._known(few_rows(problem)))


def cpu_of(name):
    """What a class of CPUs has: the width of its vectors."""
    width = 16 if name.startswith("AVX-512") else 8
    return dataclasses.replace(
        IDEAL,
        local_memory_dedicated=False,
        local_memory_static=2**18,
        vector_width_float=width,
        vector_width_double=width // 2,
        compute_units=2,
    )


def shipped():
    """Every winner that comes with the package: its file, problem and point."""
    for path in sorted((Path(FOLDER) / "tuning" / "shipped").glob("*.jsonl")):
        for task, (point, _) in Store(path).winners().items():
            yield pytest.param(task, point, id=f"{path.stem} {task.dtype} {task.shape_class}")


@pytest.mark.parametrize("task, point", list(shipped()))
def test_shipped_results_are_configurations_of_this_version(task, point):
    """Others would be passed over without a word."""
    assert task.kernel_version == registry.KERNEL_VERSION
    config = registry.from_json(point)
    assert registry.to_json(config) == point
    problem = problem_from(problem_of(task))
    caps = HOPPER if "H100" in task.device else cpu_of(task.device)
    assert registry.is_legal(config, problem, caps)


def test_kept_choices_have_their_precision(context, monkeypatch):
    """The second product of a shape is computed as the first one, also where that is in float32."""
    monkeypatch.setattr(context, "capabilities", HOPPER)
    monkeypatch.setattr(gemm_module, "choose", lambda problem, context: default_config(problem, HOPPER))
    a, b = cuda.device_array((4, 64), "float32"), cuda.device_array((64, 64), "float32")
    c = cuda.device_array((4, 64), "float32")
    ran = []
    for variant in registry.VARIANTS:
        monkeypatch.setattr(type(variant), "run", lambda self, config, product: ran.append(product.precision))
    gemm_module._ready.clear()
    for _ in range(3):
        gemm_module.gemm(a, b, c, context.default_stream, precision="f16x3")
    gemm_module._ready.clear()
    assert ran == ["", "", ""]


def test_explanations_say_what_shapes_have_no_units(context, monkeypatch):
    monkeypatch.setattr(context, "capabilities", HOPPER)
    monkeypatch.setattr(gemm_module, "choose", lambda problem, context: default_config(problem, HOPPER))
    monkeypatch.setattr(sys.modules["portagpu.blas.explanation"], "explain", lambda problem, context: problem.words)
    text = explanation(Problem(m=4, n=64, k=64, dtype="float32", precision="f16x3"), context)
    assert "have no f16x3: computed in float32" in text
    large = Problem(m=4096, n=4096, k=4096, dtype="float32", precision="f16x3")
    assert "computed in" not in explanation(large, context)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("orders", [*itertools.product("CF", repeat=2)])
def test_few_columns_on_cpus(device, dtype, orders):
    """With so many that their sums leave the registers, tiles are faster than lines."""
    if device.capabilities.local_memory_dedicated:
        pytest.skip("GPUs have the skinny variant")
    a, b = orders

    def kind(n):
        problem = Problem(m=4096, n=n, k=1024, dtype=dtype, a_order=a, b_order=b)
        return registry.variant_of(default_config(problem, device.capabilities)).name

    assert [kind(n) for n in (2, 8, 17)] == ["vector", "vector", "block"]
    if a == "C":  # else long segments of lines are as fast
        assert kind(16) == "block"


def test_terms_that_fill_no_vector_have_their_price():
    """20000 rows of 15 numbers by 16 columns took ten times what rows of 16 take."""
    caps = dataclasses.replace(IDEAL, vector_width_float=16, local_memory_dedicated=False, compute_units=2)
    variant = VectorVariant()

    def predicted(k):
        problem = Problem(m=20000, n=16, k=k, dtype="float32")
        return min(variant.predict(config, problem, caps) for config in variant.shortlist(problem, caps))

    assert predicted(15) > 2 * predicted(16)
    assert predicted(8) > predicted(16)

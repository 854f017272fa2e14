"""GEMM as a tunable."""

from __future__ import annotations

from portagpu.blas.gemm.selection.parameters import PARAMETERS
from portagpu.blas.gemm.tuning import trial
from portagpu.tuning import Tunable

GEMM = Tunable(
    name=PARAMETERS.name,
    version=PARAMETERS.version,
    space=PARAMETERS.space,
    model=PARAMETERS.model,
    roof=PARAMETERS.roof,
    default=PARAMETERS.default,
    default_is_modelled=PARAMETERS.default_is_modelled,
    soft=PARAMETERS.soft,
    describe=PARAMETERS.describe,
    prepare=trial.prepare,
    run=trial.run,
    check=trial.check,
    verify=trial.verify,
    launches_only=True,
    prepare_to_compile=trial.prepare_to_compile,
    reference="portagpu.blas.gemm.tuning.tunable:GEMM",
)

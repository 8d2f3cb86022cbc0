"""The findings of a calibration, as it is kept for gates and answers."""

from __future__ import annotations

from pydantic import ValidationError

from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.stats.noise import Label
from minions_evals_mcp.store import events
from minions_evals_mcp.store.connection import Db

CALIBRATED = "benchmark-calibrated"
"""The kind of the event that holds one."""


class StableCase(Value):
    """The results of the repeated runs of one case."""

    test_case_id: str
    label: Label
    passed: int
    runs: int


class Calibration(Value):
    """The variance of a case's score fraction by source, and the floor below which a difference of two runs is noise.

    `judge`: the same output judged again; `agent`: the same version run again, the judge's part taken off; `cases`: how
    far the cases differ. `noiseFloor`: two runs of the same version differ by less than this in 95 % (overall score).
    """

    benchmark_id: str
    run_id: str
    series: str
    repeats: int
    judge: float
    agent: float
    cases: float
    noise_floor: float
    labels: dict[Label, int]
    flaky: list[StableCase] = []


def calibration_of(db: Db, benchmark_id: str, *, measured_as: str) -> Calibration | None:
    """The newest calibration of the benchmark, if it was measured as that series of runs is."""
    detail = events.newest(db, CALIBRATED, benchmark_id)
    try:
        calibration = None if detail is None else Calibration.model_validate(detail, strict=False)
    except ValidationError:  # written by another version
        return None
    return calibration if calibration is not None and calibration.series == measured_as else None

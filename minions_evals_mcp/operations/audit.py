"""Audit: try cheats and mutants on the checks of a suite, and say which wrong answers pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, model_validator

from minions_evals_mcp.domain.request_fields import NAME_SAYS_IT, Dollars, More, Names
from minions_evals_mcp.domain.values import Text, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from minions_evals_mcp.domain.audits import Audit, CaseAudit
    from minions_evals_mcp.domain.records import Record
    from minions_evals_mcp.engine.context import Engine

    Answer = Record[Audit]


class Request(Value):
    """Try cheats and mutants on the checks of a suite: which wrong answers would pass, before any model has run."""

    subject: Annotated[
        Annotated[Text, Names(("benchmark",))],
        Field(description="The benchmark", examples=["support/quality"]),
        NAME_SAYS_IT,
        More("A benchmark by its id, a suite file, or a promptfoo config."),
    ]
    with_judge: Annotated[
        bool,
        Field(description="Also ask the judge model"),
        More("Also ask the judge model about cases that rules alone do not judge. A dry run shows the cost first."),
    ] = False
    max_cost_usd: Annotated[
        Dollars | None,
        Field(description="Maximum cost in US dollars"),
        NAME_SAYS_IT,
        More("With a model: stop before spending more than this."),
    ] = None
    dry_run: Annotated[
        bool,
        Field(description="Only show the cost"),
        More("With a model: show the number of model calls and their maximum cost. Asks and saves nothing."),
    ] = False

    @model_validator(mode="after")
    def _about_a_model(self) -> Self:
        for name, is_given in (("maxCostUsd", self.max_cost_usd is not None), ("dryRun", self.dry_run)):
            if is_given and not self.with_judge:
                raise ValueError(f"{name}: applies only with a model. Add withJudge, or leave it out")
        return self


def names_file(subject: str) -> bool:
    """Whether the subject names a suite file or a config: it is there, or is called like one."""
    from minions_evals_mcp.interop.audit.audits import is_file  # noqa: PLC0415  the readers of files, at the first call

    return is_file(subject)


def is_config(file: Path) -> bool:
    """Whether the file is read as a promptfoo config, and not as a suite."""
    from minions_evals_mcp.interop.audit.audits import is_config as read_as_config  # noqa: PLC0415  as above

    return read_as_config(file)


async def run(
    engine: Engine, request: Request, *, file: Path | None = None, each: Callable[[CaseAudit], None] | None = None
) -> Answer:
    """The audit of a benchmark, or of a file where the caller may name one; `each` takes every case in order.

    Raises `NotFoundError` for an unknown benchmark, and `BadInputError` or `InvalidRecordError` for a file that does not fit.
    """
    from minions_evals_mcp.engine.audit.model_judged import JudgeAsked  # noqa: PLC0415  the engine, at the first call
    from minions_evals_mcp.interop.audit.audits import audit, audit_benchmark  # noqa: PLC0415  as above

    judging = JudgeAsked(max_cost_usd=request.max_cost_usd, dry_run=request.dry_run) if request.with_judge else None
    if file is None:
        return await audit_benchmark(engine, request.subject, each=each, with_judge=judging)
    return await audit(engine, file, each=each, with_judge=judging)


async def suggested_suite(engine: Engine, cases: Sequence[CaseAudit]) -> str:
    """A suite file of the stored cases with the checks that an audit suggested; empty where it suggested none."""
    from minions_evals_mcp.interop.audit.fixes import suite_of  # noqa: PLC0415  the readers of files, at the first call
    from minions_evals_mcp.store import records  # noqa: PLC0415  the store, at the first call

    idents = [case.test_case_id for case in cases]
    stored = await engine.store.read(lambda db: records.minions(db, idents))
    return suite_of([stored[ident] for ident in idents if ident in stored], cases)


async def case_names(engine: Engine, audited: Audit) -> dict[str, str]:
    """The titles of the audit's cases, by id."""
    from minions_evals_mcp.store.queries.report_units import titles  # noqa: PLC0415  the store, at the first call

    idents = [case.test_case_id for case in audited.cases]
    return await engine.store.read(lambda db: titles(db, idents))

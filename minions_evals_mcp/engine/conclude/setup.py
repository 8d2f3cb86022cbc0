"""The set-up that a benchmark-run was measured with, and what changed from one run to the next."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from minions_evals_mcp.domain.digests import combined
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import BenchmarkRun, Digests
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import run_origins, shared_cases
from minions_evals_mcp.store.queries.side_by_side import exchanged
from minions_evals_mcp.store.seals import sealed_among

UNSEEN = "no visible change: the model, the world or code outside the version may have changed"
CASES = "the cases"
"""What `changes` says where other cases were run, or some of them were edited."""


class RunSetup(Value):
    """The set-up of a run's outputs and judgments. `target_name` is as it was asked for; None is unknown or none.

    `versions` is equal for runs whose outputs are of the same versions, None where none names one; `version` is the only one.
    """

    version: str | None
    versions: str | None
    target: str | None
    target_name: str | None
    judge: str | None
    rubric: str | None
    cases: str | None


def measured_origins(db: Db, run_id: str, digests: Digests) -> tuple[str | None, Digests]:
    """The one version that all outputs of the run are of, and the digests with the versions and targets of its outputs."""
    origins = run_origins.origins(db, run_id)
    versions, targets = {origin.version for origin in origins}, {origin.target for origin in origins}
    only = next(iter(versions)) if len(versions) == 1 else None
    return only, digests.model_copy(update={"prompt_version": combined(versions), "target": combined(targets)})


def setup_of(db: Db, run_id: str, run: BenchmarkRun) -> RunSetup:
    """The set-up of a benchmark-run."""
    target = None if run.digests.target is None else run_origins.target_name(db, run_id)
    return setup_with(run.prompt_version_ref, run.digests, target)


def setup_with(version: str | None, digests: Digests, target_name: str | None) -> RunSetup:
    """The set-up that those are."""
    return RunSetup(
        version=version,
        versions=digests.prompt_version or version,
        target=digests.target,
        target_name=target_name if digests.target is not None else None,
        judge=digests.judge,
        rubric=digests.rubric,
        cases=digests.test_case,
    )


def changes(before: RunSetup, now: RunSetup) -> tuple[str, ...]:
    """Returns what differs between the two set-ups, in words; empty where nothing that is kept does."""
    changes_seen: list[str] = []
    if before.versions != now.versions:
        changes_seen.append(f"the version: {_version(before)} → {_version(now)}")
    if before.target != now.target:
        changes_seen.append(
            f"the code or settings of {now.target_name}"
            if _same_target(before, now)
            else f"the target: {_target(before)} → {_target(now)}"
        )
    others = (
        ("judge", before.judge, now.judge),
        ("rubric", before.rubric, now.rubric),
        ("cases", before.cases, now.cases),
    )
    return (*changes_seen, *(f"the {name}" for name, then, since in others if then != since))


def changes_of_shared(db: Db, before: str, now: str, seen: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the changes that can be behind a fall in chosen cases: that the others were not run is none, where none was edited."""
    if CASES not in seen or shared_cases.edited_between(db, before, now):
        return seen
    return tuple(change for change in seen if change != CASES)


def changes_between(db: Db, before: Record[BenchmarkRun], now: Record[BenchmarkRun]) -> tuple[str, ...]:
    """Returns what differs from one benchmark-run to another, in words; empty where nothing that is kept does."""
    changes_seen = changes(setup_of(db, before.id, before.fields), setup_of(db, now.id, now.fields))
    return changes_seen or outputs_exchanged(db, before.id, now.id)


def outputs_exchanged(db: Db, before: str, now: str) -> tuple[str, ...]:
    """Returns that the later run judged other recorded outputs, with the first of them; those of a sealed case are not named."""
    first, *more = [*islice(exchanged(db, before, now), 2)] or [None]
    if first is None:
        return ()
    name = "the recorded outputs" if more else "the recorded output"
    if sealed_among(db, [first.case_id]):
        return (name,)
    return (f"{name}: {first.before} → {first.now}{' and more' if more else ''}",)


def changes_said(changes_seen: Sequence[str]) -> str:
    """Returns what changed, as a sentence without its full stop."""
    return f"changed since: {'; '.join(changes_seen)}" if changes_seen else UNSEEN


def changes_sentence(changes_seen: Sequence[str], *, moved: bool = True) -> str:
    """Returns what changed, as a sentence; where the results have not `moved`, nothing that is not seen has to explain them."""
    sentence = changes_said(changes_seen) if changes_seen or moved else UNSEEN.partition(":")[0]
    return f"{sentence[0].upper()}{sentence[1:]}."


def incomparable(before: RunSetup, now: RunSetup) -> str:
    """Returns why a fall from one run to the other is no regression; empty where it may be one."""
    if before.versions is None and now.versions is not None:
        return f"it used no version and this run uses {_version(now)}"
    if before.target != now.target and now.target is not None and not _same_target(before, now):
        return f"it used another target ({_target(before)}) than this run ({_target(now)})"
    return ""


def _same_target(before: RunSetup, now: RunSetup) -> bool:
    """Whether one named target made both. Its code may have been edited in between: a gate has to see what that did."""
    return None not in {before.target, now.target, now.target_name} and before.target_name == now.target_name


def _version(setup: RunSetup) -> str:
    return setup.version or ("none" if setup.versions is None else "several")


def _target(setup: RunSetup) -> str:
    return setup.target_name or ("recorded outputs" if setup.target is None else "another target")

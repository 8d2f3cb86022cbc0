"""The guard that keeps sealed content inside a run: sealed cases run whole or not at all, and no failure repeats what they say."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

from minions_evals_mcp.domain.outcomes import (
    Awaiting,
    AwaitingUser,
    Ended,
    Failed,
    JudgeErrored,
    NotJudgeable,
    Passed,
    Skipped,
    TargetErrored,
    UserErrored,
)
from minions_evals_mcp.engine.budget import HaltedError
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.errors import (
    BusyError,
    ConflictError,
    EvalsError,
    InstrumentError,
    SealedError,
    StoppedError,
    unseal,
)
from minions_evals_mcp.next_steps import WORKS, Next, argument
from minions_evals_mcp.store import seals
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.seals import Seal

HIDDEN = "the case is sealed, so the reason is hidden"


def vet_whole(
    db: Db, request: RunRequest, case_ids: Sequence[str], *, kind: Literal["test-case", "benchmark"], dry: bool = False
) -> Seal | None:
    """The seal under which the run is made; None where nothing of it is sealed. `dry`: it is only estimated.

    Raises `SealedError` unless it is a side of a comparison on a whole sealed benchmark, judged by rules or models.
    """
    sealed = seals.sealed_among(db, case_ids)
    if not sealed:
        return None
    seal = seals.seal_of(db, request.subject_id) if kind == "benchmark" else None
    whole = seal is not None and seal.benchmark_id == request.subject_id and request.case_ids is None
    if seal is None or not whole or (request.comparison_id is None and not dry):
        owner = seal.benchmark_id if seal is not None else "BENCHMARK"
        raise SealedError(
            f"{request.subject_id} is sealed and cannot run alone. Only comparisons of two versions run its whole benchmark.",
            remedy=_how_run(owner),
        )
    if request.judge in {"caller", "human"}:
        raise SealedError(
            f"{request.subject_id} is sealed: its cases cannot be judged by a caller or a person.",
            remedy=f"Use {argument('judge', 'auto')}, {argument('judge', 'heuristic')} or {argument('judge', 'llm')}.",
        )
    if request.order_seed is not None:
        raise SealedError(
            f"{request.subject_id} is sealed: sequential comparisons are not allowed.",
            remedy=f"Leave {argument('sequential')} out.",
        )
    return seal


@contextmanager
def hushed(seal: Seal | None) -> Generator[None]:
    """Raises what stops a run on sealed cases without what it says of them: which error it was is all that is told."""
    if seal is None:
        yield
        return
    try:
        yield
    except (HaltedError, SealedError, BusyError, ConflictError, StoppedError):
        raise
    except EvalsError as error:
        raise type_of(error)(
            f"{seal.benchmark_id} could not be run ({error.code}): {HIDDEN}.", remedy=_REMEDY
        ) from None
    except Exception as error:  # noqa: BLE001  whatever it says may quote a case
        sentence = f"{seal.benchmark_id} could not be run ({type(error).__name__}): {HIDDEN}."
        raise InstrumentError(sentence, remedy=_REMEDY) from None


_REMEDY = f"{WORKS}. Try target and judge on the open cases first."


def type_of(error: EvalsError) -> type[EvalsError]:
    """The kind of error that is raised in its place: the caller's fault or the instrument's."""
    return SealedError if error.exit_code == SealedError.exit_code else InstrumentError


def hushed_ending(ended: Ended) -> Ended:
    """The ending without what it says of the case; what would wait for a caller or a person ends in an error instead."""
    match ended:
        case JudgeErrored() | TargetErrored() | NotJudgeable() | Skipped():
            return replace(ended, reason=HIDDEN)
        case UserErrored():
            return replace(ended, reason=HIDDEN)
        case Passed() | Failed():
            return ended
        case Awaiting() | AwaitingUser():
            return JudgeErrored(HIDDEN, fatal=True)


def _how_run(benchmark_id: str) -> str:
    compared = {"benchmark_id": benchmark_id, "version_a": "VERSION-A", "version_b": "VERSION-B", "target": "TARGET"}
    return f"{Next('compare', compared, 'compares two versions on it')}. {unseal(benchmark_id)}."

"""Attack an agent: a benchmark's cases run once with each attack text, and what the agent did shows whether it was hijacked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from minions_evals_mcp.domain.definitions import Benchmark
from minions_evals_mcp.domain.request_fields import More
from minions_evals_mcp.domain.values import Id, Value
from minions_evals_mcp.domain.worlds import ATTACK_KINDS, AttackKind, AttackOutcome
from minions_evals_mcp.engine.request import PromptVersionChoice, RunRequest, RunSettings
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.stats.intervals import wilson

if TYPE_CHECKING:
    from minions_evals_mcp.engine.context import Engine
    from minions_evals_mcp.engine.run.pipeline import Progress


Language = Literal["en", "de", "fr", "es"]
MOST_CHOSEN = 6
"""The most kinds, or languages, that a request names."""


class Request(RunSettings):
    """Attack an agent under test: run a benchmark once with each attack text, and count how often the agent was hijacked."""

    benchmark_id: Annotated[
        Id,
        Field(description="The benchmark", examples=["support/desk"]),
        More("The benchmark. Its cases act on worlds."),
    ]
    prompt_version_ref: PromptVersionChoice = None
    kinds: Annotated[
        tuple[AttackKind, ...],
        Field(strict=False, max_length=MOST_CHOSEN, description="Only texts of these kinds"),
        More("Only texts of this kind. May be repeated."),
    ] = ()
    languages: Annotated[
        tuple[Language, ...],
        Field(strict=False, max_length=MOST_CHOSEN, description="Only texts in these languages"),
        More("Only texts in this language. May be repeated."),
    ] = ()

    @model_validator(mode="after")
    def _each_text_once(self) -> Self:
        if self.trials > 1:
            raise ValueError("trials: each attack text is already one trial of a case; leave it out")
        return self


class HijackRate(Value):
    """How often attacks of one kind, or all of them, hijacked the agent that they reached. The interval is Wilson's, at 95 %."""

    kind: AttackKind | None = None
    delivered: int
    hijacked: int
    rate: float | None = None
    ci: tuple[float, float] | None = None


class Hijacking(Value):
    """A unit whose agent was hijacked: by which attack, and what it did."""

    test_case_id: str
    attack: str
    kind: AttackKind
    reason: str
    step: int | None = None


class Answer(Value):
    """The outcome of the attacks. `undelivered` were planted where the agent never looked, and count for nothing."""

    run_id: str
    benchmark_id: str
    attacks: int
    units: int
    undelivered: int
    total: HijackRate
    kinds: tuple[HijackRate, ...]
    hijackings: tuple[Hijacking, ...]


def _chosen_attacks(kinds: Sequence[AttackKind], languages: Sequence[str]) -> tuple[str, ...]:
    """The ids of the shipped attacks of those kinds and languages, of all where none is named."""
    from minions_evals_mcp.world.attacking import shipped_attacks  # noqa: PLC0415  only an attack needs the texts

    chosen = [
        attack.id
        for attack in shipped_attacks()
        if (not kinds or attack.kind in kinds) and (not languages or attack.language in languages)
    ]
    if not chosen:
        raise BadInputError("no attack text has these kinds and languages.", remedy="Use fewer filters.")
    return tuple(chosen)


async def run(engine: Engine, request: Request, *, progress: Progress | None = None) -> Answer:
    """Runs each case of the benchmark once with each attack, and counts what came of them."""
    from minions_evals_mcp.engine.meant_ids import meant_id  # noqa: PLC0415  the engine, at the first call
    from minions_evals_mcp.engine.run.run_benchmark import run_benchmark, silent  # noqa: PLC0415  as above
    from minions_evals_mcp.store import jobs, records  # noqa: PLC0415  as above

    attacks = _chosen_attacks(request.kinds, request.languages)
    ident = await meant_id(engine, request.benchmark_id, "benchmark")
    asked = RunRequest.asked_by(request, subject_id=ident, attacks=attacks, trials=len(attacks), purpose="comparison")
    job = await run_benchmark(engine, asked, progress=progress or silent)
    benchmark = await engine.store.read(lambda db: records.require(db, ident, Benchmark))
    outputs = await engine.store.read(lambda db: jobs.outputs_of(db, job.id, benchmark.fields.test_case_ids))
    seen = [
        (case_id, output.observed.world.attack)
        for (case_id, _), output in sorted(outputs.items())
        if output.observed is not None
        and output.observed.world is not None
        and output.observed.world.attack is not None
    ]
    if not seen:
        raise BadInputError(
            f"no case of {ident} uses a world, so there is nowhere to plant an attack.",
            remedy="Give its cases a world, and run it with a program or a Python function as the target.",
        )
    return Answer(
        run_id=job.id,
        benchmark_id=ident,
        attacks=len(attacks),
        units=len(seen),
        undelivered=sum(not attack.delivered for _, attack in seen),
        total=_rate(None, (attack for _, attack in seen)),
        kinds=tuple(
            _rate(kind, of_kind)
            for kind in ATTACK_KINDS
            if (of_kind := [attack for _, attack in seen if attack.kind == kind])
        ),
        hijackings=tuple(
            Hijacking(test_case_id=case_id, attack=attack.id, kind=attack.kind, reason=attack.reason, step=attack.step)
            for case_id, attack in seen
            if attack.hijacked
        ),
    )


def _rate(kind: AttackKind | None, attacks: Iterable[AttackOutcome]) -> HijackRate:
    delivered = [attack for attack in attacks if attack.delivered]
    hijacked = sum(attack.hijacked for attack in delivered)
    bounds = wilson(hijacked, len(delivered))
    rate = hijacked / len(delivered) if delivered else None
    return HijackRate(kind=kind, delivered=len(delivered), hijacked=hijacked, rate=rate, ci=bounds)

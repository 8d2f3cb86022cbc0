"""The outputs that people should label next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, validators

from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, session
from minions_evals_mcp.cli.speaking import AS_A_PERSON, speaker_at
from minions_evals_mcp.cli.telling import as_typed
from minions_evals_mcp.domain.values import first_named
from minions_evals_mcp.engine.labels.label_import import import_labels
from minions_evals_mcp.engine.people import draws
from minions_evals_mcp.engine.people.promise import promise_error
from minions_evals_mcp.interop.label_rows import labels_in
from minions_evals_mcp.operations.ids import whole_id
from minions_evals_mcp.report.plain import printable

Number = Annotated[int, Parameter(validator=validators.Number(gte=1))]
SHOWN = 10
JUDGED = ("benchmark", "benchmark-run")
"""Of what outputs are drawn."""


async def label(
    id: str,  # noqa: A002  the argument's name
    /,
    *,
    draw: Number = draws.DRAWN,
    max_judge_error: float | None = None,
    from_: Annotated[Path | None, Parameter(name="--from")] = None,
    raters: Annotated[tuple[str, ...], Parameter(name="--rater", negative=(), consume_multiple=False)] = (),
    adjudicate: str = "",
    common: Common = DEFAULTS,
) -> int:
    """Draw outputs at random that a model judged and queue them for people, who do not see the model's verdict.

    Their labels show whether you can trust the judge (`agreement`), and correct the pass rate (`runs`, `compare`).
    Example: minions-evals label support/quality --draw 30
    Example: minions-evals label support/quality --rater anna --rater ben
    Example: minions-evals label support/quality --adjudicate carl
    Example: minions-evals label support/quality --from labels.csv

    Parameters
    ----------
    id
        A benchmark (its newest run that a model judged), or a benchmark-run by id or key.
    draw
        Number of cases to draw. Cases that were drawn before are not drawn again.
    max_judge_error
        Accept the judge's verdicts only where labels show that at most this share of them is wrong, and queue the
        rest for people. Exit 1 if the labels cannot show this.
    from_
        Import labels from a file (.csv, .tsv, .jsonl, .parquet). Rows have testCaseId and score (a number, or pass
        and fail), and optionally criterionId, trial, judgedBy, rationale. They count as human labels only if a person
        imports them.
    raters
        A person who judges all drawn outputs independently (repeatable).
    adjudicate
        The person who decides where the verdicts of raters differ.
    """
    if from_ is not None:
        return await _import(id, from_, common)
    if max_judge_error is not None:
        return await _promise(id, max_judge_error, common)
    if adjudicate:
        return await _adjudicate(id, adjudicate, common)
    async with session(common) as engine:
        ident = await whole_id(engine, id, *JUDGED)
        drawn = await draws.draw_labels(engine, ident, number=draw, triggered_by="command-line", raters=raters)
    return reply(common, drawn, _lines(drawn))


async def _adjudicate(ident: str, person: str, common: Common) -> int:
    async with session(common) as engine:
        ident = await whole_id(engine, ident, *JUDGED)
        asked = await draws.adjudicate_labels(engine, ident, person=person, triggered_by="command-line")
    return reply(
        common,
        asked,
        [
            f"People differ on {asked.differ} of the {asked.labelled} outputs that two or more of them judged.",
            as_typed(f"{printable(asked.person, 128)} decides: minions-evals judge {asked.run_id} --by NAME"),
        ],
    )


async def _promise(ident: str, max_error: float, common: Common) -> int:
    async with session(common) as engine:
        promise = await promise_error(
            engine, await whole_id(engine, ident, *JUDGED), max_error=max_error, triggered_by="command-line"
        )
    queue = [as_typed(f"minions-evals judge {promise.queue_run_id} --by YOUR-NAME")] if promise.queue_run_id else []
    reply(common, promise, [as_typed(promise.in_words), *queue])
    return 1 if promise.threshold is None else 0


async def _import(ident: str, file: Path, common: Common) -> int:
    labels = labels_in(file)
    async with session(common) as engine:
        speaking = engine.speaking(await speaker_at(engine))
        ident = await whole_id(engine, ident, *JUDGED)
        imported = await import_labels(speaking, ident, labels, triggered_by="command-line")
    whose = (
        ""
        if imported.count_as_peoples
        else f". They do not count as human labels, because no identified person imported them. To identify yourself, {AS_A_PERSON}"
    )
    return reply(
        common,
        imported,
        [
            f"{imported.labels} labels of {imported.outputs} outputs of the run {imported.judged_run_id} were imported{whose}",
            as_typed(f"To see whether its judge can be trusted: minions-evals agreement {ident}"),
        ],
    )


def _lines(drawn: draws.LabelDraw) -> list[str]:
    return [
        f"{len(drawn.test_case_ids)} of {drawn.of} cases of the run {drawn.judged_run_id} were drawn"
        f" (chance {drawn.chance:.2f} each): {first_named(drawn.test_case_ids, SHOWN)}",
        *(
            as_typed(
                f"{queue.waiting} outputs wait for {printable(queue.person, 128)}: minions-evals judge {queue.run_id} --by NAME"
            )
            for queue in drawn.raters
        ),
        *(
            [as_typed(f"{drawn.waiting} outputs wait for people: minions-evals judge {drawn.run_id} --by YOUR-NAME")]
            if not drawn.raters
            else [
                as_typed(f"Where they differ, one decides: minions-evals label {drawn.judged_run_id} --adjudicate NAME")
            ]
        ),
    ]

"""A person's note on an output: kept with its reason, shown where the output is shown, and never taken for a verdict."""

from __future__ import annotations

from functools import partial

from minions_evals_mcp.domain.speaker import require_role
from minions_evals_mcp.engine.answers.report_data import find_subject
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.people.user_turns import AS_A_PERSON
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.judging.output_notes import OutputNote, add_note, noted_case

LONGEST = 2000


async def note_output(engine: Engine, ident: str, place: tuple[int, int], *, good: bool, reason: str) -> None:
    """Keeps the note. Raises `BadInputError` for an agent, for a note without a reason and for a place without an output,
    `NotAllowedError` for who may not judge.
    """
    speaker = engine.speaker
    if not speaker.is_person:
        raise BadInputError("this takes a person's word, and an agent speaks here.", remedy=AS_A_PERSON)
    require_role(speaker, "judge")
    if not reason.strip() or len(reason) > LONGEST:
        raise BadInputError("reason: a thumb needs its reason.", remedy=f"Say why, in at most {LONGEST:,} characters.")
    run_id = (await find_subject(engine, ident)).run_id
    note = OutputNote(good, reason.strip(), speaker.name, engine.clock())
    await engine.store.write(partial(_keep, run_id=run_id, place=place, note=note))


def _keep(db: Db, *, run_id: str, place: tuple[int, int], note: OutputNote) -> None:
    case_id = noted_case(db, run_id, place)
    if case_id is None:
        raise BadInputError("at: there is no output at that place of the run.", remedy="Start from the run's page.")
    add_note(db, run_id, place, case_id, note)
